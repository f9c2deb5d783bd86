"""Making where a campaign stands visible: the ledger's row, the state file, the published history."""

from drysweep_pipeline.convergence import Standing
from drysweep_pipeline.engine import journal
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.state import State, read_state, write_state
from drysweep_pipeline.history.publish import publish as publish_history
from drysweep_pipeline.ledger import Ledger
from drysweep_pipeline.ledger import journal as ledger_journal


def is_published(campaign: Campaign) -> bool:
    """Tell whether the state file, which is written last, says where the campaign's journal stands."""
    state = read_state(campaign.state_path)
    return state is not None and says(state, journal.standing(campaign))


def says(state: State, now: Standing) -> bool:
    """Tell whether a state says that its campaign stands there."""
    said = (state.outcome, state.reason, state.rounds, state.quiet, state.next)
    return said == (now.outcome, now.reason, now.rounds, now.quiet, now.due)


def publish(ledger: Ledger, campaign: Campaign) -> Standing:
    """Bring the ledger's row, the state file and the history up to the campaign's journal, and return the standing."""
    now = journal.standing(campaign)
    with ledger.transaction():
        ledger_journal.record_standing(ledger, campaign.id, now, journal.stands_since(campaign, now.rounds))
    publish_history(campaign.home.home, campaign.home.name, ledger)
    write(campaign, now)
    return now


def write(campaign: Campaign, now: Standing) -> None:
    """Bring a campaign's state file up to where it stands."""
    before = read_state(campaign.state_path)
    write_state(
        campaign.state_path,
        State(
            sweep=campaign.home.name,
            campaign=campaign.id,
            as_of=campaign.as_of.isoformat(),
            seq=campaign.seq,
            driver=before.driver if before else "cli",
            outcome=now.outcome,
            reason=now.reason,
            k=campaign.policy.k,
            rounds=now.rounds,
            quiet=now.quiet,
            next=now.due,
            reported=bool(before and before.reported and before.outcome == now.outcome and before.rounds == now.rounds),
        ),
    )

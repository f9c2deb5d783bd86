"""What a round's sightings do to the lives of findings: risks that ran out or lapse, fixes that did not hold.

No finder undoes what a person settled: a risk lapses because the material is no longer what it was accepted for, and
what the material is comes from the snapshot, never from what a finder says of it.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from drysweep_pipeline import sandbox
from drysweep_pipeline.engine import actions
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.planning import read_plan, snapshot_of
from drysweep_pipeline.ledger import Ledger, journal, lives
from drysweep_pipeline.values import Event, Place, Rule, State

_SHA256 = "select path, sha256 from files"


def move(
    ledger: Ledger,
    campaign: Campaign,
    round: int,
    not_run: Mapping[str, str],
    now: datetime,
    landed: Sequence[str] | None,
) -> list[str]:
    """Move findings as the round asks for, log it all in order, and return those that are reopened.

    ``not_run`` says why each strategy that did not run did not; ``landed`` are the reopened ones of a first intake.
    """
    actions.take_in_deeds(ledger, campaign)
    # Whoever looks again looks at what others have dealt with since: no risk runs out or lapses by it.
    again = campaign.looked_again is not None
    events = [] if again else [*_expire(ledger, campaign, round), *_lapse(ledger, campaign, round)]
    events += [Event("finder_not_run", round, actor=name, reason=why) for name, why in not_run.items()]
    reopened = [UUID(fp) for fp in landed] if landed is not None else _refuted(ledger, campaign, round)
    for fp in reopened:
        # Between an intake that died and the one that is done again, a person may have settled it.
        if lives.standing_of(ledger, fp)[1] is State.FIXED:
            lives.record_life(ledger, fp, State.REOPENED, campaign.place(round))
        events.append(Event("finding_reopened", round, fp=str(fp)))
    journal.log(ledger, campaign.id, now, events)
    return [str(fp) for fp in reopened]


def _snapshot_place(campaign: Campaign, round: int) -> Place:
    """Return the place of a round's snapshot; one that is looked at again was frozen where its own campaign stands."""
    again = campaign.looked_again
    if again is not None:
        return Place(campaign.as_of, again.seq, 0)
    return Place(campaign.as_of, campaign.seq, snapshot_round(campaign, round))


def snapshot_round(campaign: Campaign, round: int) -> int:
    """Return the place of a round's snapshot: all rounds of a dry campaign read the one from before the first (R16)."""
    return 0 if campaign.policy.rule is Rule.DRY else round


def _refuted(ledger: Ledger, campaign: Campaign, round: int) -> list[UUID]:
    return lives.sighted_after_fix(ledger, campaign.id, campaign.place(round), _snapshot_place(campaign, round))


def _expire(ledger: Ledger, campaign: Campaign, round: int) -> list[Event]:
    expired = lives.expired_by(ledger, campaign.as_of)
    for fp in expired:
        lives.record_life(ledger, fp, State.OPEN, campaign.place(round))
    return [Event("acceptance_expired", round, fp=str(fp)) for fp in expired]


def _lapse(ledger: Ledger, campaign: Campaign, round: int) -> list[Event]:
    """Open accepted risks that the round sighted where the file they were accepted for is another one now."""
    place = campaign.place(round)
    accepted = lives.accepted_and_sighted(ledger, campaign.id, place, snapshot_round(campaign, round))
    now = _sha256(campaign, round) if accepted else {}
    events = []
    for fp, basis in accepted:
        path, _, was = basis.rpartition(" ")
        if now.get(path) != was:
            lives.record_life(ledger, fp, State.OPEN, place)
            reason = f"{path} is no longer what the risk was accepted for"
            events.append(
                Event("acceptance_lapsed", round, fp=str(fp), reason=reason, evidence=f"{path} {now.get(path)}")
            )
    return events


def _sha256(campaign: Campaign, round: int) -> dict[str, str | None]:
    """Return what each file of a round's snapshot holds; the snapshot is checked once, however many risks there are."""
    planned = read_plan(campaign, round)
    snapshot = snapshot_of(campaign, planned.snapshot) if planned is not None else None
    if snapshot is None:
        return {}
    with sandbox.locked(snapshot.database) as connection:
        return dict(connection.execute(_SHA256).fetchall())

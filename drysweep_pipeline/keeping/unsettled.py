"""What blocked in each round of a recorded campaign, also where its rule did not ask: the clean rule's question."""

from drysweep_pipeline.convergence import Standing
from drysweep_pipeline.engine import rounds
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.keeping.steps import begun, steps_of, take_in
from drysweep_pipeline.ledger import opened
from drysweep_pipeline.temporary import temporary_folder


def blocking_by_round(campaign: Campaign) -> dict[int, int]:
    """Return how many findings each decided round raised at a blocking severity that nothing had settled by then.

    What was settled by then is looked up in a ledger that is made from the landing of the whole sweep, in a temporary
    folder. Raises ``IntegrityError`` where a landed file is not what was landed.
    """
    found: dict[int, int] = {}
    stands: dict[str, Standing] = {}
    with (
        temporary_folder() as folder,
        opened(folder / "ledger.duckdb") as ledger,
    ):
        for step in steps_of(campaign.home.home, campaign.home.name):
            name = step.campaign.id
            if name == campaign.id and step.kind == "decision":
                found[step.round] = rounds.blocking(ledger, campaign, step.round)
            stands[name] = take_in(ledger, step, stands.get(name) or begun(step.campaign))
    return found

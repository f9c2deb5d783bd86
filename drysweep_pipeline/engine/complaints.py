"""Who ended well and complained all the same that it was not let: what it could not read, it did not search.

A program that asks for a file it may not read and goes on without it has kept its promises, and may have searched
nothing. Whether that matters only its author can tell, so it is said where a person looks.
"""

from drysweep_pipeline import confinement, landing
from drysweep_pipeline.engine.campaign import Campaign


def let_down(campaign: Campaign, rounds: int) -> str | None:
    """Return a sentence on the confined strategies that say they were refused something; None where none does."""
    said: dict[str, str] = {}
    for round in range(1, rounds + 1):
        manifest = landing.read_manifest(campaign.folder(round))
        for run in manifest.runs if manifest else ():
            if run.complaint and confinement.was_refused(run.isolation, run.complaint):
                said.setdefault(run.strategy, f"{run.strategy} said in round {round}: {run.complaint}")
    return "; ".join(said.values()) or None

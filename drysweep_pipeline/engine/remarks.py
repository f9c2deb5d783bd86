"""What is to be known of strategies that ended well: that they may not have been let, or had nothing to look at.

A program that asks for a file it may not read and goes on without it has kept its promises, and may have searched
nothing. Whether that matters only its author can tell, so it is said where a person looks.
"""

from collections.abc import Iterator

from drysweep_pipeline import landing
from drysweep_pipeline.children import confinement
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.landing import StrategyRun


def denied_reads(campaign: Campaign, rounds: int) -> str | None:
    """Return a sentence on the confined strategies that say they were refused something; None where none does."""
    said: dict[str, str] = {}
    for round, run in _runs(campaign, rounds):
        if run.complaint and confinement.was_refused(run.isolation, run.complaint):
            said.setdefault(run.strategy, f"{run.strategy} said in round {round}: {run.complaint}")
    return "; ".join(said.values()) or None


def noted(campaign: Campaign, rounds: int) -> str | None:
    """Return a sentence on what is to be known of strategies that ran to their end; None where there is nothing."""
    said: dict[str, str] = {}
    for round, run in _runs(campaign, rounds):
        if run.status == "ok" and run.reason:
            said.setdefault(run.strategy, f"{run.strategy} in round {round}: {run.reason}")
    return "; ".join(said.values()) or None


def _runs(campaign: Campaign, rounds: int) -> Iterator[tuple[int, StrategyRun]]:
    for round in range(1, rounds + 1):
        manifest = landing.read_manifest(campaign.folder(round))
        yield from ((round, run) for run in (manifest.runs if manifest else ()))

"""Driving a campaign in this process: the same job as the sensor launches, round after round, on the same instance."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dagster as dg

from drysweep_pipeline import interruption
from drysweep_pipeline.declaration import Declaration
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.state import read_state
from drysweep_pipeline.errors import DrysweepError
from drysweep_pipeline.home import Home
from drysweep_pipeline.orchestration.definitions import build_definitions
from drysweep_pipeline.orchestration.instance import at_a_terminal, prepare
from drysweep_pipeline.orchestration.partitions import (
    CAMPAIGN_TAG,
    GONE,
    UNDER_WAY,
    campaigns_of,
    round_tags,
    rounds_of,
)
from drysweep_pipeline.orchestration.resources import HomeResource

# Dagster would print some sixty lines a round; what it has to say is in its event log.
_QUIET: dict[str, Any] = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


class InProcess:
    """The jobs of one declared sweep, bound to an instance and a home."""

    def __init__(self, declaration: Declaration, home: Home, instance: dg.DagsterInstance) -> None:
        self.sweep = declaration.sweep.name
        self.home = home
        self.instance = instance
        resources = dg.Definitions(resources={"home": HomeResource(root=str(home.root))})
        self._definitions = dg.Definitions.merge(build_definitions(declaration), resources)

    def bury(self, campaign: Campaign) -> None:
        """Report runs of a campaign that are under way as failed; whoever holds the lease knows that they are dead."""
        under_way = dg.RunsFilter(tags={CAMPAIGN_TAG: f"{self.sweep}/{campaign.id}"}, statuses=UNDER_WAY)
        for run in self.instance.get_runs(under_way):
            self.instance.report_run_failed(run, GONE)

    def round(self, campaign: Campaign, round: int) -> None:
        """Run one round. Raises what the engine raised; ``DrysweepError`` where the campaign did not advance."""
        key = str(campaign.key(round))
        self.instance.add_dynamic_partitions(rounds_of(self.sweep).name or "", [key])
        self._run(f"{self.sweep}_round", key, round_tags(self.sweep, key))
        state = read_state(campaign.state_path)
        if state is None or state.rounds < round:
            # A skipped decision leaves a green run and an old state: never loop on it.
            raise DrysweepError(f"round {key} ran, but the campaign did not advance", help="look at its run in the UI")

    def report(self, campaign: Campaign) -> None:
        """Write a campaign's report."""
        self.instance.add_dynamic_partitions(campaigns_of(self.sweep).name or "", [campaign.id])
        self._run(f"{self.sweep}_report", campaign.id, {CAMPAIGN_TAG: f"{self.sweep}/{campaign.id}"})

    def _run(self, job: str, key: str, tags: dict[str, str]) -> None:
        interruption.check()
        try:
            self._definitions.resolve_job_def(job).execute_in_process(
                partition_key=key, instance=self.instance, tags=tags, run_config=_QUIET, raise_on_error=True
            )
        except dg.DagsterExecutionInterruptedError:
            raise KeyboardInterrupt from None


@contextmanager
def in_process(declaration: Declaration, home: Home, *, ephemeral: bool = False) -> Iterator[InProcess]:
    """Yield the jobs of a sweep; ``ephemeral`` leaves nothing in Dagster's home (replays)."""
    if ephemeral:
        with dg.DagsterInstance.ephemeral() as instance:
            yield InProcess(declaration, home, instance)
        return
    with at_a_terminal(prepare(home)) as instance:
        yield InProcess(declaration, home, instance)

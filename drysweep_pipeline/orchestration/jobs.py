"""The jobs of a sweep: start a campaign, run a round, write a report, record a person's decision.

One launcher only: people and the schedule start a campaign, which records it; the sensor launches every round.
"""

from datetime import UTC, datetime
from typing import Literal

import dagster as dg

from drysweep_pipeline.convergence import Answer
from drysweep_pipeline.declaration import Declaration
from drysweep_pipeline.engine import people
from drysweep_pipeline.engine.campaign import load
from drysweep_pipeline.engine.starting import start
from drysweep_pipeline.engine.state import read_states
from drysweep_pipeline.home import Home
from drysweep_pipeline.orchestration.partitions import CAMPAIGN_TAG, REPORT_TAG, SWEEP_TAG, round_tags, rounds_of
from drysweep_pipeline.orchestration.typing import AssetJob
from drysweep_pipeline.values import Outcome

WAITING = (Outcome.RUNNING, Outcome.NEEDS_DECISION)


class StartConfig(dg.Config):
    """How to start a campaign; all may be left out."""

    campaign: str | None = None
    as_of: str | None = None


class DecideConfig(dg.Config):
    """A person's answer to a campaign."""

    campaign: str
    choice: Literal["accept", "continue", "redraft", "go", "stop", "resume"]
    by: str
    reason: str = ""
    rounds: int | None = None
    calls: int | None = None


def round_job(declaration: Declaration) -> AssetJob:
    """Return the job that runs one round; its partition says which."""
    sweep = declaration.sweep.name
    return dg.define_asset_job(
        f"{sweep}_round",
        selection=dg.AssetSelection.groups(sweep) - dg.AssetSelection.assets([sweep, "report"]),
        # A process a step would cost half a minute a round; the strategies run in threads of one process.
        executor_def=dg.in_process_executor,
        description=f"One round of {sweep}. {declaration.sweep.description}".strip(),
        config=dg.PartitionedConfig(
            partitions_def=rounds_of(sweep),
            run_config_for_partition_key_fn=lambda key: {},
            tags_for_partition_key_fn=lambda key: round_tags(sweep, key),
        ),
    )


def report_job(declaration: Declaration) -> AssetJob:
    """Return the job that writes a campaign's report; its partition is the campaign."""
    sweep = declaration.sweep.name
    return dg.define_asset_job(
        f"{sweep}_report",
        selection=dg.AssetSelection.assets([sweep, "report"]),
        executor_def=dg.in_process_executor,
        description=f"The report of a campaign of {sweep}.",
        tags={SWEEP_TAG: sweep, REPORT_TAG: "true"},
    )


def start_job(declaration: Declaration) -> dg.JobDefinition:
    """Return the job that records a new campaign; the sensor takes it from there."""
    sweep = declaration.sweep

    @dg.op(name=f"{sweep.name}_start_campaign")
    def start_campaign(context: dg.OpExecutionContext, config: StartConfig, home: dg.ResourceParam[Home]) -> None:
        as_of = datetime.fromisoformat(config.as_of) if config.as_of else datetime.now(UTC)
        if sweep.schedule is not None and sweep.schedule.if_waiting == "supersede":
            _stop_waiting(home, sweep.name)
        campaign = start(home, declaration, as_of=as_of, driver="sensor", campaign=config.campaign)
        context.log.info(f"campaign {campaign.id} is recorded; the sensor starts its first round")

    @dg.job(
        name=f"{sweep.name}_start",
        executor_def=dg.in_process_executor,
        description=f"Start a campaign of {sweep.name}.",
        tags={SWEEP_TAG: sweep.name},
    )
    def job() -> None:
        start_campaign()

    return job


def decide_job(declaration: Declaration) -> dg.JobDefinition:
    """Return the job by which a person answers a campaign from the UI."""
    sweep = declaration.sweep.name

    @dg.op(name=f"{sweep}_record_decision")
    def record_decision(context: dg.OpExecutionContext, config: DecideConfig, home: dg.ResourceParam[Home]) -> None:
        campaign = load(home, sweep, config.campaign)
        said = Answer(config.choice, config.by, config.reason or None, config.rounds, config.calls)
        standing = people.answer(campaign, said)
        context.log.info(f"{CAMPAIGN_TAG} {campaign.id}: {standing.outcome} ({standing.reason or 'no reason'})")

    @dg.job(
        name=f"{sweep}_decide",
        executor_def=dg.in_process_executor,
        description=f"Record a person's decision on a campaign of {sweep}.",
        tags={SWEEP_TAG: sweep},
    )
    def job() -> None:
        record_decision()

    return job


def _stop_waiting(home: Home, sweep: str) -> None:
    for state in read_states(home.sweep(sweep).root / "state"):
        if state.outcome in WAITING:
            people.answer(load(home, sweep, state.campaign), Answer("stop", "schedule", "superseded"))

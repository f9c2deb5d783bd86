"""The jobs of a sweep: start a campaign, run a round, write a report, record a person's decision.

One launcher only: people and the schedule start a campaign, which records it; the sensor launches every round.
"""

import logging
from datetime import UTC, datetime
from typing import Literal

import dagster as dg
from dagster._core.storage.tags import SCHEDULE_NAME_TAG

from drysweep_pipeline.convergence import SCHEDULE, SUPERSEDED, Answer, Standing
from drysweep_pipeline.declaration import Declaration
from drysweep_pipeline.engine import people
from drysweep_pipeline.engine.campaign import Campaign, load
from drysweep_pipeline.engine.starting import start
from drysweep_pipeline.engine.state import GOING_ON, State, hand_over, read_state, read_states
from drysweep_pipeline.errors import Busy, Refused
from drysweep_pipeline.home import Home
from drysweep_pipeline.orchestration import checks
from drysweep_pipeline.orchestration.hiding import hiding
from drysweep_pipeline.orchestration.partitions import REPORT_TAG, SWEEP_TAG, round_tags, rounds_of
from drysweep_pipeline.orchestration.schedule import why_to_skip
from drysweep_pipeline.orchestration.typing import AssetJob
from drysweep_pipeline.reports.beside import behind
from drysweep_pipeline.reports.text import safe_text
from drysweep_pipeline.retrying import retry_context

# How long a campaign to be superseded may stay in the middle of deciding a round before it is left to end by itself.
SUPERSEDE_SECONDS = 600.0


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
        description=(
            f"One round of {sweep}: every strategy looks, what is fresh is taken in and judged, the campaign is "
            "decided. The sensor launches it; run again, a round asks nobody and changes nothing. "
            f"{declaration.sweep.description}"
        ).strip(),
        owners=list(declaration.sweep.owners),
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
        description=(
            f"The report of a campaign of {sweep}: what it found, why it stopped, what to do next. The sensor "
            "launches it at the end; run again, it tells where the campaign stands now."
        ),
        owners=list(declaration.sweep.owners),
        tags={SWEEP_TAG: sweep, REPORT_TAG: "true"},
    )


def start_job(declaration: Declaration) -> dg.JobDefinition:
    """Return the job that records a new campaign; the sensor takes it from there."""
    sweep = declaration.sweep

    @dg.op(name=f"{sweep.name}_start_campaign")
    def start_campaign(context: dg.OpExecutionContext, config: StartConfig, home: dg.ResourceParam[Home]) -> None:
        with hiding(home, declaration):
            as_of = datetime.fromisoformat(config.as_of) if config.as_of else datetime.now(UTC)
            if_waiting = sweep.schedule.if_waiting if sweep.schedule else "skip"
            # The campaign of the tick before may have been recorded since this tick looked: starts wait in a queue too.
            if (
                if_waiting == "skip"
                and SCHEDULE_NAME_TAG in context.run.tags
                and (why := why_to_skip(home, sweep.name))
            ):
                context.log.info(f"no campaign is started: {why}")
                return
            # One that supersedes is recorded and queued first: what cannot be stopped now is waited for.
            queued = if_waiting in ("queue", "supersede")
            campaign = start(home, declaration, as_of=as_of, driver="sensor", campaign=config.campaign, queued=queued)
            if if_waiting == "supersede":
                _supersede(home, campaign, context.log)
            before = ", ".join(behind(home, sweep.name, campaign.id))
            then = f"its first round waits for {before} to end" if before else "the sensor starts its first round"
            context.log.info(f"campaign {campaign.id} is recorded; {then}")

    @dg.job(
        name=f"{sweep.name}_start",
        executor_def=dg.in_process_executor,
        description=(
            f"Start a campaign of {sweep.name}, as of now or of the instant given. It is recorded here; the sensor "
            "launches its rounds until it converges, a ceiling ends it or a person is asked."
        ),
        owners=list(sweep.owners),
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
        with hiding(home, declaration):
            campaign = load(home, sweep, config.campaign)
            said = Answer(config.choice, config.by, config.reason or None, config.rounds, config.calls)
            standing = people.answer(campaign, said)
            context.log.info(_who_goes_on(campaign, standing))
            key = dg.AssetKey([sweep, "decision"])
            checks.answer_seen(context.instance, key, campaign.id, read_states(campaign.home.root / "state"))

    @dg.job(
        name=f"{sweep}_decide",
        executor_def=dg.in_process_executor,
        description=(
            f"Answer a campaign of {sweep} that waits for a person: accept, continue for so many rounds, redraft, "
            "go, stop or resume; with your name, and the reason. The sensor goes on with it by itself."
        ),
        owners=list(declaration.sweep.owners),
        tags={SWEEP_TAG: sweep},
    )
    def job() -> None:
        record_decision()

    return job


def _who_goes_on(campaign: Campaign, standing: Standing) -> str:
    """Say where an answered campaign stands and who goes on with it; the sensor does where nobody else would."""
    reason = f" ({standing.reason})" if standing.reason else ""
    now = f"campaign {campaign.id}: {standing.outcome}{reason}"
    if standing.due is None:
        return f"{now}; no round is due"
    if hand_over(campaign.state_path) == "cli":
        return f"{now}; the process of the command line that works on it goes on with round {standing.due}"
    return f"{now}; the sensor goes on with round {standing.due}"


def _supersede(home: Home, campaign: Campaign, log: logging.Logger) -> None:
    """Stop the campaigns of the sweep that were recorded before one and have not ended."""
    for state in read_states(campaign.home.root / "state"):
        if state.seq < campaign.seq and state.outcome in GOING_ON and not state.looked_again:
            try:
                _stop_when_possible(home, state)
                log.info(f"campaign {state.campaign} is stopped: superseded by {campaign.id}")
            except (Busy, Refused) as error:
                log.warning(f"campaign {state.campaign} was not stopped: {safe_text(str(error))}")


def _stop_when_possible(home: Home, state: State) -> None:
    """Stop a campaign between two steps of its rounds. Raises ``Busy`` where it never is between two."""
    earlier = load(home, state.sweep, state.campaign)
    said = Answer("stop", SCHEDULE, SUPERSEDED)
    for attempt in retry_context(on=Busy, attempts=None, timeout=SUPERSEDE_SECONDS, wait_initial=0.5, wait_max=10.0):
        with attempt:
            now = read_state(earlier.state_path)
            if now is not None and now.outcome in GOING_ON:
                people.answer(earlier, said)

"""The sensor that launches every round: level-triggered, on the small state files. It never opens DuckDB.

A round whose process died is launched again under the next attempt: Dagster would keep the dead run as started for
ever and never repeat its run key, so the run is reported as failed here and the attempt is part of the key.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import dagster as dg

from drysweep_pipeline.declaration import Declaration
from drysweep_pipeline.engine.state import Lease, State, queued_behind, read_states
from drysweep_pipeline.home import Home
from drysweep_pipeline.orchestration.partitions import (
    CAMPAIGN_TAG,
    GONE,
    MAX_ATTEMPTS,
    REPORT_TAG,
    ROUND_TAG,
    UNDER_WAY,
    campaigns_of,
    round_tags,
    rounds_of,
)
from drysweep_pipeline.orchestration.typing import AssetJob
from drysweep_pipeline.reports.waiting import at_state, waits_for
from drysweep_pipeline.values import Outcome, RoundKey

# A run that holds no lease this long after its start has no process any more.
_GRACE_SECONDS = 60.0


@dataclass
class _Tick:
    """What one look at the state files asks for."""

    requests: list[dg.RunRequest] = field(default_factory=list)
    rounds: list[str] = field(default_factory=list)
    campaigns: list[str] = field(default_factory=list)
    stuck: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)

    @property
    def why_nothing(self) -> str:
        """Say why no run is asked for."""
        return "; ".join([*self.stuck, *self.waiting]) or "no campaign has a round due"


def build_sensor(declaration: Declaration, round_job: AssetJob, report_job: AssetJob) -> dg.SensorDefinition:
    """Return the sensor of a sweep."""
    sweep = declaration.sweep.name

    @dg.sensor(
        name=f"{sweep}_next_round",
        jobs=[round_job, report_job],
        minimum_interval_seconds=1,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=(
            f"Launches the next round of every running campaign of {sweep}, again where its process died, and the "
            "report of one that ended or waits. A tick that launches nothing says why. Turned off, campaigns "
            "stand still."
        ),
        owners=list(declaration.sweep.owners),
    )
    def next_round(
        context: dg.SensorEvaluationContext, home: dg.ResourceParam[Home]
    ) -> dg.SensorResult | dg.SkipReason:
        tick = _Tick()
        states = read_states(home.sweep(sweep).root / "state")
        for state in states:
            if state.driver == "sensor":
                tick.waiting += [found.sentence] if (found := waits_for(at_state(state, states))) else []
                _look(context.instance, sweep, state, states, tick)
        if not tick.requests:
            return dg.SkipReason(tick.why_nothing)
        return dg.SensorResult(
            run_requests=tick.requests,
            dynamic_partitions_requests=[
                rounds_of(sweep).build_add_request(tick.rounds),
                campaigns_of(sweep).build_add_request(tick.campaigns),
            ],
        )

    return next_round


def _look(instance: dg.DagsterInstance, sweep: str, state: State, states: list[State], tick: _Tick) -> None:
    if queued_behind(state, states):
        return
    if state.outcome is Outcome.RUNNING and state.next is not None:
        _ask_for_round(instance, sweep, state, state.next, tick)
    elif state.outcome is not Outcome.RUNNING and not state.reported:
        _ask_for_report(instance, sweep, state, tick)


def _ask_for_round(instance: dg.DagsterInstance, sweep: str, state: State, round: int, tick: _Tick) -> None:
    key = str(RoundKey(state.campaign, round))
    tags = round_tags(sweep, key)
    attempt = _attempt(instance, {ROUND_TAG: tags[ROUND_TAG]}, state)
    if attempt is None:
        return
    if attempt > MAX_ATTEMPTS:
        gave_up = f"{MAX_ATTEMPTS} runs of round {key} failed or were canceled"
        tick.stuck.append(f"{gave_up}; see why, then `drysweep resume`")
        return
    tick.rounds.append(key)
    tick.requests.append(
        dg.RunRequest(job_name=f"{sweep}_round", run_key=f"{sweep}/{key}#{attempt}", partition_key=key, tags=tags)
    )


def _ask_for_report(instance: dg.DagsterInstance, sweep: str, state: State, tick: _Tick) -> None:
    name = f"{sweep}/{state.campaign}/report/{state.rounds}/{state.outcome}"
    attempt = _attempt(instance, {REPORT_TAG: name}, state)
    if attempt is None or attempt > MAX_ATTEMPTS:
        return
    tick.campaigns.append(state.campaign)
    tick.requests.append(
        dg.RunRequest(
            job_name=f"{sweep}_report",
            run_key=f"{name}#{attempt}",
            partition_key=state.campaign,
            tags={REPORT_TAG: name, CAMPAIGN_TAG: f"{sweep}/{state.campaign}"},
        )
    )


def _attempt(instance: dg.DagsterInstance, tags: dict[str, str], state: State) -> int | None:
    """Return the number of the attempt that is due, or None while one is under way; bury runs whose process died."""
    records = instance.get_run_records(filters=dg.RunsFilter(tags=tags))
    alive = 0
    for record in records:
        run = record.dagster_run
        if run.is_finished:
            continue
        if run.status in UNDER_WAY and _is_dead(state, run.run_id, record.start_time):
            instance.report_run_failed(run, GONE)
            continue
        alive += 1
    return None if alive or _still_works(state, records) else len(records) + 1


def _still_works(state: State, records: Sequence[dg.RunRecord]) -> bool:
    """Tell whether the process of a run that counts as ended works on, as where it was marked as canceled at once.

    Another attempt would only be refused meanwhile, and use up what attempts there are.
    """
    lease = state.lease
    if lease is None or not lease.is_here or lease.same_process(Lease.mine()):
        return False
    return lease.alive and any(record.dagster_run.run_id == lease.holder for record in records)


def _is_dead(state: State, run_id: str, started: float | None) -> bool:
    """Tell whether the process of a run is gone, from the campaign's lease."""
    lease = state.lease
    if lease is not None and lease.holder == run_id:
        return not lease.alive
    return started is not None and time.time() - started > _GRACE_SECONDS

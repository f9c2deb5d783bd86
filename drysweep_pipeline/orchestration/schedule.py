"""The schedule of a sweep: at each tick the start job records a campaign, as of the tick."""

from datetime import UTC, datetime
from itertools import islice

import dagster as dg
from dagster._utils.schedules import schedule_execution_time_iterator

from drysweep_pipeline.declaration import Declaration
from drysweep_pipeline.declaration.model import Schedule
from drysweep_pipeline.engine.state import GOING_ON, State, read_states
from drysweep_pipeline.home import Home
from drysweep_pipeline.values import Outcome

_WHERE_ONE_GOES_ON = {
    "skip": "a tick is skipped while one has not ended",
    "queue": "one that has not ended is waited for",
    "supersede": "one that has not ended is stopped",
}


def build_schedules(declaration: Declaration, start_job: dg.JobDefinition) -> list[dg.ScheduleDefinition]:
    """Return the sweep's schedule, if it declares one; a declared schedule runs wherever the daemon runs."""
    sweep = declaration.sweep
    declared = sweep.schedule
    if declared is None:
        return []

    @dg.schedule(
        name=f"{sweep.name}_campaigns",
        job=start_job,
        cron_schedule=declared.cron,
        execution_timezone=declared.timezone,
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description=f"Starts a campaign of {sweep.name}; {_WHERE_ONE_GOES_ON[declared.if_waiting]}.",
        owners=list(sweep.owners),
    )
    def campaigns(context: dg.ScheduleEvaluationContext, home: dg.ResourceParam[Home]) -> dg.RunRequest | dg.SkipReason:
        if declared.if_waiting == "skip" and (why := why_to_skip(home, sweep.name)):
            return dg.SkipReason(why)
        as_of = context.scheduled_execution_time.astimezone(UTC).isoformat()
        config = {"ops": {f"{sweep.name}_start_campaign": {"config": {"as_of": as_of}}}}
        return dg.RunRequest(run_key=f"{sweep.name}/{as_of}", run_config=config)

    return [campaigns]


def why_to_skip(home: Home, sweep: str) -> str | None:
    """Return why a tick of a sweep that skips starts no campaign now; None where it does."""
    states = read_states(home.sweep(sweep).root / "state")
    last = next((each for each in reversed(states) if each.outcome in GOING_ON and not each.looked_again), None)
    if last is None:
        return None
    return f"campaign {last.campaign} has not ended{_what_holds_it(last)}; if_waiting is skip"


def _what_holds_it(state: State) -> str:
    if state.outcome is Outcome.NEEDS_DECISION:
        return " and waits for a person"
    if state.driver == "cli" and not (state.lease and state.lease.alive):
        # Nobody goes on with it by itself, and until somebody does no tick starts anything.
        return " and no process works on it: `drysweep resume` goes on with it, `drysweep stop` ends it"
    return ""


def next_ticks(declared: Schedule, after: datetime, count: int) -> list[datetime]:
    """Return the next instants at which a schedule starts a campaign, in its own time zone, as Dagster reckons them."""
    ticks = schedule_execution_time_iterator(after.timestamp(), declared.cron, declared.timezone)
    return list(islice(ticks, count))

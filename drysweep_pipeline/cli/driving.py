"""Driving a campaign from the command line to where it stops, and showing where that is."""

import shlex
from collections.abc import Iterator

from drysweep_pipeline import interruption
from drysweep_pipeline.cli import refusing
from drysweep_pipeline.cli.output import exit_code, note, program, put, put_json
from drysweep_pipeline.cli.watching import watching
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.journal import standing
from drysweep_pipeline.engine.repair import repair
from drysweep_pipeline.engine.state import Lease, State, drop_lease, read_state, take_lease
from drysweep_pipeline.errors import MaterialError, RoundGap
from drysweep_pipeline.history import history
from drysweep_pipeline.history.campaign import Past
from drysweep_pipeline.home import Home
from drysweep_pipeline.ledger import open_ledger
from drysweep_pipeline.reports.beside import (
    behind,
    denied,
    home_option,
    looked_at_nothing,
    merging,
    stand_of,
    sweep_argument,
)
from drysweep_pipeline.reports.failures import failures
from drysweep_pipeline.reports.since import lines as since_lines
from drysweep_pipeline.reports.steps import next_steps, why_beside
from drysweep_pipeline.reports.summary import summary
from drysweep_pipeline.reports.waiting import waits_for
from drysweep_pipeline.values import Outcome

FINDINGS = 6


def drive(home: Home, campaign: Campaign, *, quiet: bool = False, beyond: str = "") -> None:
    """Run the rounds of a campaign in this process until none is due, then write its report.

    What happens meanwhile is shown on stderr, unless ``quiet``. Whoever interrupts it is told how it goes on, and
    ``beyond`` that, how what this campaign is one of does.
    """
    resume = f"{program()} resume {shlex.quote(campaign.name)}{home_option(home)}"
    with refusing.going_on(f"`{resume}` goes on from the last whole round{beyond}"):
        _say_what_it_overtakes(campaign)
        try:
            while _drove_on(home, campaign, quiet=quiet):
                continue
        except MaterialError:
            # It is recorded all the same, and holds a schedule up that skips while one has not ended.
            note(f"{campaign.name} has not ended: `{resume}` tries again, `{_stopping(home, campaign)}` gives it up")
            raise


def _stopping(home: Home, campaign: Campaign) -> str:
    return f"{program()} stop {shlex.quote(campaign.name)}{home_option(home)}"


def _drove_on(home: Home, campaign: Campaign, *, quiet: bool) -> bool:
    """Run a campaign to where it stops; tell whether an answer was given meanwhile by which it goes on."""
    take_lease(campaign.state_path, driver="cli")
    try:
        with interruption.noting(), watching(quiet=quiet):
            _to_where_it_stops(home, campaign)
    finally:
        drop_lease(campaign.state_path)
    state = read_state(campaign.state_path)
    # An answer given while the report was written found this process at work and left it to go on.
    return state is not None and state.driver == "cli" and standing(campaign).due is not None


def _to_where_it_stops(home: Home, campaign: Campaign) -> None:
    from drysweep_pipeline.orchestration.inprocess import in_process

    with open_ledger(campaign.home.ledger) as ledger:
        repair(ledger, campaign)
    with in_process(campaign.declaration, home) as jobs:
        jobs.bury(campaign)
        while (due := standing(campaign).due) is not None:
            try:
                jobs.round(campaign, due)
            except RoundGap:
                # Somebody stopped it while the round was under way.
                if standing(campaign).due is not None:
                    raise
        jobs.report(campaign)


def go_on(home: Home, campaign: Campaign, *, quiet: bool = False) -> None:
    """Go on with a campaign that was answered, or say who does: a living process, or the daemon where it drives."""
    state = read_state(campaign.state_path)
    if state is None:
        return
    lease = state.lease
    if state.driver == "sensor":
        if state.next is not None:
            note(by_the_sensor(home, state))
    elif lease is not None and lease.alive and not lease.same_process(Lease.mine()):
        does = "goes on" if state.next is not None else "ends"
        note(f"process {lease.pid} on {lease.host} works on it and {does}")
    else:
        drive(home, campaign, quiet=quiet)


def by_the_sensor(home: Home, state: State) -> str:
    """Say who goes on with a campaign that the sensor drives, and what helps where nobody would."""
    from drysweep_pipeline.orchestration.daemon import gave_up, looks_at_sensors

    if before := behind(home, state.sweep, state.campaign):
        return f"the sensor drives it: the daemon starts it once {', '.join(before)} has ended"
    instead = f"`drysweep resume {state.sweep}/{state.campaign}{home_option(home)}` goes on here"
    if gave_up(home, state):
        why = "runs of it failed or were canceled, as Dagster's pages show"
        return f"the sensor launches round {state.next} no more, since {why}; {instead}"
    running = looks_at_sensors(home)
    if running is None:
        return f"the sensor drives it: the daemon goes on with round {state.next} where one runs; {instead}"
    if not running:
        return f"the sensor drives it and no daemon runs: start `dagster-daemon run`, or {instead}"
    return f"the sensor drives it: the daemon goes on with round {state.next}"


def _say_what_it_overtakes(campaign: Campaign) -> None:
    before = behind(campaign.home.home, campaign.home.name, campaign.id)
    if before:
        note(f"{campaign.home.name}/{campaign.id} was queued; it starts now and overtakes {', '.join(before)}")


def show(home: Home, campaign: Campaign, *, as_json: bool, fail_on: str | None = None) -> int:
    """Print where a campaign stands, its verdict last, and return the exit code."""
    facts = summary(home, campaign.home.name, campaign.id)
    code = exit_code(facts["outcome"])
    if code == 0 and fail_on is not None and _found(home, campaign, fail_on):
        code = FINDINGS
    for notice in facts["notifications"]:
        if notice["status"] == "failed":
            note(f"not told: {notice['to']}: {notice['why']}")
    if as_json:
        put_json(facts)
        note(facts["verdict"])
        return code
    put(f"{campaign.home.name}/{campaign.id}, as of {facts['as_of']}")
    for line in since_lines(facts["since"]):
        put(line)
    put("fresh findings a round: " + (", ".join(str(n) for n in facts["new"]) or "no round yet"))
    for line in failures(facts):
        put(line)
    if merged := _merging(home, campaign, facts["rounds"]):
        put(f"findings are merged: {merged}")
    if said := denied(home, campaign.home.name, campaign.id, facts["rounds"]):
        put(f"may not have searched, being confined: {said}; `reads` declares what else it needs to read")
    if noted := looked_at_nothing(home, campaign.home.name, campaign.id, facts["rounds"]):
        put(f"looked at nothing, as allow_empty declares: {noted}")
    if facts["report"]:
        put(f"report: {facts['report']}")
    below = [*_waiting(home, campaign), *_next(home, campaign, facts["why"])]
    if facts["why"]:
        put(f"why it does not go quiet: {why_beside(facts['why'], below)}")
    for line in below:
        put(line)
    put(facts["verdict"])
    return code


def _merging(home: Home, campaign: Campaign, rounds: int) -> str | None:
    with history(home) as connection:
        rejected = Past(connection, campaign.home.name, campaign.id).rejected()
    return merging(home, campaign.home.name, campaign.id, rounds, rejected)


def _waiting(home: Home, campaign: Campaign) -> Iterator[str]:
    """Yield what is waited for and the commands that may be given, as they can be pasted, with what each does."""
    if (waiting := waits_for(stand_of(campaign), home_option(home))) is None:
        return
    yield f"{waiting.sentence}:"
    for choice in waiting.choices:
        yield f"  {choice.command}  # {choice.does}"


def _next(home: Home, campaign: Campaign, why: dict[str, str] | None) -> Iterator[str]:
    """Yield what the report says to do next about a campaign that ended without converging, its commands to paste."""
    standing = stand_of(campaign)
    if standing.standing.outcome in (Outcome.CONVERGED, Outcome.RUNNING):
        return
    sweep = sweep_argument(home, campaign.home.name, campaign.id)
    for step in next_steps(standing, sweep, home_option(home), why):
        yield f"{step.text}{step.after}" + (":" if step.command else ".")
        if step.command:
            yield f"  {step.command}"


def _found(home: Home, campaign: Campaign, fail_on: str) -> bool:
    from drysweep_pipeline.reports.threshold import found

    return found(home, campaign.home.name, campaign.id, fail_on)

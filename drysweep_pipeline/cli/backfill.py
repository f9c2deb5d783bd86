"""``drysweep backfill``: campaigns over dated material, or over stored snapshots, under one ceiling for all."""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from drysweep_pipeline.cli.options import (
    FailOnOption,
    HomeOption,
    JsonOption,
    QuietOption,
    SweepArgument,
    home_of,
    instant,
    last_instant,
    project_root,
    writable_home_of,
)
from drysweep_pipeline.errors import DeclarationError
from drysweep_pipeline.home import Home
from drysweep_pipeline.instants import zulu

if TYPE_CHECKING:
    # What --help has to wait for is parsed, never declared.
    from drysweep_pipeline.declaration import Declaration


def backfill(
    sweep: SweepArgument,
    since: Annotated[str | None, typer.Option("--from", metavar="T", help="The first instant.")] = None,
    until: Annotated[str | None, typer.Option("--to", metavar="T", help="The last instant, inclusive.")] = None,
    every: Annotated[
        str | None, typer.Option(metavar="DAYS", help="Every so many days; else each date there is.")
    ] = None,
    strategies: Annotated[
        str | None,
        typer.Option(metavar="NAME[,NAME]", help="Only these, at stored snapshots of earlier campaigns: since when?"),
    ] = None,
    calls: Annotated[int | None, typer.Option(help="One ceiling on the calls of all campaigns together.")] = None,
    rounds: Annotated[
        int | None, typer.Option(help="With --strategies: the ceiling on rounds of each campaign.")
    ] = None,
    fail_on: FailOnOption = None,
    plan: Annotated[bool, typer.Option("--plan", help="Only say which campaigns there would be.")] = False,
    quiet: QuietOption = False,
    home: HomeOption = None,
    json: JsonOption = False,
) -> int:
    """Sweep dated material, or look again at stored snapshots.

    A campaign a date, under one ceiling for all; asked again, it goes on.

    Example: drysweep backfill my_sweep --from 2026-01-01 --to 2026-01-31
    """
    from drysweep_pipeline.declaration import read_declaration, resolve_sweep
    from drysweep_pipeline.reports.threshold import check_threshold

    check_threshold(fail_on)
    path = resolve_sweep(sweep, project_root())
    declaration = read_declaration(path)
    first, last = _instant(since, "--from", instant), _instant(until, "--to", last_instant)
    place = home_of(home, path) if plan else writable_home_of(home, path)
    if first is not None and last is not None and last < first:
        raise DeclarationError("--to lies before --from", key="--to")
    if strategies is not None:
        if every is not None:
            raise DeclarationError("stored snapshots have the dates that they have", key="--every", help="leave it out")
        if fail_on is not None:
            help = "it asks since when, not how bad"
            raise DeclarationError("--fail-on does not go with --strategies", key="--fail-on", help=help)
        return _look_again(place, declaration, strategies, first, last, calls, rounds, plan, quiet, json)
    if calls is not None and calls < 1:
        raise DeclarationError(f"--calls {calls} is no ceiling", key="--calls", help="1 or more")
    if rounds is not None:
        raise DeclarationError("--rounds goes with --strategies", key="--rounds", help="budget.rounds holds otherwise")
    if first is None or last is None:
        key = "--from" if first is None else "--to"
        raise DeclarationError("an instant is needed", key=key, help="only --strategies goes without")
    return _sweep_dates(place, declaration, first, last, every, calls, fail_on, plan, quiet, json)


def _sweep_dates(
    place: Home,
    declaration: "Declaration",
    first: datetime,
    last: datetime,
    every: str | None,
    calls: int | None,
    fail_on: str | None,
    plan: bool,
    quiet: bool,
    json: bool,
) -> int:
    from drysweep_pipeline.cli.backfilling import Backfill, dates
    from drysweep_pipeline.cli.output import put, put_json

    wanted = dates(declaration, first, last, every)
    job = Backfill(place, declaration, wanted, calls, fail_on, quiet)
    if plan:
        for date in wanted:
            line = {"schema_version": 1, "sweep": declaration.sweep.name, "as_of": zulu(date)}
            put_json(line) if json else put(f"{declaration.sweep.name} as of {zulu(date)}")
        if not json:
            put(f"{len(wanted)} campaigns, at most {job.ceiling} calls together")
        return 0
    return job.run(as_json=json)


def _look_again(
    place: Home,
    declaration: "Declaration",
    strategies: str,
    first: datetime | None,
    last: datetime | None,
    calls: int | None,
    rounds: int | None,
    plan: bool,
    quiet: bool,
    json: bool,
) -> int:
    from drysweep_pipeline.cli.looking_again import LookAgain, lines
    from drysweep_pipeline.cli.output import put, put_json
    from drysweep_pipeline.declaration.checks import sql_problems
    from drysweep_pipeline.declaration.refusals import first_of
    from drysweep_pipeline.engine.looking_again import again

    if problems := sql_problems(declaration):
        raise first_of(problems)
    names = [name.strip() for name in strategies.split(",") if name.strip()]
    job = LookAgain(place, again(place, declaration, names, first, last), calls, rounds, quiet)
    if not plan:
        return job.run(as_json=json)
    if json:
        put_json(job.plan())
    else:
        for line in lines(job.plan()):
            put(line)
    return 0


def _instant(text: str | None, option: str, read: Callable[[str | None, str], datetime | None]) -> datetime | None:
    if text is not None and not text.strip():
        raise DeclarationError("an instant is needed", key=option)
    return read(text, option)

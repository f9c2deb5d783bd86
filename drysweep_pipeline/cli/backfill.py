"""``drysweep backfill``: campaigns over dated material, in the order of its dates, under one ceiling."""

from datetime import datetime
from typing import Annotated

import typer

from drysweep_pipeline.cli.options import HomeOption, JsonOption, SweepArgument, home_of, instant, project_root
from drysweep_pipeline.errors import DeclarationError


def backfill(
    sweep: SweepArgument,
    since: Annotated[str, typer.Option("--from", metavar="T", help="The first instant.")],
    until: Annotated[str, typer.Option("--to", metavar="T", help="The last instant, inclusive.")],
    every: Annotated[
        str | None, typer.Option(metavar="DAYS", help="Every so many days; else each date there is.")
    ] = None,
    calls: Annotated[int | None, typer.Option(help="One ceiling on the calls of all campaigns together.")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Only say which campaigns there would be.")] = False,
    home: HomeOption = None,
    json: JsonOption = False,
) -> int:
    """Sweep dated material, a campaign a date; asked again, goes on."""
    from drysweep_pipeline.cli.backfilling import Backfill, dates
    from drysweep_pipeline.cli.output import put, put_json
    from drysweep_pipeline.declaration import read_declaration, resolve_sweep

    path = resolve_sweep(sweep, project_root())
    declaration = read_declaration(path)
    first, last = _instant(since, "--from"), _instant(until, "--to")
    wanted = dates(declaration, first, last, every)
    job = Backfill(home_of(home, path), declaration, wanted, calls)
    if plan:
        for date in wanted:
            line = {"schema_version": 1, "sweep": declaration.sweep.name, "as_of": date.isoformat()}
            put_json(line) if json else put(f"{declaration.sweep.name} as of {date.isoformat()}")
        if not json:
            put(f"{len(wanted)} campaigns, at most {job.ceiling} calls together")
        return 0
    return job.run(as_json=json)


def _instant(text: str, option: str) -> datetime:
    found = instant(text)
    if found is None:
        raise DeclarationError("an instant is needed", key=option)
    return found

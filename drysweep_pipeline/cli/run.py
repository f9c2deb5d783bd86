"""``drysweep run``: a campaign to its outcome."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from drysweep_pipeline.cli.options import (
    FailOnOption,
    HomeOption,
    JsonOption,
    QuietOption,
    SweepArgument,
    instant,
    project_root,
    writable_home_of,
)
from drysweep_pipeline.errors import MaterialError


def run(
    sweep: SweepArgument,
    campaign: Annotated[str | None, typer.Option(help="The campaign's id; an unfinished one goes on.")] = None,
    as_of: Annotated[str | None, typer.Option(help="The instant it looks at; now unless given.")] = None,
    k: Annotated[int | None, typer.Option("--k", help="Quiet rounds in a row that converge.")] = None,
    rounds: Annotated[int | None, typer.Option(help="The ceiling on rounds.")] = None,
    calls: Annotated[int | None, typer.Option(help="The ceiling on calls.")] = None,
    past: Annotated[
        int | None, typer.Option(help="Look so many rounds beyond convergence, to see what K missed.")
    ] = None,
    fail_on: FailOnOption = None,
    quiet: QuietOption = False,
    home: HomeOption = None,
    json: JsonOption = False,
) -> int:
    """Search until the search goes quiet, or a ceiling ends it.

    Example: drysweep run my_sweep --rounds 10 --fail-on new:major
    """
    from drysweep_pipeline.cli.driving import drive, show
    from drysweep_pipeline.cli.output import note
    from drysweep_pipeline.declaration import read_declaration, resolve_sweep
    from drysweep_pipeline.declaration.checks import model_problems, sql_problems
    from drysweep_pipeline.declaration.refusals import first_of
    from drysweep_pipeline.engine.campaign import Overrides
    from drysweep_pipeline.engine.starting import start
    from drysweep_pipeline.reports.threshold import check_threshold

    check_threshold(fail_on)
    path = resolve_sweep(sweep, project_root())
    declaration = read_declaration(path)
    if problems := [*sql_problems(declaration), *model_problems(declaration)]:
        raise first_of(problems)
    place = writable_home_of(home, path)
    with _naming(path):
        started = start(
            place,
            declaration,
            as_of=instant(as_of) or datetime.now(UTC).replace(microsecond=0),
            driver="cli",
            campaign=campaign,
            overrides=Overrides(k, rounds, calls, past),
        )
    if started.as_of > datetime.now(UTC) + timedelta(days=1):
        note(f"{started.id} looks at a day that is still to come; campaigns as of today take their place before it")
    drive(place, started, quiet=quiet)
    return show(place, started, as_json=json, fail_on=fail_on)


@contextmanager
def _naming(declared_in: Path) -> Iterator[None]:
    """Let an error of the material say which file declares its path."""
    try:
        yield
    except MaterialError as error:
        key = error.key if (error.key or "").startswith("material.") else "material.path"
        error.help = "; ".join(part for part in (error.help, f"{key} is declared in {declared_in}") if part)
        raise

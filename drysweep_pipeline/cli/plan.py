"""``drysweep plan``: what a campaign would do and may take at most; nothing is asked, nothing is written."""

import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from drysweep_pipeline.cli.options import HomeOption, JsonOption, SweepArgument, home_of, instant, project_root
from drysweep_pipeline.errors import DrysweepError
from drysweep_pipeline.instants import zulu

if TYPE_CHECKING:
    from drysweep_pipeline.declaration import Declaration
    from drysweep_pipeline.engine.forecast import Forecast
    from drysweep_pipeline.home import Home
    from drysweep_pipeline.variation import Look

_TICKS = 3
_ANGLE = 60
_WRONG = 2


def plan(
    sweep: SweepArgument,
    campaign: Annotated[str | None, typer.Option(help="The campaign's id, which angles may go by.")] = None,
    as_of: Annotated[str | None, typer.Option(help="The instant it would look at; now unless given.")] = None,
    k: Annotated[int | None, typer.Option("--k", help="Quiet rounds in a row that converge.")] = None,
    rounds: Annotated[int | None, typer.Option(help="The ceiling on rounds.")] = None,
    calls: Annotated[int | None, typer.Option(help="The ceiling on calls.")] = None,
    past: Annotated[int | None, typer.Option(help="So many rounds beyond convergence as well.")] = None,
    home: HomeOption = None,
    json: JsonOption = False,
) -> int:
    """Say what a campaign would do and may take at most.

    Asks nobody, writes nothing and spends nothing.

    Example: drysweep plan my_sweep --rounds 10
    """
    from drysweep_pipeline.cli.output import put_json
    from drysweep_pipeline.cli.validate import examine
    from drysweep_pipeline.declaration import read_declaration, resolve_sweep
    from drysweep_pipeline.engine.campaign import Overrides
    from drysweep_pipeline.engine.forecast import forecast
    from drysweep_pipeline.engine.starting import check_overrides
    from drysweep_pipeline.redaction import hidden_data

    path = resolve_sweep(sweep, project_root())
    declaration, overrides = read_declaration(path), Overrides(k, rounds, calls, past)
    check_overrides(declaration, overrides)
    place = home_of(home, path)
    at = instant(as_of) or datetime.now(UTC).replace(microsecond=0)
    problems, warnings = examine(path, place)
    planned = forecast(place, declaration, at, overrides, campaign)
    material, unreachable = _material(declaration, at, place)
    problems += unreachable
    facts = {**_facts(planned, declaration), "material": material, "warnings": [*planned.warnings, *warnings]}
    if json:
        put_json({"schema_version": 1, **hidden_data({**facts, "problems": [_problem(each) for each in problems]})})
    else:
        _show(facts, planned, problems, path)
    return _WRONG if problems else 0


def _material(declaration: "Declaration", as_of: datetime, home: "Home") -> tuple[dict[str, Any], list[DrysweepError]]:
    """Return where the material lies and how much it is, and why it cannot be reached, where it cannot."""
    from drysweep_pipeline.declaration.model import ScriptedMaterial
    from drysweep_pipeline.errors import MaterialError
    from drysweep_pipeline.material import check_reachable, place_of

    material = declaration.sweep.material
    if isinstance(material, ScriptedMaterial):
        return {"kind": material.kind, "place": None, "reachable": True, "size": None, "commit": None}, []
    picked: dict[str, Any] = {"size": None, "commit": None}
    try:
        check_reachable(material, declaration.base, as_of)
        place, problems = place_of(material, declaration.base), list[DrysweepError]()
        picked = _picked(declaration, as_of, home)
    except MaterialError as error:
        error.file, error.key = error.file or str(declaration.path), error.key or "material.path"
        place, problems = None, [error]
    return {"kind": material.kind, "place": place, "reachable": not problems, **picked}, problems


def _picked(declaration: "Declaration", as_of: datetime, home: "Home") -> dict[str, Any]:
    """Return how much would be searched, and the commit that a date picks; its files are not counted."""
    from drysweep_pipeline.declaration.model import CommandMaterial, ScriptedMaterial, TablesMaterial
    from drysweep_pipeline.material.apart import apart
    from drysweep_pipeline.material.globs import pattern
    from drysweep_pipeline.material.paths import locate
    from drysweep_pipeline.material.size import size_of
    from drysweep_pipeline.material.tabular import sources

    material = declaration.sweep.material
    if isinstance(material, CommandMaterial | ScriptedMaterial):
        return {"size": None, "commit": None}
    where = locate(material.path, declaration.base, as_of)
    if where.commit is not None:
        return {"size": None, "commit": where.commit.revision}
    own = apart(where.path, home.root)
    if isinstance(material, TablesMaterial):
        globs = [pattern(source.file) for source in sources(material, where.path).values()]
        size = size_of(where.path, (), own, lambda path: any(glob.fullmatch(path) for glob in globs))
    else:
        size = size_of(where.path, material.ignore, own)
    return {"size": asdict(size) if size is not None else None, "commit": None}


def _facts(planned: "Forecast", declaration: "Declaration") -> dict[str, Any]:
    from drysweep_pipeline.declaration.secrets import variables

    names = variables(declaration.sweep.model_dump())
    least, most = planned.least, planned.most
    quietly, wrongly = planned.trips
    return {
        "sweep": planned.sweep,
        "campaign": planned.campaign,
        "as_of": zulu(planned.as_of),
        "convergence": {name: getattr(planned, name) for name in ("rule", "k", "cover", "earliest")},
        "past": asdict(planned.past) if planned.past is not None else None,
        "strategies": [asdict(each) for each in planned.strategies],
        "judge": asdict(planned.judge) if planned.judge is not None else None,
        "rounds": [[asdict(each) for each in looks] for looks in planned.rounds],
        "a_round": {"least": asdict(least), "most": asdict(most)},
        "ceilings": {**asdict(planned.ceilings), "on_exceeded": planned.on_exceeded},
        "at_most": planned.at_most,
        "at_most_if_kept_by": list(planned.keeping),
        "trips_first": {"where_nothing_fails": asdict(quietly), "where_all_fails": asdict(wrongly)},
        "schedule": _schedule(declaration),
        "environment": {"named": names, "unset": [name for name in names if name not in os.environ]},
    }


def _schedule(declaration: "Declaration") -> dict[str, Any] | None:
    declared = declaration.sweep.schedule
    if declared is None:
        return None
    # Dagster knows when a schedule ticks, and is not loaded for less.
    from drysweep_pipeline.orchestration.schedule import next_ticks

    ticks = next_ticks(declared, datetime.now(UTC), _TICKS)
    return {**declared.model_dump(), "next": [zulu(tick) for tick in ticks]}


def _problem(error: DrysweepError) -> dict[str, Any]:
    where = {"file": error.file, "line": error.line, "key": error.key}
    return {"error": error.what, **where, "help": error.help, "code": error.code}


def _show(facts: dict[str, Any], planned: "Forecast", problems: list[DrysweepError], path: Path) -> None:
    from drysweep_pipeline.cli import refusing
    from drysweep_pipeline.cli.output import put, put_table
    from drysweep_pipeline.redaction import hidden

    put(f"{planned.sweep}/{planned.campaign}, as of {facts['as_of']}: what it would do; nothing was asked")
    put_table(["strategy", "kind", "angles", "calls a round", "isolation"], _strategies(planned))
    for looks in planned.rounds:
        put(hidden(f"round {planned.rounds.index(looks) + 1}: {', '.join(map(_look, looks)) or 'asks nobody'}"))
    for line in (*_lines(planned), *_places(facts)):
        put(hidden(line))
    for line in (line for warning in facts["warnings"] for line in refusing.warning(warning, str(path))):
        put(line)
    for line in (line for problem in problems for line in refusing.of(problem)):
        put(line)


def _strategies(planned: "Forecast") -> list[list[Any]]:
    return [
        [each.strategy, each.kind, each.angles or "", _from_to(each.least.calls, each.most.calls), each.isolation]
        for each in planned.strategies
    ]


def _look(look: "Look") -> str:
    from drysweep_pipeline.cli.fitting import shortened

    angle = ", ".join(f"{key}: {value}" for key, value in look.angle.items())
    angle = shortened(angle, _ANGLE) if sys.stdout.isatty() else angle
    return f"{look.strategy} {{{angle}}}" if angle else look.strategy


def _lines(planned: "Forecast") -> Iterator[str]:
    """Yield what is known of how far it goes and what it takes, a line each."""
    most, ceilings, judge = planned.at_most, planned.ceilings, planned.judge
    covering = ", every angle used" if planned.cover == "all_angles" else ""
    yield f"converges after {planned.k} quiet rounds in a row{covering}: in round {planned.earliest} at the earliest"
    yield _beyond(planned)
    if judge is None:
        yield "judged by nobody: every finding stays unjudged"
    else:
        each = _from_to(judge.least.calls, judge.most.calls)
        yield (
            f"judged by {judge.kind}, calls a finding: {each}; {judge.fit} findings fit where all "
            f"{ceilings.rounds} rounds run and nothing is asked twice"
        )
    least, worst = planned.least, planned.most
    searching = _from_to(least.calls, worst.calls)
    yield f"searching takes {searching} calls a round, {most['calls']:.0f} calls at most with all that comes on top"
    yield f"at most {', '.join(_bounds(most, ceilings.minutes))}, unless a person lifts a ceiling"
    if planned.keeping:
        who = ", ".join(planned.keeping)
        yield f"what is reported beyond `at_most` counts as well: the bound is that of {who} keeping to it"
    quietly, wrongly = planned.trips
    if quietly == wrongly:
        yield f"if it does not converge, the ceiling on {quietly.ceiling} ends it in round {quietly.round}"
    else:
        yield (
            f"if it does not converge, the ceiling on {quietly.ceiling} ends it in round {quietly.round}; where "
            f"strategies fail and are asked again, the ceiling on {wrongly.ceiling} may end it in round {wrongly.round}"
        )


def _beyond(planned: "Forecast") -> str:
    past = planned.past
    if past is None:
        return "`run --past` looks on beyond that, under the same ceilings; no round shown here is one of those"
    calls = _from_to(past.least.calls, past.most.calls)
    many = f"{past.rounds} rounds look" if past.rounds > 1 else "1 round looks"
    return (
        f"{many} on beyond that, to round {past.earliest} at the earliest: searching takes {calls} more calls, under "
        "the same ceilings"
    )


def _bounds(most: dict[str, float | None], minutes: float | None) -> Iterator[str]:
    """Yield what bounds a campaign; tokens and dollars only where there are any."""
    for name, bound in most.items():
        if bound is None and name == "minutes" and minutes is not None:
            yield f"{minutes:g} minutes and what the round takes that is under way then"
        elif bound is not None and name == "minutes" and minutes is not None and bound > minutes:
            yield f"{minutes:g} minutes, or {bound:.0f} with the round that is under way then"
        elif bound is None:
            yield f"no bound on {name} is known"
        elif name not in ("tokens", "cost_usd"):
            yield f"{bound:.0f} {name}"
        elif bound:
            yield f"${bound:.4f}" if name == "cost_usd" else f"{bound:.0f} tokens"


def _places(facts: dict[str, Any]) -> Iterator[str]:
    material, schedule, environment = facts["material"], facts["schedule"], facts["environment"]
    size = material["size"]
    held = f": {'more than ' if size['more'] else ''}{size['files']} files, {size['bytes']} bytes" if size else ""
    held += f": commit {material['commit'][:12]}" if material["commit"] else ""
    yield f"material {material['kind']} {material['place'] or ''}{held}".rstrip()
    if schedule is not None:
        yield f"scheduled {schedule['cron']} {schedule['timezone']}, next at {', '.join(schedule['next'])}"
    if environment["named"]:
        unset = set(environment["unset"])
        yield "needs " + ", ".join(f"{name} (not set)" if name in unset else name for name in environment["named"])


def _from_to(least: int, most: int) -> str:
    return str(least) if least == most else f"{least} to {most}"

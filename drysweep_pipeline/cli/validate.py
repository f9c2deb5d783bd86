"""``drysweep validate``: what is wrong with a declaration, and what is unwise; only ``--probe`` spends anything."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from drysweep_pipeline.cli.options import HomeOption, JsonOption, OneSweepArgument, home_of, project_root
from drysweep_pipeline.errors import DrysweepError, Refused
from drysweep_pipeline.home import Home

if TYPE_CHECKING:
    from drysweep_pipeline.engine.probing import Probe


def validate(
    sweep: OneSweepArgument = None,
    probe: Annotated[
        bool,
        typer.Option("--probe", help="Have each strategy look twice at one snapshot: are its fingerprints stable?"),
    ] = False,
    home: HomeOption = None,
    json: JsonOption = False,
) -> int:
    """Say all that is wrong or unwise in declarations, and where.

    Example: drysweep validate my_sweep --probe
    """
    from drysweep_pipeline.declaration import find_sweeps, resolve_sweep

    root = project_root()
    paths = [resolve_sweep(sweep, root)] if sweep else list(find_sweeps(root).values())
    if not paths:
        raise _NoSweep(root)
    wrong = [_validate(path, home_of(home, path), probe=probe, as_json=json) for path in paths]
    return 2 if any(wrong) else 0


class _NoSweep(Refused):
    """No sweep is named, and the project declares none."""

    code = "not_found"

    def __init__(self, root: Path) -> None:
        help = "name the YAML file of one; `drysweep init DIR` writes a project that has one"
        super().__init__("no sweep is declared there", file=root / "assets" / "sweeps", help=help)


def _validate(path: Path, home: Home, *, probe: bool, as_json: bool) -> bool:
    """Say what is wrong or unwise in one file, probe it where that is asked for, and tell whether anything is wrong."""
    from drysweep_pipeline.cli import refusing
    from drysweep_pipeline.cli.output import put, put_json
    from drysweep_pipeline.redaction import hidden, hidden_data

    problems, warnings = examine(path, home)
    probes = _probed(path, home) if probe and not problems else None
    wrong = bool(problems) or any(each.wrong for each in probes or ())
    if as_json:
        said = {"file": str(path), "problems": [_as_json(p) for p in problems], "warnings": warnings}
        put_json({"schema_version": 1, **hidden_data({**said, **_probes_as_json(probes)})})
        return wrong
    for line in (line for problem in problems for line in refusing.of(problem)):
        put(line)
    for line in (line for warning in warnings for line in refusing.warning(warning, str(path))):
        put(line)
    for each in probes or ():
        put(hidden(f"{path}: {'wrong' if each.wrong else 'probe'}: {each.sentence}"))
        if each.named:
            put(hidden(f"{path}: probe: {each.strategy} gives {', '.join(each.named)}"))
    if not wrong:
        put(f"{path}: valid")
    return wrong


def examine(path: Path, home: Home) -> tuple[list[DrysweepError], list[str]]:
    """Return what is wrong with a declaration, and what is unwise; the material is not looked at."""
    from drysweep_pipeline.declaration import errors, read_declaration
    from drysweep_pipeline.declaration.advice import warnings
    from drysweep_pipeline.declaration.checks import canary_problems, model_problems, sql_problems
    from drysweep_pipeline.declaration.reach import home_in_material, reach_problems

    problems: list[DrysweepError] = list(errors(path))
    if problems:
        return problems, []
    declaration = read_declaration(path)
    found = [*sql_problems(declaration), *canary_problems(declaration), *model_problems(declaration)]
    unwise = [*warnings(declaration), *home_in_material(declaration, home.root)]
    return [*found, *reach_problems(declaration, home.root)], unwise


def _probed(path: Path, home: Home) -> "list[Probe]":
    """Probe the strategies of a sweep, having said how many calls that takes at least."""
    from drysweep_pipeline.cli.output import note
    from drysweep_pipeline.declaration import read_declaration
    from drysweep_pipeline.engine.probing import LOOKS, frozen, probe

    declaration, as_of = read_declaration(path), datetime.now(UTC).replace(microsecond=0)
    calls = LOOKS * declaration.sweep.price(1)
    snapshot = frozen(home, declaration, as_of)
    note(f"{path}: probing takes {calls} calls, {LOOKS} looks for each strategy; only the snapshot stays")
    return list(probe(home, declaration, snapshot, as_of))


def _probes_as_json(probes: "list[Probe] | None") -> dict[str, Any]:
    if probes is None:
        return {}
    from drysweep_pipeline.engine.probing import as_json

    return {"probe": as_json(probes), "calls": sum(each.usage.calls for each in probes)}


def _as_json(problem: DrysweepError) -> dict[str, Any]:
    where = {"file": problem.file, "line": problem.line, "key": problem.key}
    return {"error": problem.what, **where, "help": problem.help, "code": problem.code}

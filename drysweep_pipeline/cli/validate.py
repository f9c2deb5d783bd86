"""``drysweep validate``: what is wrong with a declaration, and what is unwise about it; nothing is spent."""

from typing import Annotated, Any

import typer

from drysweep_pipeline.cli.options import HomeOption, JsonOption, project_root
from drysweep_pipeline.errors import DrysweepError


def validate(
    sweep: Annotated[str | None, typer.Argument(metavar="[SWEEP]", help="One sweep; else all of the project.")] = None,
    home: HomeOption = None,
    json: JsonOption = False,
) -> int:
    """Say all that is wrong or unwise in declarations, and where."""
    from drysweep_pipeline.cli.output import put, put_json
    from drysweep_pipeline.declaration import find_sweeps, resolve_sweep
    from drysweep_pipeline.errors import NotFound
    from drysweep_pipeline.redaction import hidden, hidden_data

    root = project_root()
    paths = [resolve_sweep(sweep, root)] if sweep else list(find_sweeps(root).values())
    if not paths:
        raise NotFound("sweep", f"under {root}/assets/sweeps")
    broken = False
    for path in paths:
        problems, warnings = _examine(path)
        broken = broken or bool(problems)
        if json:
            said = {"file": str(path), "problems": [_as_json(p) for p in problems], "warnings": warnings}
            put_json({"schema_version": 1, **hidden_data(said)})
            continue
        for problem in problems:
            put(hidden(str(problem)))
        for warning in warnings:
            put(hidden(f"{path}: warning: {warning}"))
        if not problems:
            put(f"{path}: valid")
    return 2 if broken else 0


def _examine(path: Any) -> tuple[list[DrysweepError], list[str]]:
    from drysweep_pipeline.declaration import errors, read_declaration
    from drysweep_pipeline.declaration.checks import canary_problems, sql_problems, warnings

    problems: list[DrysweepError] = list(errors(path))
    if problems:
        return problems, []
    declaration = read_declaration(path)
    return [*sql_problems(declaration), *canary_problems(declaration)], warnings(declaration)


def _as_json(problem: DrysweepError) -> dict[str, Any]:
    return {"error": problem.what, "file": problem.file, "line": problem.line, "key": problem.key, "help": problem.help}

"""The command finder: one process a look, told on stdin, heard on stdout; no shell, and nothing of it left behind."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from drysweep_pipeline.children.child import Child, lines
from drysweep_pipeline.children.confinement import Confinement
from drysweep_pipeline.children.installation import declared_places, program_places
from drysweep_pipeline.children.program import Program, environment, scratch_folder
from drysweep_pipeline.declaration.model import CommandStrategy
from drysweep_pipeline.errors import FinderError
from drysweep_pipeline.finders import sarif
from drysweep_pipeline.finders.jsonl import Lines, Row
from drysweep_pipeline.finders.printed import angle_words, taken, texts, told, variables
from drysweep_pipeline.finders.request import Found, Request
from drysweep_pipeline.programs import filled, named, words


def search(request: Request) -> Found:
    """Run the strategy's program and return what it printed, also where it did not run to its end."""
    strategy = request.strategy
    assert isinstance(strategy, CommandStrategy)
    copy = request.copy.files()
    if copy is None and any("{material}" in word for word in strategy.argv):
        raise FinderError("the material has no files to lay out as {material}")
    with scratch_folder() as scratch, request.children.started(_program(request, strategy, copy, scratch)) as child:
        read = _sarif if strategy.format == "sarif" else _jsonl
        found = replace(read(request, strategy, child, copy), complaint=child.complained())
    request.copy.check(copy)
    return found


def _program(request: Request, strategy: CommandStrategy, copy: Path | None, scratch: Path) -> Program:
    material = {} if copy is None else {"material": str(copy)}
    values = {**texts(request), **angle_words(request.look.angle), **material}
    argv = words(filled(strategy.argv, values), request.base)
    known = {**variables(request), **({} if copy is None else {"DRYSWEEP_MATERIAL": str(copy)})}
    told = environment(scratch, strategy.env, known)
    # Not in the folder of the declaration, beside which the home may lie.
    program = Program(
        argv,
        scratch,
        told,
        confinement=Confinement(
            (scratch,),
            () if copy is None else (copy,),
            (*program_places(argv[0], told.get("PATH")), *named(argv), *declared_places(strategy.reads, request.base)),
        ),
        memory_mb=strategy.memory_mb,
    )
    if strategy.format == "sarif":
        return replace(program, max_bytes=sarif.MAX_BYTES, max_line_bytes=sarif.MAX_BYTES)
    return program


def _lines(request: Request, strategy: CommandStrategy, child: Child, copy: Path | None) -> Iterator[bytes]:
    given = {**told(request), "material": None if copy is None else str(copy)}
    return lines(child, json.dumps(given).encode() + b"\n", strategy.timeout_s, strategy.ok_exit_codes)


def _jsonl(request: Request, strategy: CommandStrategy, child: Child, copy: Path | None) -> Found:
    printed = _lines(request, strategy, child, copy)
    return taken(Lines(printed, strategy.max_rows, None if copy is None else str(copy)), request.fields)


def _sarif(request: Request, strategy: CommandStrategy, child: Child, copy: Path | None) -> Found:
    printed = b"\n".join(_lines(request, strategy, child, copy))
    return taken(_results(printed, strategy, copy), request.fields)


def _results(printed: bytes, strategy: CommandStrategy, copy: Path | None) -> Iterator[Row]:
    """Yield what the results of a log report; raises ``FinderError`` at the end where the log is not complete."""
    runs = sarif.runs_of(printed)
    yield from sarif.rows(runs, strategy.max_rows, None if copy is None else str(copy))
    failure = sarif.incomplete(runs, strategy.allow_bare)
    if failure is not None:
        raise failure

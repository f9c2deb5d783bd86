"""The Python finder: a declared function, called once a look in a child process; its side of that is ``worker``."""

import json
import os
import stat
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from drysweep_pipeline.candidates import Unfit
from drysweep_pipeline.children.child import lines
from drysweep_pipeline.children.complaints import told
from drysweep_pipeline.children.confinement import Confinement, hint
from drysweep_pipeline.children.installation import called_with
from drysweep_pipeline.children.program import Program, environment, scratch_folder
from drysweep_pipeline.children.worker import PATH as WORKER
from drysweep_pipeline.declaration.model import PythonStrategy
from drysweep_pipeline.errors import FinderError
from drysweep_pipeline.finders import jsonl
from drysweep_pipeline.finders.jsonl import End, Lines, truncated
from drysweep_pipeline.finders.printed import taken, variables
from drysweep_pipeline.finders.request import Found, Request
from drysweep_pipeline.material.snapshot import DATABASE
from drysweep_pipeline.programs import search_path
from drysweep_pipeline.values import ONE_CALL

_TABLE = "findings.arrow"


def search(request: Request) -> Found:
    """Call the strategy's function in a child and return what it found, also where it did not come to its end."""
    strategy = request.strategy
    assert isinstance(strategy, PythonStrategy)
    # A copy, because nothing leads from there to what earlier rounds or others found.
    tables = request.copy.tables()
    with scratch_folder() as scratch:
        known = environment(scratch, strategy.env, variables(request))
        program = Program(
            (sys.executable, "-I", str(WORKER)),
            scratch,
            known,
            confinement=Confinement(
                (scratch,),
                () if tables is None else (tables,),
                called_with(request.base, strategy.reads),
            ),
            memory_mb=strategy.memory_mb,
        )
        marks = _Marks()
        given = json.dumps(_begin(request, strategy, tables, scratch)).encode() + b"\n"
        with request.children.started(program) as child:
            printed = lines(child, given, strategy.timeout_s)
            # A function has no way to tell what it used: that counts as what it declares at most.
            found = taken(Lines(printed, strategy.max_rows, marks=marks.read), request.fields)
            found = replace(found, usage=None, complaint=child.complained())
        if found.failure is None and marks.table:
            table = _table(scratch / _TABLE, strategy.max_rows, program.max_bytes)
            found = Found(table=table, complaint=found.complaint)
    request.copy.check(tables)
    return found


def _begin(request: Request, strategy: PythonStrategy, tables: Path | None, scratch: Path) -> dict[str, Any]:
    return {
        "does": "search",
        "call": strategy.call,
        "path": search_path(request.base),
        "database": None if tables is None else str(tables / DATABASE),
        "angle": request.look.angle,
        "seed": request.look.seed,
        "table": str(scratch / _TABLE),
    }


class _Marks:
    """Reads what the worker says that is no finding."""

    def __init__(self) -> None:
        self.table = False

    def read(self, said: Mapping[str, Any]) -> End | Unfit:
        """Return the mark of the end, or that a finding was none. Raises ``FinderError`` where the function failed."""
        mark, reason = said[jsonl.MARK], told(said.get("reason"))
        if mark == "refused":
            return Unfit(reason)
        if mark == "failed":
            raise FinderError(reason, help=hint(reason))
        if mark == "table":
            self.table = True
            return End(0, ONE_CALL)
        return jsonl.end_of(said)


def _table(path: Path, max_rows: int, max_bytes: int) -> pa.Table:
    """Return the table that a function gave. Raises ``FinderError`` where there is none of that size."""
    try:
        # Whatever a function leaves there is read once, and not followed elsewhere.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            state = os.fstat(handle)
            if not stat.S_ISREG(state.st_mode):
                raise FinderError("the table that it gave is no file")
            if state.st_size > max_bytes:
                raise truncated(f"a table of more than {max_bytes} bytes")
            table = pa.ipc.open_file(pa.BufferReader(file.read())).read_all()
        table.validate(full=True)
    except (OSError, pa.ArrowException) as error:
        raise FinderError(f"the table that it gave cannot be read: {error}") from None
    if table.num_rows > max_rows:
        raise truncated(f"more than {max_rows} rows", "raise max_rows")
    return table

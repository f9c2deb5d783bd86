"""Material of the kind ``command``: a program prints the tables that are searched, row by row, and that it is done.

.. code-block:: text

    {"table": "nodes", "row": {"id": "n1", "state": "ready"}}
    {"drysweep": "end", "count": 1}

Anything else than that, to its end, is no material at all: a program that fails half-way did not print a smaller mesh.
The order of the rows plays no part: they are kept sorted, so that the same rows are the same snapshot in any order.
"""

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from drysweep_pipeline import exact
from drysweep_pipeline.children.child import Child, lines
from drysweep_pipeline.children.program import Program, environment, scratch_folder
from drysweep_pipeline.declaration.model import CommandMaterial, TableSource
from drysweep_pipeline.errors import FinderError, MaterialError
from drysweep_pipeline.material.tabular import Read, read_files, task
from drysweep_pipeline.programs import filled, words

_HELP = 'each line is {"table": NAME, "row": {...}}, and the last {"drysweep": "end", "count": N}'


@dataclass(frozen=True, slots=True)
class Printed:
    """The rows that a program printed, as canonical JSON: sorted, by table."""

    tables: Mapping[str, list[str]]

    @property
    def count(self) -> int:
        """How many rows there are."""
        return sum(len(rows) for rows in self.tables.values())

    @property
    def sha256(self) -> str:
        """Hex SHA-256 over all rows."""
        return hashlib.sha256(json.dumps(self.tables, sort_keys=True).encode()).hexdigest()


def program(material: CommandMaterial, base: Path, as_of: datetime) -> tuple[str, ...]:
    """Return the argv that prints material as of an instant. Raises ``MaterialError`` where there is no program."""
    argv = words(filled(material.argv, {"as_of": _iso(as_of)}), base)
    if shutil.which(argv[0]) is None:
        help = f"it is a file beside the sweep, in {base}, or on the PATH, and may be executed"
        raise MaterialError(f"there is no program {material.argv[0]!r}", key="material.argv", help=help)
    return argv


def run(material: CommandMaterial, base: Path, as_of: datetime) -> Printed:
    """Return what the program prints. Raises ``MaterialError`` unless it ends well and says that it printed all."""
    argv = program(material, base, as_of)
    with scratch_folder() as scratch:
        told = {"as_of": _iso(as_of)}
        known = environment(scratch, material.env, {f"DRYSWEEP_{name.upper()}": said for name, said in told.items()})
        reading = _Reading(material)
        try:
            with Child(Program(argv, scratch, known, material.max_bytes)) as child:
                for line in lines(child, json.dumps(told).encode() + b"\n", material.timeout_s):
                    reading.take(line)
        except FinderError as error:
            raise MaterialError(f"{material.argv[0]}: {error.what}", key="material.argv", help=error.help) from None
        return reading.whole()


def read_printed(material: CommandMaterial, printed: Printed, out: Path) -> Read:
    """Make each declared table of what was printed, as ``out/<name>.parquet``. Raises ``MaterialError``."""
    with scratch_folder() as scratch:
        tasks = []
        for name, declared in material.tables.items():
            path = scratch / name
            path.write_text("".join(f"{row}\n" for row in printed.tables[name]), encoding="utf-8")
            source = TableSource(file=name, format="jsonl", columns=declared.columns)
            tasks.append(task(name, source, [path], material.max_rows, material.max_bytes))
        rows, reasons = read_files(tasks, out, scratch, material.timeout_s)
    return Read(rows, tuple(sorted(reasons.items())))


class _Reading:
    """What a program has printed so far."""

    def __init__(self, material: CommandMaterial) -> None:
        self._material = material
        self._rows: dict[str, list[str]] = {name: [] for name in material.tables}
        self._said: int | None = None
        self._number = 0

    def take(self, line: bytes) -> None:
        """Take one more line. Raises ``MaterialError`` where it is not as agreed."""
        self._number += 1
        if not line.strip():
            return
        if self._said is not None:
            raise self._wrong("follows the mark of the end")
        said = self._object(line)
        if "drysweep" in said:
            self._said = self._mark(said)
            return
        table, row = said.get("table"), said.get("row")
        if set(said) != {"table", "row"} or not isinstance(row, dict):
            raise self._wrong(f"is {exact.shown(said)}, which is no row of a table")
        if table not in self._rows:
            raise self._wrong(
                f"names the table {exact.shown(table)}, which is not declared: there is {', '.join(self._rows)}"
            )
        rows = self._rows[table]
        rows.append(json.dumps(row, sort_keys=True, ensure_ascii=False))
        if len(rows) > self._material.max_rows:
            raise self._wrong(f"is one more row of {table} than max_rows ({self._material.max_rows})")

    def whole(self) -> Printed:
        """Return all that was printed. Raises ``MaterialError`` where it is not known to be all."""
        printed = Printed({name: sorted(rows) for name, rows in self._rows.items()})
        if self._said is None:
            raise self._wrong("is the last, and not the mark of the end")
        if self._said != printed.count:
            raise self._wrong(f"counts {self._said} rows as the mark of the end, and {printed.count} were printed")
        return printed

    def _object(self, line: bytes) -> dict[str, Any]:
        try:
            said = exact.value(line.decode())
        except UnicodeDecodeError as error:
            raise self._wrong(f"is not UTF-8 at byte {error.start + 1}") from None
        except json.JSONDecodeError as error:
            raise self._wrong(f"is not JSON at column {error.colno}: {error.msg}") from None
        except ValueError as error:
            raise self._wrong(f"is not taken: {error}") from None
        if not isinstance(said, dict):
            raise self._wrong(f"is {exact.shown(said)}, which is no JSON object")
        return said

    def _mark(self, said: dict[str, Any]) -> int:
        count = said.get("count")
        if said.get("drysweep") != "end" or set(said) != {"drysweep", "count"} or type(count) is not int or count < 0:
            raise self._wrong(f"is {exact.shown(said)}, which is no mark of the end")
        return count

    def _wrong(self, what: str) -> MaterialError:
        said = f"line {self._number} {what}" if self._number else "printed nothing, not even the mark of the end"
        return MaterialError(f"{self._material.argv[0]}: {said}", key="material.argv", help=_HELP)


def _iso(as_of: datetime) -> str:
    return f"{as_of.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"

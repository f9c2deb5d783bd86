"""Planting rows: those that a sweep declares for the tables of its material, of the types that those tables have."""

import hashlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from drysweep_pipeline.declaration.model import Canaries
from drysweep_pipeline.errors import MaterialError
from drysweep_pipeline.material.snapshot import Snapshot

PLACE = "place"


def write_rows(declared: Canaries, original: Snapshot, planted: Path) -> None:
    """Write the declared rows of each table into a folder, each with the number of the row that it comes before.

    Raises ``MaterialError`` where a table is not in the snapshot, or a row cannot be one of it.
    """
    there = dict(original.tables)
    for name, rows in declared.rows.items():
        if name not in there:
            raise _refused(name, "is not in the snapshot", f"there is {', '.join(there)}" if there else None)
        table = _typed(name, [dict(row) for row in rows], pq.read_schema(original.folder / f"{name}.parquet"))
        places = pa.array([_place(row, there[name]) for row in rows], pa.int64())
        pq.write_table(table.append_column(PLACE, places), planted / f"{name}.parquet")


def _typed(name: str, rows: list[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    """Return rows with the columns of a table; what they do not say is null."""
    unknown = sorted({column for row in rows for column in row} - set(schema.names))
    if unknown:
        raise _refused(name, f"has no column {unknown[0]!r}", f"it has {', '.join(schema.names)}")
    columns = []
    for field in schema:
        values = [row.get(field.name) for row in rows]
        if pa.types.is_string(field.type) and not all(isinstance(value, str | None) for value in values):
            # Arrow would write it as text, and what is expected of it then, a number, be found by nobody.
            raise _refused(name, f"takes no such value as {field.name!r}: it is text", "put it in quotes")
        try:
            columns.append(pa.array(values).cast(field.type))
        except (pa.ArrowException, TypeError) as error:
            raise _refused(name, f"takes no such value as {field.name!r}: {error}", f"it is {field.type}") from None
    return pa.table(columns, schema=pa.schema([(field.name, field.type) for field in schema]))


def _place(row: dict[str, Any], rows: int) -> int:
    """Return a place among so many rows, always the same one for the same row."""
    return int(hashlib.sha256(repr(sorted(row.items())).encode()).hexdigest()[:8], 16) % (rows + 1)


def _refused(table: str, what: str, help: str | None) -> MaterialError:
    return MaterialError(f"the table {table} {what}", key=f"canaries.rows.{table}", help=help)

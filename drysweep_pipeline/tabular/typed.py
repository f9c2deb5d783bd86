"""Columns of values that know their own types: which type holds all of them, and the table that they make.

A number stays a number only where none of them is rounded for it. What differs in kind is text: texts as they are, all
else as JSON writes it.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from drysweep_pipeline.tabular.names import checked
from drysweep_pipeline.tabular.wanted import Unread

Row: TypeAlias = Mapping[str, Any]
_BATCH_ROWS = 20_000
_INT64 = range(-(1 << 63), 1 << 63)
_EXACT = range(-(1 << 53), (1 << 53) + 1)


def write(rows: Callable[[], Iterable[Row]], known: Iterable[str], path: Path) -> None:
    """Write rows, which can be asked for twice, as a Parquet file; ``known`` names columns that are there anyway.

    Raises ``Unread`` where there is no column.
    """
    kinds: dict[str, set[str]] = {name: set() for name in known}
    for row in rows():
        for name, value in row.items():
            kinds.setdefault(name, set()).add(_kind(value))
    if not kinds:
        raise Unread("holds no row, so that its columns are not known; declare columns")
    checked(list(kinds))
    types = {name: _type(name, seen - {"null"}) for name, seen in kinds.items()}
    schema = pa.schema(list(types.items()))
    with pq.ParquetWriter(path, schema, compression="zstd", write_page_checksum=True) as writer:
        for batch in _batches(rows(), types):
            writer.write_table(pa.Table.from_pydict(batch, schema=schema))


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int" if value in _EXACT else "wide" if value in _INT64 else "huge"
    return {float: "float", str: "text", bytes: "bytes"}.get(type(value), "nested")


def _type(name: str, kinds: set[str]) -> pa.DataType:
    if "bytes" in kinds and len(kinds) > 1:
        raise Unread(f"the column {name!r} holds both bytes and {', '.join(sorted(kinds - {'bytes'}))}")
    for allowed, kind in (
        ({"bool"}, pa.bool_()),
        ({"int", "wide"}, pa.int64()),
        ({"int", "float"}, pa.float64()),
        ({"bytes"}, pa.binary()),
    ):
        if kinds and kinds <= allowed:
            return kind
    return pa.string()


def _batches(rows: Iterable[Row], types: Mapping[str, pa.DataType]) -> Iterator[dict[str, list[Any]]]:
    coming = iter(rows)
    while some := list(islice(coming, _BATCH_ROWS)):
        yield {name: [_fit(row.get(name), kind) for row in some] for name, kind in types.items()}


def _fit(value: Any, kind: pa.DataType) -> Any:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False) if pa.types.is_string(kind) else value

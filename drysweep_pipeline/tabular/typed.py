"""Columns of values that know their own types: each holds values of one kind, or it is declared what it is.

So a value's type is the value's own, whatever else is in its column: neither are ``1`` and ``"1"`` taken for one, nor
is every ``8080`` another one for the first ``0.5`` below it.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from drysweep_pipeline import exact
from drysweep_pipeline.tabular.names import checked
from drysweep_pipeline.tabular.wanted import Unread

Row: TypeAlias = Mapping[str, Any]
Rows: TypeAlias = Callable[[], Iterable[Row]]
_BATCH_ROWS = 20_000
_INT64 = range(-(1 << 63), 1 << 63)
_KINDS = {
    "bool": ("true or false", pa.bool_()),
    "int": ("whole numbers", pa.int64()),
    "huge": ("whole numbers of more than 64 bits", None),
    "float": ("numbers with a point or an exponent", pa.float64()),
    "text": ("text", pa.string()),
    "nested": ("lists or objects", pa.string()),
    "bytes": ("bytes", pa.binary()),
}
_NUMBERS_AS = {"DOUBLE": pa.float64(), "BIGINT": pa.int64()}


def write(rows: Rows, columns: Mapping[str, str | None], path: Path) -> None:
    """Write rows, which can be asked for twice, as a Parquet file; ``columns``: those that are there anyway.

    Text is written as it is, and all else in a column of text as JSON. Raises ``Unread`` where there is no column, or
    one holds values of several kinds and is not declared, or two values would become one.
    """
    first = _first_of_each_kind(rows(), columns)
    checked(list(first))
    types = {name: _type(name, kinds, columns.get(name)) for name, kinds in first.items()}
    mixed = [name for name, kinds in first.items() if types[name] == pa.string() and "text" in kinds and len(kinds) > 1]
    _check_apart(rows, mixed)
    schema = pa.schema(list(types.items()))
    with pq.ParquetWriter(path, schema, compression="zstd", write_page_checksum=True) as writer:
        for batch in _batches(rows(), types):
            writer.write_table(pa.Table.from_pydict(batch, schema=schema))


def _first_of_each_kind(rows: Iterable[Row], columns: Iterable[str]) -> dict[str, dict[str, int]]:
    """Return the columns, and for each kind of value in them the number of the first row that has it."""
    first: dict[str, dict[str, int]] = {name: {} for name in columns}
    for number, row in enumerate(rows, 1):
        for name, value in row.items():
            kinds = first.setdefault(name, {})
            if value is not None:
                kinds.setdefault(_kind(value), number)
    if not first:
        raise Unread("holds no row, so that its columns are not known; declare columns")
    return first


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int" if value in _INT64 else "huge"
    return {float: "float", str: "text", bytes: "bytes"}.get(type(value), "nested")


def _type(name: str, kinds: Mapping[str, int], declared: str | None) -> pa.DataType:
    if declared in _NUMBERS_AS and len(kinds) > 1 and kinds.keys() <= {"int", "huge", "float"}:
        return _NUMBERS_AS[declared]
    if (len(kinds) > 1 and ("bytes" in kinds or declared is None)) or ("huge" in kinds and declared is None):
        held = " and ".join(f"{_KINDS[kind][0]} (row {row})" for kind, row in kinds.items())
        advice = "DOUBLE" if kinds.keys() == {"int", "float"} else "VARCHAR"
        raise Unread(f"the column {name!r} holds {held}; columns says what it is, {advice} for instance")
    if len(kinds) != 1 or (declared == "VARCHAR" and "bytes" not in kinds):
        return pa.string()
    return _KINDS[next(iter(kinds))][1] or pa.string()


def _check_apart(rows: Rows, names: list[str]) -> None:
    """Raise ``Unread`` where a text is what another value of its column is written as."""
    if not names:
        return
    written: dict[str, set[str]] = {name: set() for name in names}
    for row in rows():
        for name in names:
            if not isinstance(value := row.get(name), str | None):
                written[name].add(_json(value))
    for number, row in enumerate(rows(), 1):
        for name in names:
            if isinstance(value := row.get(name), str) and value in written[name]:
                text = exact.written(value)
                raise Unread(f"row {number}: {name} is the text ", text, ", which in another row is no text")


def _batches(rows: Iterable[Row], types: Mapping[str, pa.DataType]) -> Iterator[dict[str, list[Any]]]:
    coming = enumerate(rows, 1)
    while some := list(islice(coming, _BATCH_ROWS)):
        yield {name: [_fit(row.get(name), kind, name, at) for at, row in some] for name, kind in types.items()}


def _fit(value: Any, kind: pa.DataType, name: str, row: int) -> Any:
    if value is None or isinstance(value, str):
        return value
    if kind == pa.string():
        return _json(value)
    if kind == pa.float64() and isinstance(value, int):
        return _same(float, value, name, row, "DOUBLE")
    return _same(int, value, name, row, "BIGINT") if kind == pa.int64() else value


def _same(as_type: type[int] | type[float], value: float, name: str, row: int, kind: str) -> float:
    try:
        number = as_type(value)
    except OverflowError:
        number = None
    if number != value or (as_type is int and number not in _INT64):
        raise Unread(f"row {row}: {name} is ", exact.written(value), f", which is no {kind}")
    return number


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)

"""The rows of a query as people and programs take them: a table, CSV, JSON, JSON lines or Parquet."""

import json
import os
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from drysweep_pipeline.cli.output import PROSE, finite, note, put, put_json, put_table, table_width
from drysweep_pipeline.errors import Refused
from drysweep_pipeline.reports.text import safe_text
from drysweep_pipeline.wording import count

# From so many rows on, a table says how many they are: counting them by eye is over.
_MANY = 20
_KINDS = {
    "view": "views, as in: drysweep sql 'from findings'",
    "macro": "macros, as in: drysweep sql \"from findings_as_of('2026-01-31')\"",
    "query": "named queries, as in: drysweep sql fresh_per_round",
}
_SECONDS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Result:
    """The rows of a query, their values as JSON has them, beside what they were read as."""

    table: pa.Table
    columns: list[str]
    rows: list[list[Any]]
    about: dict[str, Any]
    """What else is to be told of them in JSON: the named query and its parameters."""

    @property
    def as_json(self) -> dict[str, Any]:
        """Return them as one JSON object."""
        return {"schema_version": 1, **self.about, "columns": self.columns, "rows": self.rows}


def result(table: pa.Table, about: dict[str, Any] | None = None) -> Result:
    """Return the rows of a table, whatever its columns are called. Raises ``Refused`` for what Python cannot hold."""
    try:
        columns = [[_plain(value) for value in column.to_pylist()] for column in table.columns]
    except (ArithmeticError, ValueError, TypeError) as error:
        raise Refused(f"a value cannot be shown: {error}", help="cast it to varchar in the query") from None
    return Result(table, table.column_names, [list(row) for row in zip(*columns, strict=True)], about or {})


def print_table(found: Result) -> None:
    """Print rows for people: numbers to the right, a dash where there is nothing, and how many where they are many."""
    right = frozenset(i for i, field in enumerate(found.table.schema) if _is_number(field.type))
    put_table(found.columns, [[_shown(value) for value in row] for row in found.rows], right=right)
    if not found.rows or len(found.rows) >= _MANY:
        note(count(len(found.rows), "row"))


def print_list(listed: list[dict[str, str]]) -> None:
    """Print what there is to ask, a name and what it holds, kind by kind."""
    # A macro's text begins with how it is called, which says more than its name.
    named = [(each, *_called(each["name"], each["what it holds"])) for each in listed]
    left = max(len(name) for _, name, _ in named) + 4
    kind = ""
    for each, name, meaning in named:
        if each["kind"] != kind:
            kind = each["kind"]
            if each is not listed[0]:
                put("")
            put(_KINDS[kind])
        lines = textwrap.wrap(meaning, max(min(table_width(), PROSE) - left, 40), break_on_hyphens=False)
        put(f"  {name:<{left - 4}}  {lines[0]}")
        for line in lines[1:]:
            put(" " * left + line)


def _called(name: str, meaning: str) -> tuple[str, str]:
    call, colon, rest = meaning.partition(": ")
    return (call, rest) if colon and call.startswith(f"{name}(") else (name, meaning)


def to_csv(found: Result, out: IO[bytes], *, raw: bool = False) -> None:
    """Write a head and a line a row; what a spreadsheet would compute is kept from it, unless ``raw``."""
    from drysweep_pipeline.cli.delimited import line

    seen = safe_text if out.isatty() else str
    for row in (found.columns, *found.rows):
        values = [seen(value) if isinstance(value, str) else value for value in row]
        out.write(line(values, raw=raw).encode())


def to_jsonl(found: Result, out: IO[bytes]) -> None:
    """Write a JSON object a row."""
    for row in found.rows:
        said = finite(dict(zip(found.columns, row, strict=True)))
        out.write(json.dumps(said, ensure_ascii=False, default=str, allow_nan=False).encode() + b"\n")


def to_json(found: Result, out: IO[bytes]) -> None:
    """Write one JSON object."""
    out.write(json.dumps(finite(found.as_json), ensure_ascii=False, default=str, allow_nan=False).encode() + b"\n")


def to_parquet(found: Result, out: IO[bytes]) -> None:
    """Write Parquet with the types of the query, times in UTC; spans of time, for which it has no type, as text.

    Raises ``Refused`` on a terminal, and for a column that Parquet cannot hold.
    """
    import pyarrow.parquet as pq

    if out.isatty():
        raise Refused("Parquet is nothing to look at", key="format", help="give --output FILE, or a pipe")
    buffer = pa.BufferOutputStream()
    try:
        pq.write_table(_storable(found), buffer, compression="zstd")
    except (pa.ArrowException, ValueError) as error:
        what = f"Parquet cannot hold a column: {error}"
        raise Refused(what, help="cast it to varchar in the query") from None
    out.write(buffer.getvalue())


Write = Callable[[Result, IO[bytes]], None]
WRITERS: dict[str, Write] = {"csv": to_csv, "json": to_json, "jsonl": to_jsonl, "parquet": to_parquet}
FORMATS = ("table", *WRITERS)


def put_result(found: Result, format: str, *, raw: bool) -> None:
    """Print rows on stdout in one of ``FORMATS``."""
    if format == "table":
        print_table(found)
    elif format == "json":
        put_json(found.as_json)
    else:
        sys.stdout.flush()
        _writer(format, raw)(found, sys.stdout.buffer)
        sys.stdout.buffer.flush()


def keep_result(found: Result, format: str, path: Path, *, raw: bool) -> None:
    """Write rows to a file in one of ``WRITERS``, whole or not at all. Raises ``Refused`` where nothing can go."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as out:
            _writer(format, raw)(found, out)
        part.replace(path)
    except OSError as error:
        what, help = f"cannot be written: {error.strerror}", "name a file that can be written"
        raise Refused(what, file=path, help=help) from None
    finally:
        part.unlink(missing_ok=True)


def _writer(format: str, raw: bool) -> Write:
    return partial(to_csv, raw=raw) if format == "csv" else WRITERS[format]


def _storable(found: Result) -> pa.Table:
    """Return the table with what Parquet has no type for as text."""
    table = found.table
    for index, field in enumerate(table.schema):
        if field.type == pa.month_day_nano_interval():
            texts = pa.array([row[index] for row in found.rows], pa.string())
            table = table.set_column(index, field.name, texts)
    return table


def _is_number(type: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type) or pa.types.is_floating(type) or pa.types.is_decimal(type))


def _plain(value: Any) -> Any:
    """Return a value as JSON has it; what JSON has no word for becomes text."""
    if isinstance(value, list | tuple) and not isinstance(value, pa.MonthDayNano):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, pa.MonthDayNano):
        return _span(value)
    if isinstance(value, Decimal):
        # Sums of whole numbers come as these.
        return int(value) if value == value.to_integral_value() and value.as_tuple().exponent == 0 else float(value)
    if isinstance(value, bytes):
        return value.hex()
    return value.isoformat() if hasattr(value, "isoformat") else value


def _span(span: Any) -> str:
    """Return a span of time in words, and what is less than a day as a clock shows it."""
    words = [count(number, noun) for number, noun in ((span.months, "month"), (span.days, "day")) if number]
    if span.nanoseconds or not words:
        seconds, rest = divmod(abs(span.nanoseconds), _SECONDS)
        sign = "-" if span.nanoseconds < 0 else ""
        part = f".{rest // 1000:06d}" if rest else ""
        words.append(f"{sign}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{part}")
    return " ".join(words)


def _shown(value: Any) -> str:
    """Return a value for people to read: a fraction to four places, what is nested as JSON."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return _rounded(value)
    if isinstance(value, bool | list | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def _rounded(value: float) -> str:
    short = f"{value:.4f}".rstrip("0")
    # What four places would make nothing of is something all the same.
    return f"{value:.3g}" if value and not float(short) else short + "0" * short.endswith(".")

"""Delimited text: a header, then rows of as many fields, or it is not read at all; and what its columns hold.

The standard library reads it, because DuckDB's reader may end without a word at a quote that is never closed. Types are
found from all rows: whole numbers, numbers, true and false, dates, times. A column is numbers only where no two texts
of it would become the same number, so that neither ``007`` and ``7`` nor the versions ``1.1`` and ``1.10`` are one.
"""

import csv
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from drysweep_pipeline.tabular.names import checked, quoted
from drysweep_pipeline.tabular.wanted import Unread, Wanted

_FIELD_CHARACTERS = 16 << 20
_BATCH_ROWS = 20_000
_WHOLE = "regexp_full_match({c}, '0|-?[1-9][0-9]*') and try_cast({c} as bigint) is not null"
# Digits alone are exact up to 2^53 only; an exponent without a sign or a point is rather a part of a hash.
_NUMBER = r"""
    regexp_full_match({c}, '-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-][0-9]+)?') and isfinite(try_cast({c} as double))
    and (contains({c}, '.') or contains(lower({c}), 'e') or abs(try_cast({c} as double)) <= 9007199254740992)
"""
_DATE = "regexp_full_match({c}, '[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}') and try_cast({c} as date) is not null"
_TIME = r"""
    regexp_full_match({c}, '[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[T ][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}(\.[0-9]{{1,6}})?)?'
        || '(Z|[+-][0-9]{{2}}(:?[0-9]{{2}})?)?')
    and try_cast({c} as timestamptz) is not null
"""
_KINDS = (
    ("BIGINT", f"bool_and({_WHOLE})"),
    ("DOUBLE", f"bool_and({_NUMBER}) and count(distinct {{c}}) = count(distinct try_cast({{c}} as double))"),
    ("BOOLEAN", "bool_and(lower({c}) in ('true', 'false'))"),
    ("DATE", f"bool_and({_DATE})"),
    ("TIMESTAMPTZ", f"bool_and({_TIME})"),
)


def write(wanted: Wanted, path: Path) -> None:
    """Write the rows of delimited files as a Parquet file, all of it text; a field with nothing in it is null.

    Raises ``Unread``, with the line, and where the files have no header or not the same one.
    """
    csv.field_size_limit(_FIELD_CHARACTERS)
    names = checked(next(_records(wanted.files[0], wanted.delimiter), (0, []))[1])
    schema = pa.schema([(name, pa.string()) for name in names])
    rows = (row for file in wanted.files for row in _rows(file, wanted.delimiter, names))
    with pq.ParquetWriter(path, schema, compression="zstd", write_page_checksum=True) as writer:
        while some := list(islice(rows, _BATCH_ROWS)):
            columns = [pa.array(column, pa.string()) for column in zip(*some, strict=True)]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))


def types(connection: duckdb.DuckDBPyConnection, sql: str, names: Iterable[str]) -> dict[str, str]:
    """Return the types that columns of text hold, of those that hold more than text."""
    asked = list(names)
    if not asked:
        return {}
    tests = [f"coalesce({test.format(c=quoted(name))}, false)" for name in asked for _, test in _KINDS]
    # Nothing but nulls would be any type, and is text.
    filled = [f"count({quoted(name)}) > 0" for name in asked]
    answers = connection.execute(f"select {', '.join(filled + tests)} from {sql}").fetchall()[0]
    found = {}
    for index, name in enumerate(asked):
        said = answers[len(asked) + index * len(_KINDS) :][: len(_KINDS)]
        holds = [kind for (kind, _), yes in zip(_KINDS, said, strict=True) if yes]
        if answers[index] and holds:
            found[name] = holds[0]
    return found


def _rows(file: Path, delimiter: str, names: list[str]) -> Iterator[list[str | None]]:
    records = _records(file, delimiter)
    header = next(records, (0, []))[1]
    if header != names:
        raise Unread(f"its files have different columns: {', '.join(names)}; others: {', '.join(header) or 'none'}")
    for line, fields in records:
        if len(fields) != len(names):
            raise Unread(f"line {line}: {len(fields)} fields, and the header has {len(names)}")
        yield [field or None for field in fields]


def _records(file: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the records of a file with the lines that they end on; an empty line is none."""
    with file.open(encoding="utf-8-sig", newline="") as stream:
        reader = csv.reader(stream, delimiter=delimiter, strict=True)
        try:
            for fields in reader:
                if fields:
                    yield reader.line_num, fields
        except UnicodeDecodeError:
            raise Unread(f"not UTF-8, after line {reader.line_num}") from None
        except csv.Error as error:
            raise Unread(f"line {reader.line_num}: {error}") from None

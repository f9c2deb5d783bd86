"""Delimited text: a header, then rows of as many fields, or it is not read at all; all of it is text.

The standard library reads it, because DuckDB's reader may end without a word at a quote that is never closed. No types
are guessed: a guess makes the versions ``1.1`` and ``1.10`` one number, or, with one odd value more, makes every port
``8080`` another one than it was.
"""

import csv
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from drysweep_pipeline.tabular.names import checked
from drysweep_pipeline.tabular.wanted import Unread, Wanted

_FIELD_CHARACTERS = 16 << 20
_BATCH_ROWS = 20_000


def write(wanted: Wanted, path: Path) -> None:
    """Write the rows of delimited files as a Parquet file, all of it text; a field with nothing in it is null.

    Raises ``Unread``, with the line, and where the files have no header or not the same one.
    """
    csv.field_size_limit(_FIELD_CHARACTERS)
    names = checked(_header(_records(wanted.files[0], wanted.delimiter)))
    schema = pa.schema([(name, pa.string()) for name in names])
    rows = (row for file in wanted.files for row in _rows(file, wanted.delimiter, names))
    with pq.ParquetWriter(path, schema, compression="zstd", write_page_checksum=True) as writer:
        while some := list(islice(rows, _BATCH_ROWS)):
            columns = [pa.array(column, pa.string()) for column in zip(*some, strict=True)]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))


def _rows(file: Path, delimiter: str, names: list[str]) -> Iterator[list[str | None]]:
    records = _records(file, delimiter)
    header = _header(records)
    if header != names:
        raise Unread(f"its files have different columns: {', '.join(names)}; others: {', '.join(header) or 'none'}")
    for line, fields in records:
        if not fields:
            if len(names) == 1:
                yield [None]  # the only way to write a row of one field with nothing in it
            continue
        if len(fields) != len(names):
            raise Unread(f"line {line}: {len(fields)} fields, and the header has {len(names)}")
        yield [field or None for field in fields]


def _header(records: Iterator[tuple[int, list[str]]]) -> list[str]:
    return next((fields for _, fields in records if fields), [])


def _records(file: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the records of a file with the lines that they end on; an empty line has no fields."""
    with file.open(encoding="utf-8-sig", newline="") as stream:
        reader = csv.reader(stream, delimiter=delimiter, strict=True)
        try:
            for fields in reader:
                yield reader.line_num, fields
        except UnicodeDecodeError:
            raise Unread(f"not UTF-8, after line {reader.line_num}") from None
        except csv.Error as error:
            raise Unread(f"line {reader.line_num}: {error}") from None

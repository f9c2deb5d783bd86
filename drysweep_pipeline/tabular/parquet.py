"""Parquet files that others wrote, read page by page with their checksums, and written anew as one of ours."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from drysweep_pipeline.tabular.names import checked
from drysweep_pipeline.tabular.wanted import Unread, Wanted

_BATCH_ROWS = 8_192
_DIGITS = 38


def write(wanted: Wanted, path: Path) -> None:
    """Write the rows of Parquet files as one. Raises ``Unread`` where they differ in schema or are too large."""
    files = [_opened(file) for file in wanted.files]
    schema = files[0].schema_arrow.remove_metadata()
    checked(schema.names)
    other = next((each.schema_arrow for each in files if not each.schema_arrow.equals(schema)), None)
    if other is not None:
        raise Unread(f"its files have different columns: {_shown(schema)}; others: {_shown(other)}")
    _check_size(files, wanted)
    with pq.ParquetWriter(path, _plain(schema), compression="zstd", write_page_checksum=True) as writer:
        for batch in _batches(files, wanted.max_rows):
            writer.write_table(pa.Table.from_batches([batch]).cast(_plain(schema)))


def _opened(file: Path) -> pq.ParquetFile:
    return pq.ParquetFile(file, page_checksum_verification=True, memory_map=False)


def _check_size(files: list[pq.ParquetFile], wanted: Wanted) -> None:
    """Refuse what the files say they hold where that is too much already; what they do hold is counted as it comes."""
    rows = sum(each.metadata.num_rows for each in files)
    if rows > wanted.max_rows:
        raise Unread(f"{rows} rows, more than max_rows ({wanted.max_rows})")
    unpacked = sum(each.metadata.row_group(n).total_byte_size for each in files for n in range(each.num_row_groups))
    if unpacked > wanted.max_bytes:
        raise Unread(f"{unpacked} bytes unpacked, more than max_bytes ({wanted.max_bytes})")


def _batches(files: list[pq.ParquetFile], max_rows: int) -> Iterator[pa.RecordBatch]:
    for file in files:
        count = 0
        for batch in file.iter_batches(_BATCH_ROWS, use_threads=False):
            count += batch.num_rows
            yield batch
        if count != file.metadata.num_rows:
            raise Unread(f"says that it holds {file.metadata.num_rows} rows, and holds {count}")


def _plain(schema: pa.Schema) -> pa.Schema:
    """Return a schema without the encodings that only say how values are kept."""
    return pa.schema([(field.name, _decoded(field.type)) for field in schema])


def _decoded(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return _decoded(kind.value_type)
    if pa.types.is_large_string(kind):
        return pa.string()
    if pa.types.is_decimal256(kind):
        # DuckDB would round it to a DOUBLE.
        return pa.decimal128(kind.precision, kind.scale) if kind.precision <= _DIGITS else pa.string()
    if _holds_wide_decimals(kind):
        raise Unread(f"a list or object holds decimals of more than {_DIGITS} digits: {kind}")
    return pa.string() if pa.types.is_null(kind) else kind


def _holds_wide_decimals(kind: pa.DataType) -> bool:
    inner = [kind.field(index).type for index in range(kind.num_fields)]
    return any(pa.types.is_decimal256(each) or _holds_wide_decimals(each) for each in inner)


def _shown(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)

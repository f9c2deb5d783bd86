"""One table from the files that hold it, as a Parquet file with the types that were declared or that values have."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from drysweep_pipeline.spelling import identifier, literal
from drysweep_pipeline.tabular import databases, delimited, fitting, lines, parquet
from drysweep_pipeline.tabular.names import checked
from drysweep_pipeline.tabular.wanted import Unread, Wanted
from drysweep_pipeline.wording import first_line

_BATCH_ROWS = 50_000
_WRITERS = {
    "csv": delimited.write,
    "tsv": delimited.write,
    "json": lines.write,
    "jsonl": lines.write,
    "parquet": parquet.write,
    "database": databases.write_sqlite,
}


def write(wanted: Wanted, path: Path, scratch: Path) -> int:
    """Write a table as a Parquet file and return its rows. Raises ``Unread``."""
    try:
        with _relation(wanted, scratch) as (connection, sql):
            return _written(connection, sql, wanted, path)
    except duckdb.OutOfMemoryException:
        raise  # says something of the machine, and not of the file
    except duckdb.Error as error:
        raise Unread(first_line(error)) from None
    except pa.ArrowMemoryError:
        raise
    except (pa.ArrowException, OSError) as error:
        # With a number it is the system that complains, of a full disk for instance; without one, Arrow of the file.
        if getattr(error, "errno", None) is not None:
            raise
        raise Unread(first_line(error)) from None


@contextmanager
def _relation(wanted: Wanted, scratch: Path) -> Iterator[tuple[duckdb.DuckDBPyConnection, str]]:
    """Yield a connection, and SQL for the rows on it."""
    if wanted.format == "database":
        if len(wanted.files) > 1:
            raise Unread("a table of a database is in one file")
        if not databases.is_sqlite(wanted.files[0]):
            connection, sql = databases.duckdb_table(wanted)
            with connection:
                yield connection, sql
            return
    raw = scratch / f"{wanted.name}.raw"
    _WRITERS[wanted.format](wanted, raw)
    path = literal(str(raw))
    sql = f"read_parquet({path}, hive_partitioning = false)"
    with _locked(scratch) as connection:
        yield connection, sql
    raw.unlink()


@contextmanager
def _locked(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection that reads files in one folder only, with no network and no extension."""
    config: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
        "memory_limit": "2GB",
        "temp_directory": "",
        "threads": 2,
    }
    with duckdb.connect(config=config) as connection:
        connection.execute("set global TimeZone = 'UTC'")
        connection.execute(f"set allowed_directories = [{literal(f'{folder}/')}]")
        connection.execute("set enable_external_access = false")
        connection.execute("set lock_configuration = true")
        yield connection


def _written(connection: duckdb.DuckDBPyConnection, sql: str, wanted: Wanted, path: Path) -> int:
    described = connection.execute(f"describe select * from {sql}").fetchall()
    given = {name: kind for name, kind, *_ in described}
    checked(list(given))
    missing = [name for name in wanted.columns if name not in given]
    if missing:
        raise Unread(f"no column {missing[0]!r}: there is {', '.join(given)}")
    for name, kind in given.items():
        fitting.check(connection, sql, name, kind, wanted.columns.get(name))
    chosen = ", ".join(
        f"{fitting.cast(identifier(name), kind, wanted.columns.get(name))} as {identifier(name)}"
        for name, kind in given.items()
    )
    reader = connection.sql(f"select {chosen} from {sql}").to_arrow_reader(_BATCH_ROWS)
    return _copied(reader, wanted, path)


def _copied(reader: pa.RecordBatchReader, wanted: Wanted, path: Path) -> int:
    rows, unpacked = 0, 0
    with pq.ParquetWriter(path, reader.schema, compression="zstd", write_page_checksum=True) as writer:
        for batch in reader:
            rows, unpacked = rows + batch.num_rows, unpacked + batch.nbytes
            if rows > wanted.max_rows:
                raise Unread(f"more than max_rows ({wanted.max_rows}) rows")
            if unpacked > 4 * wanted.max_bytes:
                raise Unread(f"more than {4 * wanted.max_bytes} bytes in memory, four times max_bytes")
            writer.write_batch(batch)
    return rows

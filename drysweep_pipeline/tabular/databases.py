"""Tables in database files, told apart by how the files begin: SQLite's through the standard library, and DuckDB's."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb

from drysweep_pipeline.sandbox import LOCKED
from drysweep_pipeline.spelling import identifier
from drysweep_pipeline.tabular import typed
from drysweep_pipeline.tabular.names import checked
from drysweep_pipeline.tabular.wanted import Unread, Wanted

_SQLITE = b"SQLite format 3\0"


def is_sqlite(file: Path) -> bool:
    """Tell which of the two a database is. Raises ``Unread`` where it is neither."""
    with file.open("rb") as stream:
        begin = stream.read(16)
    if begin == _SQLITE:
        return True
    if begin[8:12] == b"DUCK":
        return False
    raise Unread("is neither a SQLite nor a DuckDB database")


def write_sqlite(wanted: Wanted, path: Path) -> None:
    """Write a table of a SQLite database as a Parquet file. Raises ``Unread``."""
    [file] = wanted.files
    # Immutable: no lock is taken and no journal looked for; the file is a copy.
    connection = sqlite3.connect(f"{file.as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        connection.execute("pragma trusted_schema = off")
        connection.execute("pragma query_only = on")
        _check_there(wanted.table, [name for (name,) in connection.execute(_SQLITE_TABLES)])
        # The name is one of those that the database has, and quoted.
        asked = f"select * from {identifier(str(wanted.table))}"
        names = checked([column[0] for column in connection.execute(asked).description])
        typed.write(lambda: _sqlite_rows(connection, asked, names), {**dict.fromkeys(names), **wanted.columns}, path)
    except (sqlite3.Error, OverflowError) as error:
        raise Unread(f"SQLite: {error}") from None
    finally:
        connection.close()


_SQLITE_TABLES = "select name from sqlite_master where type in ('table', 'view') order by name"


def _sqlite_rows(connection: sqlite3.Connection, asked: str, names: list[str]) -> Iterator[dict[str, Any]]:
    for row in connection.execute(asked):
        yield dict(zip(names, row, strict=True))


def duckdb_table(wanted: Wanted) -> tuple[duckdb.DuckDBPyConnection, str]:
    """Return a locked connection to a DuckDB database, and SQL for the table. Raises ``Unread``."""
    [file] = wanted.files
    connection = duckdb.connect(str(file), read_only=True, config=LOCKED)
    connection.execute("set global TimeZone = 'UTC'")
    connection.execute("set lock_configuration = true")
    tables = connection.execute(
        "select table_name from information_schema.tables where table_schema = 'main' order by 1"
    ).fetchall()
    _check_there(wanted.table, [name for (name,) in tables])
    return connection, f"main.{identifier(str(wanted.table))}"


def _check_there(table: str | None, tables: list[str]) -> None:
    if table not in tables:
        raise Unread(f"there is no table {table!r}: there is {', '.join(tables) or 'none'}")

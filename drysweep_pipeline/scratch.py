"""A DuckDB that holds nothing, for working on files: its engines start once a process, its connections are cheap.

Starting an engine takes some thirty milliseconds of processor time, a connection to a running one next to none, and
a round needs a dozen. Temporary tables and registered ones are seen by their own connection only.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import duckdb


@contextmanager
def scratch(*, threads: int | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a connection of its own to an empty database in memory; ``threads`` are DuckDB's, by default one a core."""
    connection = _engine(threads, os.getpid()).cursor()
    try:
        yield connection
    finally:
        connection.close()


@cache
def _engine(threads: int | None, process: int) -> duckdb.DuckDBPyConnection:
    # By process, because an engine's threads do not live on in a forked child.
    connection = duckdb.connect(config={} if threads is None else {"threads": threads})
    # What an instant looks like as text is part of identities, and those do not depend on where a machine stands.
    connection.execute("set global TimeZone = 'UTC'")
    return connection

"""Whether SQL fits the tables it will be run over, tried on empty ones: unknown tables and columns, and what it gives.

No material is opened. That a text is one SELECT that may be run at all is ``sandbox``'s business and comes first.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import duckdb
import pyarrow as pa

from drysweep_pipeline.errors import Refused
from drysweep_pipeline.sandbox import LOCKED
from drysweep_pipeline.wording import first_line


@contextmanager
def empty(tables: Mapping[str, pa.Schema]) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a locked connection to empty tables of these names and schemas."""
    with duckdb.connect(config=LOCKED) as connection:
        for name, schema in tables.items():
            connection.register("given", schema.empty_table())
            # Names come from our own constants.
            connection.execute(f"create table {name} as select * from given")
            connection.unregister("given")
        connection.execute("set lock_configuration = true")
        yield connection


def columns(connection: duckdb.DuckDBPyConnection, sql: str, parameters: Mapping[str, Any]) -> list[str]:
    """Return the names of the columns that a query gives. Raises ``Refused`` where it does not fit the tables."""
    try:
        described = connection.execute(f"describe {sql}", dict(parameters) or None).fetchall()
    except duckdb.Error as error:
        raise Refused(f"does not fit the tables: {first_line(error)}") from None
    return [name for name, *_ in described]

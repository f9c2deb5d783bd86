"""``drysweep sql``: a read-only query over the published history."""

import sys
from typing import Annotated, Any

import typer

from drysweep_pipeline.cli.options import HomeOption, JsonOption, home_of

_WHAT_THERE_IS = """
    select view_name as name, comment from duckdb_views() where not internal and schema_name = 'main'
    union all
    select function_name, comment from duckdb_functions() where not internal and schema_name = 'main'
    order by name
"""


def sql(
    query: Annotated[str | None, typer.Argument(metavar="[QUERY]", help="One SELECT; - reads it from stdin.")] = None,
    seconds: Annotated[float, typer.Option(help="Give up after so many seconds.")] = 30,
    max_rows: Annotated[int, typer.Option(help="Refuse results longer than this.")] = 10_000,
    home: HomeOption = None,
    json: JsonOption = False,
) -> int:
    """Query the history in SQL; without a query, list its views."""
    from drysweep_pipeline.cli.output import put_json, put_table
    from drysweep_pipeline.history import reading

    place = home_of(home)
    if query is None:
        with reading.history(place) as connection:
            rows = connection.execute(_WHAT_THERE_IS).fetchall()
        columns, listed = ["name", "what it holds"], [list(row) for row in rows]
    else:
        text = sys.stdin.read() if query == "-" else query
        table = reading.query(place, text, seconds=seconds, max_rows=max_rows)
        columns = table.column_names
        listed = _rows(table)
    if json:
        put_json({"schema_version": 1, "columns": columns, "rows": listed})
    else:
        put_table(columns, listed)
    return 0


def _rows(table: Any) -> list[list[Any]]:
    """Return the rows of a table, whatever its columns are called. Raises ``Refused`` for what Python cannot hold."""
    from drysweep_pipeline.errors import Refused

    try:
        columns = [[_plain(value) for value in column.to_pylist()] for column in table.columns]
    except (ArithmeticError, ValueError, TypeError) as error:
        raise Refused(f"a value cannot be shown: {error}", help="cast it to varchar in the query") from None
    return [list(row) for row in zip(*columns, strict=True)]


def _plain(value: Any) -> Any:
    return value.isoformat() if hasattr(value, "isoformat") else value

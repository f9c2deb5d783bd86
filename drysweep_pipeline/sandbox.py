"""Running SQL that we did not write: one SELECT, on a read-only locked connection, with a deadline and a row cap.

DuckDB's own lock (no external access, configuration locked) is the wall; refusing by name what would read files,
settings or catalogues comes before it, so that the person who wrote the query is told what is wrong. Both are defence
in depth, not a sandbox for hostile users: treat SQL as code.
"""

import json
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any, Self

import duckdb
import pyarrow as pa

from drysweep_pipeline.errors import FinderError, IntegrityError, Refused
from drysweep_pipeline.scratch import scratch
from drysweep_pipeline.wording import first_line

LOCKED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "memory_limit": "2GB",
    "temp_directory": "",
}
# Functions that would tell about files, settings, or run text as SQL and so pass this check by.
_FORBIDDEN = re.compile(
    r"(duckdb_|pragma_|read_|parquet_|sniff_|json_execute|json_serialize_plan|sql_auto).*"
    r"|current_setting|getenv|glob|query|query_table|which_secret|write_log|(.*_)?scan(_.*)?"
)
# Of the functions that give tables, those that DuckDB brings along and that read nothing but their arguments. Each
# version brings more that do, so the others are refused without being known by name; a file's own macros are not.
_TABLES_OF_ARGUMENTS = frozenset(
    ("unnest", "range", "generate_series", "repeat", "repeat_row", "json_each", "json_tree", "summary")
)
# Tables that tell about settings and catalogues, beside the views that DuckDB brings along.
_TELLING = re.compile(r"(duckdb|pragma)_.*|sqlite_(temp_)?(master|schema)|pg_catalog\..*")
_VIEWS = "select view_name from duckdb_views() where internal and schema_name <> 'information_schema'"
_TABLE_FUNCTIONS = """
    select function_name
    from duckdb_functions()
    where internal and function_type in ('table', 'table_macro', 'pragma')
"""
# The query that an engine shows under its error, with a mark below what it means.
_PICTURE = re.compile(r"\n\nLINE \d+: [^\n]*\n *\^*\s*\Z")
_NO_TABLE = re.compile(r"Table with name \S+ does not exist")
_UNREAD = "select file || ': ' || reason from unreadable order by 1 limit 3"
_HELP = "a query reads the tables it is given, no more"
# How soon what runs on is interrupted again.
_AGAIN_SECONDS = 0.05
# How long is waited for what is to end: single steps of an engine end when they do.
_GRACE_SECONDS = 2.0


@contextmanager
def locked(database: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a read-only connection to a DuckDB file that reaches nothing but that file's tables."""
    try:
        connection = duckdb.connect(str(database), read_only=True, config=LOCKED)
    except duckdb.Error as error:
        raise IntegrityError(f"cannot be opened: {first_line(error)}", file=database) from None
    try:
        _lock(connection)
        yield connection
    finally:
        connection.close()


def _lock(connection: duckdb.DuckDBPyConnection) -> None:
    """Lock the configuration; connections to one file share it, so another thread may have done so already."""
    try:
        connection.execute("set global TimeZone = 'UTC'")
        connection.execute("set lock_configuration = true")
    except duckdb.InvalidInputException as error:
        if "locked" not in str(error):
            raise


# What DuckDB knows as volatile or as the same within one query only, and people search with.
_UNSTEADY = frozenset(
    (
        *("random", "setseed", "uuid", "uuidv4", "uuidv7", "gen_random_uuid", "nextval", "currval"),
        *("now", "today", "current_date", "current_time", "current_timestamp", "current_localtime"),
        *("current_localtimestamp", "localtime", "localtimestamp", "get_current_time", "get_current_timestamp"),
        *("transaction_timestamp", "age"),
    )
)


@cache
def check_query(sql: str) -> frozenset[str]:
    """Return the names of a query's parameters. Raises ``Refused`` unless it is one SELECT that reads tables only."""
    try:
        statements = duckdb.extract_statements(sql)
    except duckdb.Error as error:
        help = "a column that is called like a word of SQL stands in double quotes"
        raise Refused(f"not SQL: {first_line(error)}", help=help) from None
    if len(statements) != 1:
        raise Refused(f"{len(statements)} statements", help="write exactly one SELECT")
    if statements[0].type != duckdb.StatementType.SELECT:
        raise Refused(f"{statements[0].type.name} is refused", help="only a SELECT is allowed")
    _check_names(_tree(sql))
    return frozenset(statements[0].named_parameters)


@cache
def unsteady(sql: str) -> frozenset[str]:
    """Return what in a query may give other rows over the same tables: chance, the clock, a sample, or a limit."""
    nodes = list(_walk(_tree(sql)))
    names = {str(node.get("function_name", "")).lower() for node in nodes}
    names |= {str(name).lower() for node in nodes for name in node.get("column_names", []) if node.get("column_names")}
    found = {name for name in names if name in _UNSTEADY}
    found |= {"sample" for node in nodes if node.get("sample")}
    return frozenset(found | {"limit" for node in nodes if str(node.get("type", "")).startswith("LIMIT")})


class Running:
    """What a connection works on; from its deadline on, or once it is killed, it is interrupted until it has ended.

    Once would not do: DuckDB forgets an interruption that comes before a query, or between two steps of one.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, seconds: float) -> None:
        self._connection, self._seconds = connection, seconds
        self._killed, self._over = threading.Event(), threading.Event()
        self._watch = threading.Thread(target=self._interrupt, name="deadline", daemon=True)
        self.late = False

    def __enter__(self) -> Self:
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._killed.set()
        self._watch.join()

    def kill(self) -> None:
        """End it, from any thread."""
        self._killed.set()

    def _interrupt(self) -> None:
        self.late = not self._killed.wait(self._seconds)
        while not self._over.is_set():
            self._connection.interrupt()
            self._over.wait(_AGAIN_SECONDS)


def run(
    connection: duckdb.DuckDBPyConnection,
    sql: str,
    parameters: dict[str, Any],
    *,
    seconds: float,
    max_rows: int,
    holding: Callable[[Running], AbstractContextManager[object]] = nullcontext,
) -> pa.Table:
    """Return a query's rows as an Arrow table; ``holding`` is given what runs, for as long as it may be killed.

    Raises ``FinderError`` at the deadline, over the cap, or on an error.
    """
    running = Running(connection, seconds)

    def rows() -> pa.Table:
        with running, holding(running):
            return _read(connection.sql(sql, params=parameters or None), max_rows)

    try:
        return _beside_the_main_thread(rows, running)
    except duckdb.Error as error:
        if running.late:
            raise FinderError(f"timeout: still running after {seconds:g} s", status="timeout") from None
        raise FinderError(_reason(error), help=_not_read(connection, error) or _suggested(error)) from None


def _beside_the_main_thread(rows: Callable[[], pa.Table], running: Running) -> pa.Table:
    """Read the rows in a thread that no signal reaches, and end that where the main thread is interrupted meanwhile.

    DuckDB looks for signals in the main thread only, and then waits for workers of its own that may know of none.
    """
    if threading.current_thread() is not threading.main_thread():
        return rows()
    came: Future[pa.Table] = Future()
    threading.Thread(target=_settle, args=(came, rows), name="query", daemon=True).start()
    try:
        return came.result()
    except BaseException:
        running.kill()
        wait([came], _GRACE_SECONDS)
        raise


def _settle(came: Future[pa.Table], rows: Callable[[], pa.Table]) -> None:
    try:
        came.set_result(rows())
    except BaseException as error:
        came.set_exception(error)


def _read(relation: duckdb.DuckDBPyRelation | None, max_rows: int) -> pa.Table:
    assert relation is not None, "a SELECT always gives a relation"
    table = relation.limit(max_rows + 1).to_arrow_table()
    if table.num_rows > max_rows:
        raise FinderError(f"truncated: more than {max_rows} rows", status="truncated", help="raise max_rows")
    return table


def _reason(error: duckdb.Error) -> str:
    """Return on one line why a query failed: what is wrong with a value stands after it, whatever lines it has."""
    if not isinstance(error, duckdb.ConversionException | duckdb.InvalidInputException):
        return first_line(error)
    lines = _PICTURE.sub("", str(error)).strip().splitlines()
    # Lines are left out whole, never cut: what is to be masked in one would not be known by a part of it.
    return f"{lines[0]} … {lines[-1].strip()}" if len(lines) > 1 else first_line(error)


def _not_read(connection: duckdb.DuckDBPyConnection, error: Exception) -> str | None:
    """Return what could not be read, where a query wants a table that is not there; None where that is not why."""
    if not _NO_TABLE.search(first_line(error)):
        return None
    try:
        unread = connection.execute(_UNREAD).fetchall()
    except duckdb.Error:
        return None
    return f"not read: {'; '.join(row for (row,) in unread)}" if unread else None


def _suggested(error: Exception) -> str | None:
    """Return the names that an engine offers for one it does not know, or None."""
    lines = str(error).splitlines()[1:]
    return next((line.strip() for line in lines if line.startswith(("Did you mean", "Candidate bindings"))), None)


def _tree(sql: str) -> Any:
    """Return the syntax tree of a SELECT, DuckDB's own. Raises ``Refused`` where it gives none."""
    with scratch() as connection:
        text = connection.execute("select json_serialize_sql(cast(? as varchar))", [sql]).fetchall()[0][0]
    tree = json.loads(text)
    if tree.get("error"):
        raise Refused(f"not SQL that can be checked: {tree.get('error_message', 'unknown error')}")
    return tree


def _check_names(tree: Any) -> None:
    """Raise ``Refused`` where a query calls a function or reads a table that tells what is none of its business."""
    nodes = list(_walk(tree))
    functions = {node["function_name"].lower() for node in nodes if isinstance(node.get("function_name"), str)}
    for name in sorted(functions):
        if _FORBIDDEN.fullmatch(name):
            raise Refused(f"the function {name} is not allowed", help=_HELP)
    given = {str(node["function"].get("function_name", "")).lower() for node in nodes if _gives_a_table(node)}
    for name in sorted(given - _TABLES_OF_ARGUMENTS):
        if name in _brought_along(_TABLE_FUNCTIONS):
            raise Refused(f"the function {name} is not allowed", help=_HELP)
    # What SHOW and DESCRIBE are asked about is not read, but it is not to be told either.
    tables = {_table(node) for node in nodes if node.get("type") in ("BASE_TABLE", "SHOW_REF")}
    for schema, name in sorted(tables):
        if name in _brought_along(_VIEWS) or any(map(_TELLING.fullmatch, (name, f"{schema}.{name}"))):
            raise Refused(f"the table {name} is not allowed", help=_HELP)


def _gives_a_table(node: dict[str, Any]) -> bool:
    return node.get("type") == "TABLE_FUNCTION" and isinstance(node.get("function"), dict)


def _table(node: dict[str, Any]) -> tuple[str, str]:
    return str(node.get("schema_name", "")).lower(), str(node.get("table_name", "")).lower()


@cache
def _brought_along(asking: str) -> frozenset[str]:
    """Return the names that a question to an empty DuckDB gives: what every one has."""
    with scratch() as connection:
        return frozenset(name.lower() for (name,) in connection.execute(asking).fetchall())


def _walk(node: Any) -> Iterator[dict[str, Any]]:
    """Yield every node of a syntax tree that has names."""
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from _walk(value)
    elif isinstance(node, list):
        for value in node:
            yield from _walk(value)

"""Reading the history: a locked connection that reaches nothing but the published file, and one query with limits."""

import difflib
import re
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import pyarrow as pa

from drysweep_pipeline import sandbox
from drysweep_pipeline.errors import FinderError, IntegrityError, NotFound, Refused
from drysweep_pipeline.history.edition import bring_up, has_views_of_this_version
from drysweep_pipeline.home import Home
from drysweep_pipeline.temporary import temporary_folder
from drysweep_pipeline.wording import first_line

Row: TypeAlias = dict[str, Any]
"""A row of an answer, by the names of its columns."""
SECONDS = 30.0
MAX_ROWS = 10_000
# How long a query that was interrupted may take to notice; some single steps of an engine never look.
_GRACE_SECONDS = 2.0
_HELP = {
    "truncated": "--max-rows N allows more, a limit in the query asks for less",
    "timeout": "--seconds N waits longer",
    "memory": "ask for less: fewer rows, shorter texts",
}
# These ask about the history's own shape; they name a view, or nothing.
_ABOUT = re.compile(
    r"\s*((?:describe|desc|show|summarize)\s+(?:table\s+)?(?:main\.)?\"?[a-z_]+\"?|show\s+(?:all\s+)?tables|show)"
    r"\s*;?\s*",
    re.IGNORECASE,
)
_UNKNOWN = re.compile(r'^Catalog Error: Table(?: Function)? with name "?([^\s"]+)"? does not exist')
_NAMES = """
    select view_name from duckdb_views() where not internal and schema_name = 'main'
    union
    select function_name from duckdb_functions() where not internal and schema_name = 'main'
"""


@contextmanager
def history(home: Home) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a read-only connection to the published history, as it is now, whatever is published meanwhile.

    One with the views of another version is looked at through those of this one, in a copy. Raises ``NotFound`` where
    nothing was published yet, ``IntegrityError`` where it cannot be read.
    """
    with ExitStack() as stack:
        connection = stack.enter_context(as_published(home))
        yield connection if has_views_of_this_version(connection) else _brought_up(home.history, stack)


@contextmanager
def as_published(home: Home) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a read-only connection to the published history with the views that it has. Raises as ``history`` does."""
    if not home.history.exists():
        raise _none(home)
    with ExitStack() as stack:
        yield _opened(home.history, stack)


def _brought_up(file: Path, stack: ExitStack) -> duckdb.DuckDBPyConnection:
    folder = stack.enter_context(temporary_folder())
    copy = shutil.copyfile(file, folder / file.name)
    try:
        bring_up(copy)
    except duckdb.Error as error:
        raise IntegrityError(f"the history cannot be read: {first_line(error)}", file=file) from None
    return stack.enter_context(sandbox.locked(copy))


def _none(home: Home) -> NotFound:
    """Return that there is no history, and what makes it again where there is something to publish."""
    error = NotFound("history", str(home.history))
    if landed := [name for name in home.sweeps() if (home.sweep(name).root / "landing").is_dir()]:
        error.help = f"`drysweep rebuild {landed[0]}` publishes it anew" + (
            ", and so each other sweep" * (len(landed) > 1)
        )
    return error


def _opened(file: Path, stack: ExitStack) -> duckdb.DuckDBPyConnection:
    try:
        return stack.enter_context(sandbox.locked(file))
    except IntegrityError as error:
        if "could not set lock" not in error.what.lower():
            raise
    # Many programs open what they only read for writing, and so lock others out. What was published can be copied.
    folder = stack.enter_context(temporary_folder())
    copy = shutil.copyfile(file, folder / file.name)
    return stack.enter_context(sandbox.locked(copy))


def query(
    home: Home,
    sql: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    seconds: float = SECONDS,
    max_rows: int = MAX_ROWS,
) -> pa.Table:
    """Return the rows of one SELECT, DESCRIBE or SHOW over the history; ``parameters`` are bound to its ``$names``.

    Raises ``Refused`` where it is anything else, is wrong, takes longer than ``seconds`` or gives more than
    ``max_rows`` rows.
    """
    about = _ABOUT.fullmatch(sql)
    # As a table, because older DuckDBs take these for statements of their own.
    wanted = sandbox.check_query(f"from ({about[1]})" if about else sql)
    given = dict(parameters or {})
    for name in sorted(wanted - given.keys()):
        raise Refused(f"the query has no value for ${name}", help=f"-p {name}=VALUE gives it one")
    for name in sorted(given.keys() - wanted):
        raise Refused(f"the query has no ${name}", help=f"it has {_listed(wanted)}" if wanted else "it has none")
    return _Asked(home, sql, given, seconds, max_rows).answer()


class _Asked(threading.Thread):
    """A query that is asked beside the thread that waits for it.

    Only so do a deadline and Ctrl-C hold for the single steps of an engine that nothing interrupts; a query that does
    not end is left behind, and ends with the process.
    """

    def __init__(self, home: Home, sql: str, given: dict[str, Any], seconds: float, max_rows: int) -> None:
        super().__init__(name="query", daemon=True)
        self._home, self._sql, self._given = home, sql, given
        self._seconds, self._max_rows = seconds, max_rows
        self._running: sandbox.Running | None = None
        self._table: pa.Table | None = None
        self._error: BaseException | None = None

    def answer(self) -> pa.Table:
        """Return the rows. Raises ``Refused``, or what the query was interrupted by."""
        self.start()
        try:
            self.join(self._seconds + _GRACE_SECONDS)
        except BaseException:
            if self._running is not None:
                self._running.kill()
            raise
        if self.is_alive():
            raise Refused(f"timeout: still running after {self._seconds:g} s", help=_HELP["timeout"])
        if self._error is not None:
            raise self._error
        return self._table

    def run(self) -> None:
        """Ask the query and keep what comes of it."""
        try:
            self._table = self._read()
        except BaseException as error:
            self._error = error

    def _read(self) -> pa.Table:
        with history(self._home) as connection:
            try:
                return sandbox.run(
                    connection,
                    self._sql,
                    self._given,
                    seconds=self._seconds,
                    max_rows=self._max_rows,
                    holding=self._held,
                )
            except FinderError as error:
                status = "memory" if "Out of Memory" in error.what else error.status
                help = _HELP.get(status) or _nearest(connection, error.what) or error.help
                raise Refused(error.what, help=help) from None
            except MemoryError:
                what = "the query needs more memory than it may have"
                raise Refused(what, help=_HELP["memory"]) from None

    @contextmanager
    def _held(self, running: sandbox.Running) -> Iterator[None]:
        self._running = running
        yield


def rows(connection: duckdb.DuckDBPyConnection, sql: str, parameters: list[Any] | dict[str, Any]) -> list[Row]:
    """Return the rows of a query as dictionaries; times are aware and UTC."""
    cursor = connection.execute(sql, parameters)
    names = [column[0] for column in cursor.description or []]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _nearest(connection: duckdb.DuckDBPyConnection, complaint: str) -> str | None:
    """Return which view or macro may have been meant, where a query names one that is not there."""
    unknown = _UNKNOWN.search(complaint)
    if unknown is None:
        return None
    names = [name for (name,) in connection.execute(_NAMES).fetchall()]
    close = difflib.get_close_matches(unknown[1].lower(), names, 1)
    return f"did you mean {close[0]}?" if close else "`drysweep sql` alone says what there is"


def _listed(names: frozenset[str]) -> str:
    return ", ".join(f"${name}" for name in sorted(names))

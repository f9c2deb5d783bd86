"""Reading the history: a locked connection that reaches nothing but the published file, and one query with limits."""

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from drysweep_pipeline import sandbox
from drysweep_pipeline.errors import FinderError, IntegrityError, NotFound, Refused
from drysweep_pipeline.home import Home

SECONDS = 30.0
MAX_ROWS = 10_000
_HELP = {
    "truncated": "--max-rows N allows more, a limit in the query asks for less",
    "timeout": "--seconds N waits longer",
}
# These ask about the history's own shape; they name a view, or nothing, and so cannot reach further.
_ABOUT = re.compile(
    r"\s*((describe|desc|show|summarize)\s+(table\s+)?(main\.)?\"?[a-z_]+\"?|show\s+(all\s+)?tables|show)\s*;?\s*",
    re.IGNORECASE,
)


@contextmanager
def history(home: Home) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yield a read-only connection to the published history. Raises ``NotFound`` where nothing was published yet."""
    if not home.history.exists():
        raise NotFound("history", str(home.history))
    with ExitStack() as stack:
        yield _opened(home.history, stack)


def _opened(file: Path, stack: ExitStack) -> duckdb.DuckDBPyConnection:
    try:
        return stack.enter_context(sandbox.locked(file))
    except IntegrityError as error:
        if "lock" not in error.what:
            raise
    # Many programs open what they only read for writing, and so lock others out. What was published can be copied.
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="drysweep-history-"))
    copy = shutil.copyfile(file, Path(folder) / file.name)
    return stack.enter_context(sandbox.locked(copy))


def query(home: Home, sql: str, *, seconds: float = SECONDS, max_rows: int = MAX_ROWS) -> pa.Table:
    """Return the rows of one SELECT, DESCRIBE or SHOW over the history.

    Raises ``Refused`` where it is anything else, is wrong, takes longer than ``seconds`` or gives more than
    ``max_rows`` rows.
    """
    if not _ABOUT.fullmatch(sql):
        sandbox.check_query(sql)
    with history(home) as connection:
        try:
            return sandbox.run(connection, sql, {}, seconds=seconds, max_rows=max_rows)
        except FinderError as error:
            raise Refused(error.what, help=_HELP.get(error.status, error.help)) from None


def rows(
    connection: duckdb.DuckDBPyConnection, sql: str, parameters: list[Any] | dict[str, Any]
) -> list[dict[str, Any]]:
    """Return the rows of a query as dictionaries; times are aware and UTC."""
    cursor = connection.execute(sql, parameters)
    names = [column[0] for column in cursor.description or []]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

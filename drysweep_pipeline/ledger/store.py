"""Opening the ledger: one writer at a time, waited for within bounds, and named when it does not let go."""

import errno
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
import filelock

from drysweep_pipeline import system
from drysweep_pipeline.durable import make_private
from drysweep_pipeline.errors import Busy, IntegrityError
from drysweep_pipeline.ledger.schema import migrate
from drysweep_pipeline.retrying import retry_context
from drysweep_pipeline.wording import first_line

# 1.5 and 2.0 both open files of this version; either may be installed.
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "storage_compatibility_version": "v1.5.0",
    "preserve_insertion_order": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
# How DuckDB says of a file that it is not what it wrote: after such an error it often takes nothing more either.
_DAMAGED = re.compile(
    r"corrupt|checksum|could not read|not enough bytes|deserializ|not a valid DuckDB|has been invalidated|"
    r"INTERNAL Error",
    re.IGNORECASE,
)
_TABLES = """
    select table_name, string_agg('"' || column_name || '"', ', ' order by column_index)
    from duckdb_columns()
    where not internal and table_name in (select table_name from duckdb_tables())
    group by table_name
"""
_READ = "select sum(cast(hash(said) as hugeint)) from (select {columns} from {table}) as said"


@dataclass(frozen=True, slots=True)
class Ledger:
    """An open ledger; ``connection`` is for the modules of this package."""

    path: Path
    connection: duckdb.DuckDBPyConnection

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Do all of a block or nothing of it."""
        self.connection.begin()
        try:
            yield
        except BaseException:
            self.connection.rollback()
            raise
        self.connection.commit()


@contextmanager
def open_ledger(path: Path, *, wait_seconds: float = 60) -> Iterator[Ledger]:
    """Yield the ledger for writing, a new one where there is none and nothing was decided yet.

    Raises ``Busy``, naming who holds it, after ``wait_seconds``, ``IntegrityError`` where it is gone or unreadable.
    """
    with locked(path, wait_seconds=wait_seconds):
        _check_there(path)
        with opened(path, wait_seconds=wait_seconds) as ledger:
            yield ledger


@contextmanager
def locked(path: Path, *, wait_seconds: float = 60) -> Iterator[None]:
    """Keep everybody else from the ledger at ``path``. Raises ``Busy`` where somebody has it for ``wait_seconds``."""
    make_private(path.parent)
    # DuckDB's lock keeps processes apart; this one also keeps the threads of one process apart.
    lock = filelock.FileLock(path.with_suffix(".lock"), timeout=wait_seconds)
    try:
        lock.acquire()
    except filelock.Timeout:
        raise Busy(f"the ledger is being written since {wait_seconds:g} s", file=path, help="try again later") from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def locked_to_look(path: Path) -> Iterator[None]:
    """Keep everybody else from the ledger as ``locked``, but where nothing can be written: nobody could."""
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(path))
        except OSError as error:
            if error.errno not in (errno.EROFS, errno.EACCES):
                raise
        yield


@contextmanager
def opened(path: Path, *, wait_seconds: float = 60) -> Iterator[Ledger]:
    """Yield the ledger for writing, to who holds its lock or has it alone; what a dead process left is folded in.

    Raises ``Busy`` where another program holds the file, ``SystemRefusal`` where the disk has no room or may not be
    written, ``IntegrityError`` where it cannot be opened, or where what is done with it comes upon a part that cannot
    be read.
    """
    connection = _connect(path, wait_seconds)
    try:
        connection.execute("set TimeZone = 'UTC'")
        connection.execute("set enable_progress_bar = false")
        migrate(connection, str(path))
        yield Ledger(path, connection)
    except duckdb.Error as error:
        # A disk without room invalidates an open database, and leaves the file what it was.
        if (refused := system.refusal(error)) is not None:
            raise refused from error
        if not _DAMAGED.search(str(error)):
            raise
        raise _unreadable(path, f"the ledger cannot be read: {first_line(error)}") from None
    finally:
        connection.close()


def check_readable(ledger: Ledger) -> None:
    """Read all tables of a ledger, their columns once through. Raises ``IntegrityError`` where that cannot be done."""
    tables = ledger.connection.execute(_TABLES).fetchall()
    for table, columns in tables:
        ledger.connection.execute(_READ.format(table=table, columns=columns)).fetchall()


def is_sound(path: Path) -> bool:
    """Tell whether the ledger at ``path``, whose lock is held, is there and can be opened; it is one whole file then.

    Raises ``Busy`` where another program holds it.
    """
    try:
        if path.exists():
            with opened(path):
                return True
    except (IntegrityError, duckdb.Error):
        pass
    return False


def _connect(path: Path, wait_seconds: float) -> duckdb.DuckDBPyConnection:
    """Open the file, waiting for a foreign reader to let go. Raises ``Busy`` or ``IntegrityError``."""
    try:
        for attempt in retry_context(
            on=_held_elsewhere, attempts=None, timeout=wait_seconds, wait_initial=0.05, wait_max=2.0
        ):
            with attempt:
                return duckdb.connect(str(path), config=_CONFIG)
    except duckdb.Error as error:
        if _held_elsewhere(error):
            raise Busy(
                f"another program holds the ledger: {first_line(error)}",
                file=path,
                help="close it there; to query, use `drysweep sql`, which reads the published history",
            ) from None
        if (refused := system.refusal(error)) is not None:
            raise refused from error
        raise _unreadable(path, f"the ledger cannot be opened: {first_line(error)}") from None
    raise AssertionError("unreachable: the retry returns or raises")


def _check_there(path: Path) -> None:
    """Raise ``IntegrityError`` where a ledger is gone, or emptied, that rounds were taken into."""
    # DuckDB would make a new one of either, to which everything that was ever seen is new.
    gone = not path.exists()
    if (gone or not path.stat().st_size) and any((path.parent / "landing").glob("*/r*/decision.json")):
        raise _unreadable(path, "the ledger is gone" if gone else "the ledger is empty")


def rebuild_it(path: Path) -> str:
    """Return what helps where the ledger at ``path`` is not what it was."""
    return f"`drysweep rebuild {path.parent.name}` makes it anew from what was landed"


def _unreadable(path: Path, what: str) -> IntegrityError:
    return IntegrityError(what, file=path, help=rebuild_it(path))


def _held_elsewhere(error: Exception) -> bool:
    return isinstance(error, duckdb.IOException) and "lock" in str(error).lower()

"""What the operating system refuses: no room, a read-only disk, no permission, too many open files. No fault of ours.

It comes as many kinds of errors: Python's, those of DuckDB and of SQLite, and what wraps them. Nothing that was
landed is lost by any of them, and whoever goes on later goes on from there.
"""

import errno
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from drysweep_pipeline.errors import SystemRefusal

_NO_ROOM = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
_HELP = {
    errno.EROFS: "it has to be writable for this",
    errno.EACCES: "the user of this process needs the permission",
    errno.EPERM: "the user of this process needs the permission",
    errno.EMFILE: "`ulimit -n` sets how many one process may open; `drysweep doctor` says how many are enough",
    errno.ENFILE: "the whole machine has too many open",
    errno.EIO: "look after the disk: `dmesg` says more",
}
_KNOWN = (*_NO_ROOM, *_HELP)
# SQLite has words of its own, and says the same of an open file too many as of a folder that is none.
_SQLITE = {
    "database or disk is full": errno.ENOSPC,
    "attempt to write a readonly database": errno.EROFS,
    "disk I/O error": errno.EIO,
    "unable to open database file": errno.EMFILE,
}
_ENGINES = ("duckdb", "_duckdb", "sqlite3", "pyarrow")
_PATH = re.compile(r'"(/[^"]+)"')


def refusal(error: BaseException) -> SystemRefusal | None:
    """Return what the operating system refused, where an error, or one that led to it, is that; None where none is."""
    for each in _led_to(error):
        number = _number(each)
        if number is not None:
            return _refused(number, _file(each))
    return None


def _led_to(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and those that it comes from, the outermost first."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _number(error: BaseException) -> int | None:
    """Return which refusal of the system an error is; None where it is none."""
    if isinstance(error, OSError) and error.errno in _KNOWN:
        return error.errno
    engine = type(error).__module__.partition(".")[0]
    if not isinstance(error, OSError) and engine not in _ENGINES:
        return None
    said = str(error)
    if engine == "sqlite3" and (number := _SQLITE.get(said)) is not None:
        return number
    return next((number for number in _KNOWN if os.strerror(number) in said), None)


def _file(error: BaseException) -> str | None:
    named = getattr(error, "filename", None) or next(iter(_PATH.findall(str(error))), None)
    return os.fsdecode(named) if isinstance(named, str | bytes) else None


def _refused(number: int, file: str | None) -> SystemRefusal:
    if number in _NO_ROOM:
        return SystemRefusal(os.strerror(number), file=file, help=_room(file))
    return SystemRefusal(os.strerror(number), file=file, help=_HELP[number])


def _room(file: str | None) -> str:
    """Say how much room there is where a file was to be written, and that it is safe to go on."""
    again = "make room and do it again; what was landed is kept, and a campaign goes on from its last whole step"
    try:
        nearest = next(folder for folder in Path(file or "").parents if folder.is_dir()) if file else None
        free = shutil.disk_usage(nearest).free if nearest is not None else None
    except OSError:
        free = None
    return again if free is None else f"{free >> 20} MB are free there: {again}"

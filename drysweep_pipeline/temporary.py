"""Temporary folders that a killed process does not leave for ever: the next one that makes such a folder removes them.

They may hold a copy of the material, or of the history. Each is locked while it is used, and a lock goes with its
process; one that nobody holds was left behind.
"""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

PREFIX = "drysweep."
"""How the names of all temporary folders begin; earlier versions did not lock theirs."""
_HELD = f"{PREFIX}held."
# Whoever makes a folder has locked it long before that.
_YOUNG_SECONDS = 60.0


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yield an empty private folder that is gone afterwards."""
    _clear_once(tempfile.gettempdir(), os.getpid())
    with tempfile.TemporaryDirectory(prefix=_HELD, ignore_cleanup_errors=True) as folder:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            # Where there are no such locks, nobody takes the lack of one for a sign of death either.
            with suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield Path(folder)
        finally:
            os.close(handle)


@cache
def _clear_once(place: str, process: int) -> None:
    """Remove what dead processes left at a place; once a process, since it takes a look at all that is there."""
    for folder in Path(place).glob(f"{_HELD}*"):
        with suppress(OSError):
            if _is_old_and_ours(folder.lstat()):
                _remove_unless_held(folder)


def _is_old_and_ours(found: os.stat_result) -> bool:
    return found.st_uid == os.getuid() and time.time() - found.st_ctime > _YOUNG_SECONDS


def _remove_unless_held(folder: Path) -> None:
    """Remove a folder that no process has locked. Raises ``OSError`` where one has, or where it is a link."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Copies of the material may only be read, and what is in such a folder cannot be removed.
        for inside, _, _ in os.walk(folder):
            Path(inside).chmod(0o700)
        shutil.rmtree(folder)
    finally:
        os.close(handle)

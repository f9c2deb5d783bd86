"""Files that are either whole or absent: written beside their place, fsynced, then renamed over it."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import filelock

from drysweep_pipeline.errors import Busy, IntegrityError


def make_private(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for its user alone; what is there stays as it is."""
    # One by one, since the mode of a call that makes several is that of the last of them only.
    for each in reversed([folder, *folder.parents]):
        if not each.is_dir():
            each.mkdir(mode=0o700, exist_ok=True)


def write_whole(path: Path, write: Callable[[Path], None]) -> None:
    """Have ``write`` fill a temporary file, and put it at ``path`` in one step; a crash leaves the old file or none."""
    make_private(path.parent)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        write(part)
        _sync(part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    _sync(path.parent)


@contextmanager
def only_one(path: Path, refusal: str) -> Iterator[None]:
    """Do a block in one process at a time. Raises ``Busy`` with ``refusal`` where a living one is in it."""
    make_private(path.parent)
    try:
        with filelock.FileLock(path, timeout=0):
            yield
    except filelock.Timeout:
        raise Busy(refusal, help="wait for it") from None


def write_json(path: Path, data: Any) -> None:
    """Put ``data`` at ``path`` as JSON, whole or not at all."""
    text = json.dumps(data, ensure_ascii=False, indent=1, allow_nan=False)
    write_text(path, text + "\n")


def write_text(path: Path, text: str) -> None:
    """Put a text at ``path``, whole or not at all."""
    write_whole(path, lambda part: _put(part, text))


def read_json(path: Path) -> Any:
    """Return what is at ``path``. Raises ``IntegrityError`` where it is not JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise IntegrityError(f"not readable as JSON: {error}", file=path) from None


def _put(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

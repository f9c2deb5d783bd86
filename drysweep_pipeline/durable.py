"""Files that are either whole or absent: written beside their place, fsynced, then renamed over it.

JSON carries a seal as its last key, the SHA-256 of all bytes before it: what was changed since by whatever it was, a
disk or an editor, is not read.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from drysweep_pipeline.errors import Busy, IntegrityError

SEAL = "seal"


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
        sync(part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    sync(path.parent)


@contextmanager
def only_one(path: Path, refusal: str) -> Iterator[None]:
    """Do a block in one process at a time. Raises ``Busy`` with ``refusal`` where a living one is in it."""
    # It brings asyncio along, which most that is done with files can do without.
    import filelock

    make_private(path.parent)
    try:
        with filelock.FileLock(path, timeout=0):
            yield
    except filelock.Timeout:
        raise Busy(refusal, help="wait for it") from None


def write_json(path: Path, data: dict[str, Any]) -> None:
    """Put ``data``, which is not empty, at ``path`` as JSON with its seal, whole or not at all."""
    text = json.dumps(data, ensure_ascii=False, indent=1, allow_nan=False)
    # Surrogates are no text in UTF-8; those that there are fail here, before anything is written.
    write_bytes(path, seal(text.removesuffix("\n}").encode()))


def write_text(path: Path, text: str) -> None:
    """Put a text at ``path``, whole or not at all."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes) -> None:
    """Put bytes at ``path``, whole or not at all."""
    write_whole(path, lambda part: _fill(part, data))


def read_json(path: Path, *, check: bool = True) -> Any:
    """Return what is at ``path``, without its seal.

    Raises ``IntegrityError`` where it is not JSON, or, with ``check``, not what was sealed; what has no seal is taken
    as it is.
    """
    raw = path.read_bytes()
    try:
        data = json.loads(raw)
    except ValueError as error:
        raise IntegrityError(f"not readable as JSON: {error}", file=path) from None
    if isinstance(data, dict) and data.pop(SEAL, None) is not None and check and not is_sealed(raw):
        raise IntegrityError("corrupt_artifact: it is not what was written", file=path, help="restore it from a copy")
    return data


def seal(body: bytes) -> bytes:
    """Return the bytes of a JSON object, given without its closing brace, with the seal as its last key."""
    return body + f',\n "{SEAL}": "{hashlib.sha256(body).hexdigest()}"\n}}\n'.encode()


def is_sealed(raw: bytes) -> bool:
    """Tell whether the bytes of a JSON file end in a seal, and are what was sealed."""
    body, found, _ = raw.rpartition(f',\n "{SEAL}": "'.encode())
    return bool(found) and seal(body) == raw


def _fill(part: Path, data: bytes) -> None:
    part.write_bytes(data)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hex."""
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def sync(path: Path) -> None:
    """Have the disk hold what was written to a file or folder."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

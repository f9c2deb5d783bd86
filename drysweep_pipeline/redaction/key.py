"""The key under which secrets are marked: made once for a home, read by its user alone."""

import os
import secrets
import threading
from pathlib import Path

from drysweep_pipeline.errors import IntegrityError

_BYTES = 32


def key_at(path: Path) -> bytes:
    """Return the key that lies at a path, made where there is none; of several processes that make one, one does.

    Raises ``IntegrityError`` where what lies there is no key.
    """
    if not path.exists():
        _make(path)
    key = path.read_bytes()
    if len(key) != _BYTES:
        raise IntegrityError(
            f"not a key of {_BYTES} bytes: secrets cannot be marked",
            file=path,
            help="restore it from a copy; under another key, findings that hold a secret come back as new",
        )
    return key


def _make(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    part = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.part")
    try:
        handle = os.open(part, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        try:
            os.write(handle, secrets.token_bytes(_BYTES))
            os.fsync(handle)
        finally:
            os.close(handle)
        # Unlike a rename, a link never takes the place of a key that another process made meanwhile.
        os.link(part, path)
    except FileExistsError:
        pass
    finally:
        part.unlink(missing_ok=True)

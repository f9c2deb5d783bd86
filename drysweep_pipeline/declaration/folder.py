"""The digest of a folder that a declaration brings along: of its paths and contents, never of times or owners."""

import hashlib
import json
import os
import stat
from pathlib import Path


def folder_digest(folder: Path) -> str:
    """Return the SHA-256, in hex, of a folder's files, by path and content.

    Raises ``ValueError`` for a folder without a file and for what is no regular file, ``OSError`` where one cannot be
    read.
    """
    found = []
    for at, folders, names in os.walk(folder, onerror=_raise):
        for name in (*names, *(each for each in folders if Path(at, each).is_symlink())):
            path = Path(at, name)
            shown = path.relative_to(folder).as_posix()
            if not stat.S_ISREG(path.lstat().st_mode):
                raise ValueError(f"{shown} is no regular file")
            found.append((shown, hashlib.sha256(path.read_bytes()).hexdigest()))
    if not found:
        raise ValueError("it holds no file")
    return hashlib.sha256(json.dumps(sorted(found)).encode()).hexdigest()


def _raise(error: OSError) -> None:
    raise error

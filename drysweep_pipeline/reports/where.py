"""Where a finding is, for whoever opens the file: as seen from the top of the checkout, else of the material."""

import re
from pathlib import PurePosixPath

from drysweep_pipeline.reports.contents import Contents

LAST_LINE = 2**31 - 1
_DRIVE = re.compile(r"[A-Za-z]:[\\/]|\\\\")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def file_of(said: Contents, path: str | None) -> str | None:
    """Return a finding's path from the top; None where it names no file of the material.

    An absolute path, an address, or one that leads out of the material is no such path: it would say where things are
    on the machine that searched, or lead somewhere else.
    """
    if not path or path.startswith("/") or _DRIVE.match(path) or _SCHEME.match(path):
        return None
    plain = PurePosixPath(path)
    if ".." in plain.parts or not plain.parts:
        return None
    return f"{said.origin.prefix if said.origin else ''}{plain}"


def line_of(line: int | None) -> int | None:
    """Return a finding's line where an editor can go to it."""
    return line if line is not None and 1 <= line <= LAST_LINE else None

"""One thing that was looked at."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at, and what was found; where it is not well, ``help`` says what to do.

    ``file``: where that is, if it is a file or a folder.
    """

    name: str
    ok: bool
    found: str
    help: str | None = None
    file: str | None = None

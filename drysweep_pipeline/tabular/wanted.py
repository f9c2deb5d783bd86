"""What the child is asked for, and what keeps a table from being read."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self


class Unread(Exception):
    """A file cannot be read as the table that it was declared to hold, and why.

    That is said in parts, of which every other one is a value. The values are whole: who shows them makes them
    shorter, and knows what in them is secret.
    """

    def __init__(self, *parts: str) -> None:
        self.parts = parts
        super().__init__("".join(parts))


@dataclass(frozen=True, slots=True)
class Wanted:
    """One table: the files that hold it, in order, how they are to be read, and how large it may be.

    ``columns`` are declared types by name. ``table`` is the name within a database.
    """

    name: str
    format: str
    files: tuple[Path, ...]
    columns: Mapping[str, str]
    table: str | None
    delimiter: str
    max_rows: int
    max_bytes: int

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Self:
        """Return what one entry of the task asks for."""
        return cls(**{**said, "files": tuple(Path(file) for file in said["files"])})

"""What is not as it was recorded: which file, what is wrong, and what helps."""

from dataclasses import dataclass
from pathlib import Path

from drysweep_pipeline.home import Home

RESTORE = "restore it from a copy"


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is not as it was recorded, or that belongs to nothing that was (``stray``).

    A ``note`` is told beside that: it is known, or mends itself.
    """

    file: Path
    what: str
    help: str | None = None
    note: bool = False
    stray: bool = False

    def named(self, home: Home) -> str:
        """Return the file's place in the home."""
        return str(self.file.relative_to(home.root)) if self.file.is_relative_to(home.root) else str(self.file)

"""What a judge has said of a round's findings so far, on disk from the moment it is said.

A process that dies while a slow judge is being asked loses no answer: whoever goes on asks only for the others. Once
the verdicts have landed the file is gone; its votes are in there.
"""

import json
from pathlib import Path
from typing import Any
from uuid import UUID

from drysweep_pipeline.judges import Ruling
from drysweep_pipeline.values import Verdict

FILE = "votes.jsonl"


class Votes:
    """The rulings of a round by finding and member; the first one stands. ``path`` is None where none are kept."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._said: dict[tuple[UUID, int], Ruling] = {}
        if path is not None and path.exists():
            for ruling in _read(path):
                self._said.setdefault((ruling.fp, ruling.member), ruling)
            # So that a line which a crash cut off takes none that follows with it.
            _append(path, "")

    @property
    def answered(self) -> frozenset[tuple[UUID, int]]:
        """The (finding, member) there is a ruling for."""
        return frozenset(self._said)

    def of(self, fp: UUID, member: int) -> Ruling | None:
        """Return what a member said of a finding, if it did."""
        return self._said.get((fp, member))

    def keep(self, ruling: Ruling) -> None:
        """Keep a ruling, in a file that survives this process."""
        if (ruling.fp, ruling.member) in self._said:
            return
        self._said[ruling.fp, ruling.member] = ruling
        if self._path is not None:
            _append(self._path, json.dumps(_plain(ruling)))

    def forget(self) -> None:
        """Remove the file."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)


def _append(path: Path, line: str) -> None:
    with path.open("a", encoding="utf-8") as out:
        out.write(line + "\n")


def _plain(ruling: Ruling) -> dict[str, Any]:
    return {
        "fp": str(ruling.fp),
        "member": ruling.member,
        "verdict": ruling.verdict.value,
        "reason": ruling.reason,
        "answered": ruling.answered,
    }


def _read(path: Path) -> list[Ruling]:
    """Return the rulings in a file; a line that a crash cut off is none."""
    found = []
    for line in path.read_bytes().splitlines():
        try:
            said = json.loads(line)
            verdict, reason = Verdict(said["verdict"]), said["reason"]
            found.append(Ruling(UUID(said["fp"]), verdict, reason, int(said["member"]), bool(said["answered"])))
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
    return found

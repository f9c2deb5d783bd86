"""Ceilings, and the reservations that keep parallel calls under them.

A call is reserved before it is made and settled after it was; what was reserved and never settled, because the
process died, counts as spent. The journal of a round (``calls.jsonl``) makes that survive the process. What a
ceiling means for the campaign is decided in ``convergence``.
"""

import json
import os
import sys
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from drysweep_pipeline.errors import IntegrityError
from drysweep_pipeline.values import Usage


@dataclass(frozen=True, slots=True)
class Ceilings:
    """What a campaign may spend at most; None is no ceiling."""

    rounds: int
    calls: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    minutes: float | None = None

    def widened(self, rounds: int | None, calls: int | None) -> "Ceilings":
        """Return these ceilings with the given ones in place of their own."""
        return replace(
            self,
            rounds=self.rounds if rounds is None else rounds,
            calls=self.calls if calls is None else calls,
        )


@dataclass(frozen=True, slots=True)
class Spent:
    """What a campaign has spent so far, over all its rounds."""

    calls: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    minutes: float = 0.0

    def plus(self, usage: Usage, seconds: float = 0.0) -> "Spent":
        """Return this with the usage of one more round, which took ``seconds``."""
        return Spent(
            self.calls + usage.calls,
            self.tokens + usage.tokens,
            self.cost_usd + usage.cost_usd,
            self.minutes + seconds / 60,
        )


def tripped_by(ceilings: Ceilings, spent: Spent, calls: int) -> str | None:
    """Return the name of the ceiling that ``calls`` more calls would not fit under, or None."""
    if ceilings.calls is not None and spent.calls + calls > ceilings.calls:
        return "calls"
    for name in ("tokens", "cost_usd", "minutes"):
        ceiling = getattr(ceilings, name)
        if ceiling is not None and getattr(spent, name) >= ceiling:
            return name
    return None


class Budget:
    """The money of one round: reserve before calling, settle after. Safe to share between threads.

    ``ceilings`` is None in a round that no ceiling stops. ``journal`` is where reservations are written before
    the calls are made; what an earlier process left there is read first.
    """

    def __init__(self, ceilings: Ceilings | None, before: Spent, journal: Path | None = None) -> None:
        self._ceilings = ceilings
        self._before = before
        self._journal = journal
        self._lock = threading.Lock()
        self._open: dict[int, int] = {}
        self._settled = Usage()
        self._next = 0
        self.lost = 0
        self.tripped: str | None = None
        if journal is not None and journal.exists():
            self._recover(journal)

    @property
    def used(self) -> Usage:
        """What this round has used, reservations under way counted as spent."""
        return self._settled + Usage(sum(self._open.values()))

    def reserve(self, calls: int, purpose: str) -> int | None:
        """Set ``calls`` calls aside and return the reservation, or None where a ceiling forbids it."""
        with self._lock:
            over = self._over(calls)
            if over is not None:
                self.tripped = self.tripped or over
                return None
            return self._take(calls, purpose)

    def reserve_up_to(self, calls: int, purpose: str, unit: int = 1) -> tuple[int, int]:
        """Set aside as many of ``calls`` as fit, in whole units of so many calls; return (reservation, how many)."""
        with self._lock:
            granted = min(calls, self._room()) // unit * unit
            if granted < calls:
                self.tripped = self.tripped or self._over(calls)
            return self._take(granted, purpose), granted

    def settle(self, reservation: int, usage: Usage) -> None:
        """Replace a reservation by what was really used."""
        with self._lock:
            del self._open[reservation]
            self._settled += usage
            self._write(
                {
                    "settle": reservation,
                    "calls": usage.calls,
                    "tokens": usage.tokens,
                    "cost_usd": usage.cost_usd,
                }
            )

    def _over(self, calls: int) -> str | None:
        return tripped_by(self._ceilings, self._before.plus(self.used), calls) if self._ceilings else None

    def _room(self) -> int:
        """How many single calls still fit."""
        if self._ceilings is None:
            return sys.maxsize
        if self._over(0) is not None:
            return 0
        spent = self._before.plus(self.used).calls
        return sys.maxsize if self._ceilings.calls is None else self._ceilings.calls - spent

    def _take(self, calls: int, purpose: str) -> int:
        reservation = self._next
        self._next += 1
        self._write({"reserve": reservation, "calls": calls, "for": purpose})
        self._open[reservation] = calls
        return reservation

    def _write(self, entry: dict[str, Any]) -> None:
        if self._journal is None:
            return
        with self._journal.open("a", encoding="utf-8") as out:
            out.write(json.dumps(entry) + "\n")
            out.flush()
            os.fsync(out.fileno())

    def _recover(self, journal: Path) -> None:
        """Count what an earlier process settled, and what it reserved and never settled, as spent."""
        left: dict[int, int] = {}
        # A torn last line is a reservation whose call was never made: it is written before the call.
        for line in journal.read_bytes().splitlines(keepends=True):
            if line.endswith(b"\n"):
                self._replay_line(line, left, journal)
        self.lost = sum(left.values())
        self._settled += Usage(self.lost)
        self._forget_torn_line(journal)

    def _replay_line(self, line: bytes, left: dict[int, int], journal: Path) -> None:
        try:
            self._replay(json.loads(line), left, journal)
        except (ValueError, KeyError, TypeError):
            raise IntegrityError(f"holds a line that no budget wrote: {line[:60]!r}", file=journal) from None

    def _replay(self, entry: dict[str, Any], left: dict[int, int], journal: Path) -> None:
        if "reserve" in entry:
            left[entry["reserve"]] = entry["calls"]
            self._next = max(self._next, entry["reserve"] + 1)
        elif left.pop(entry["settle"], None) is not None:
            self._settled += Usage(entry["calls"], entry["tokens"], entry["cost_usd"])
        else:
            raise IntegrityError(f"settles reservation {entry['settle']}, which nobody made", file=journal)

    @staticmethod
    def _forget_torn_line(journal: Path) -> None:
        whole = journal.read_bytes()
        if whole and not whole.endswith(b"\n"):
            os.truncate(journal, whole.rfind(b"\n") + 1)

"""Ceilings, and the reservations that keep parallel calls under them.

A call is reserved before it is made and settled after it was; what was reserved and never settled, because the
process died, counts as spent. The journal of a round (``calls.jsonl``) makes that survive the process. What a
ceiling means for the campaign is decided in ``convergence``.
"""

import json
import os
import secrets
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from drysweep_pipeline.errors import FinderError, IntegrityError
from drysweep_pipeline.values import MOST_USED, ONE_CALL, Usage

# Sums of dollars are off by less than this, which is less than anybody charges.
_DOLLAR_DIGITS = 9
# As many bits as a JSON number keeps whole, with room to count on.
_FIRST_BITS = 48


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


def tripped_by(ceilings: Ceilings, spent: Spent, more: Usage) -> str | None:
    """Return the name of the ceiling that ``more`` would not fit under, or None.

    Tokens, dollars and minutes that are used up allow nothing more, not even what declares that it uses none.
    """
    if ceilings.calls is not None and spent.calls + more.calls > ceilings.calls:
        return "calls"
    for name, wanted in (("tokens", more.tokens), ("cost_usd", more.cost_usd), ("minutes", 0)):
        ceiling, used = getattr(ceilings, name), getattr(spent, name)
        if ceiling is not None and (used >= ceiling or round(used + wanted - ceiling, _DOLLAR_DIGITS) > 0):
            return name
    return None


class Budget:
    """The money of one round: reserve before calling, settle after. Safe to share between threads.

    ``ceilings`` is None in a round that no ceiling stops. ``journal`` is where reservations are written before
    the calls are made; what an earlier process left there is read first. Who only looks changes nothing in it.
    """

    def __init__(self, ceilings: Ceilings | None, before: Spent, journal: Path | None = None) -> None:
        self._ceilings = ceilings
        self._before = before
        self._journal = journal
        self._lock = threading.Lock()
        self._open: dict[int, Usage] = {}
        self._settled = Usage()
        # Two processes that have one journal open never take the same number, so that neither settles the other's.
        self._next = secrets.randbits(_FIRST_BITS)
        self._torn = False
        self.lost = Usage()
        self.lost_for: tuple[str, ...] = ()
        self.tripped: str | None = None
        if journal is not None and journal.exists():
            self._recover(journal)

    @property
    def used(self) -> Usage:
        """What this round has used, reservations under way counted as spent."""
        return self._settled + sum(self._open.values(), Usage())

    def reserve(self, worst: Usage, purpose: str) -> int | None:
        """Set aside what a call may use at most and return the reservation, or None where a ceiling forbids it."""
        with self._lock:
            over = self._over(worst)
            if over is not None:
                self.tripped = self.tripped or over
                return None
            return self._take(worst, purpose)

    def reserve_up_to(self, times: int, worst: Usage, purpose: str) -> tuple[int, int]:
        """Set aside ``worst`` as many ``times`` as it fits; return (reservation, how many times)."""
        with self._lock:
            granted = self._fitting(times, worst)
            if granted < times:
                self.tripped = self.tripped or self._over(worst.times(granted + 1))
            return self._take(worst.times(granted), purpose), granted

    def settle(self, reservation: int, usage: Usage, others: Sequence[int] = ()) -> None:
        """Replace a reservation, and ``others`` that were made beside it, by what was really used."""
        # All at once, so that nobody meanwhile counts both what was used and what was set aside for it.
        with self._lock:
            for each, used in ((reservation, usage), *((other, Usage()) for other in others)):
                del self._open[each]
                self._settled += used
                self._write({"settle": each, **asdict(used)})

    def _over(self, worst: Usage) -> str | None:
        if self._ceilings is None:
            return None
        # What others may yet use of something is no obstacle to who uses none of it.
        used = self.used
        tokens = used.tokens if worst.tokens else self._settled.tokens
        cost_usd = used.cost_usd if worst.cost_usd else self._settled.cost_usd
        return tripped_by(self._ceilings, self._before.plus(Usage(used.calls, tokens, cost_usd)), worst)

    def _fitting(self, times: int, worst: Usage) -> int:
        """Return the most of ``times`` for which ``worst`` fits."""
        fits, too_many = 0, times + 1
        while too_many - fits > 1:
            middle = (fits + too_many) // 2
            if self._over(worst.times(middle)) is None:
                fits = middle
            else:
                too_many = middle
        return fits

    def _take(self, worst: Usage, purpose: str) -> int:
        reservation = self._next
        self._next += 1
        self._write({"reserve": reservation, **asdict(worst), "for": purpose})
        self._open[reservation] = worst
        return reservation

    def _write(self, entry: dict[str, Any]) -> None:
        if self._journal is None:
            return
        self._forget_torn_line(self._journal)
        with self._journal.open("a", encoding="utf-8") as out:
            out.write(json.dumps(entry) + "\n")
            out.flush()
            os.fsync(out.fileno())

    def _recover(self, journal: Path) -> None:
        """Count what an earlier process settled, and what it reserved and never settled, as spent."""
        left: dict[int, tuple[Usage, str]] = {}
        # A torn last line is a reservation whose call was never made: it is written before the call.
        for line in journal.read_bytes().splitlines(keepends=True):
            self._torn = not line.endswith(b"\n")
            if not self._torn:
                self._replay_line(line, left, journal)
        self.lost = sum((worst for worst, _ in left.values()), Usage())
        self.lost_for = tuple(purpose for _, purpose in left.values())
        self._settled += self.lost

    def _replay_line(self, line: bytes, left: dict[int, tuple[Usage, str]], journal: Path) -> None:
        try:
            self._replay(json.loads(line), left, journal)
        except (ValueError, KeyError, TypeError):
            raise IntegrityError(f"holds a line that no budget wrote: {line[:60]!r}", file=journal) from None

    def _replay(self, entry: dict[str, Any], left: dict[int, tuple[Usage, str]], journal: Path) -> None:
        # Tokens and dollars were not always reserved.
        usage = Usage(entry["calls"], entry.get("tokens", 0), entry.get("cost_usd", 0.0))
        if "reserve" in entry:
            left[entry["reserve"]] = usage, str(entry.get("for", ""))
        elif left.pop(entry["settle"], None) is not None:
            self._settled += usage
        else:
            raise IntegrityError(f"settles reservation {entry['settle']}, which nobody made", file=journal)

    def _forget_torn_line(self, journal: Path) -> None:
        """Cut a torn last line off before something is written after it."""
        if self._torn:
            os.truncate(journal, journal.read_bytes().rfind(b"\n") + 1)
            self._torn = False


class Meter:
    """What one look, or one round of judging, may use while it is under way; safe to share between threads.

    It begins with a reservation for ``calls`` calls of at most ``worst`` each. Whoever makes one call more asks first.
    """

    def __init__(self, budget: Budget, worst: Usage, purpose: str, reservation: int, calls: int = 1) -> None:
        self._budget, self._worst, self._purpose = budget, worst, purpose
        self._lock = threading.Lock()
        self._reservations = [reservation]
        self._calls = calls

    @property
    def reserved(self) -> Usage:
        """What all calls so far may have used at most."""
        return self._worst.times(self._calls)

    @property
    def retries(self) -> int:
        """How many further calls were set aside after the first ones."""
        return len(self._reservations) - 1

    def more(self) -> None:
        """Set one further call aside before it is made. Raises ``FinderError`` where a ceiling forbids it."""
        reservation = self._budget.reserve(self._worst, f"{self._purpose}, once more")
        if reservation is None:
            raise FinderError(f"ceiling: {self._budget.tripped}", status="ceiling")
        with self._lock:
            self._reservations.append(reservation)
            self._calls += 1

    def settle(self, usage: Usage | None) -> Usage:
        """Replace all that was set aside by what was really used, and return what counts as that.

        Where nobody knows, or where what is said cannot be, all that was set aside counts. Nothing more may be asked
        for afterwards.
        """
        if usage is None or not usage.within(MOST_USED.times(self._calls)):
            usage = self.reserved
        first, *others = self._reservations
        self._budget.settle(first, usage, others)
        return usage


def free_meter(worst: Usage = ONE_CALL) -> Meter:
    """Return a meter that no ceiling holds, for calls of at most ``worst`` that no campaign counts."""
    budget = Budget(None, Spent())
    reservation = budget.reserve(worst, "uncounted")
    assert reservation is not None, "nothing is refused without ceilings"
    return Meter(budget, worst, "uncounted", reservation)

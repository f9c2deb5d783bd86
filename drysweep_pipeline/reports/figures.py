"""What a campaign's rounds add up to: its curve, what fewer passes would have missed, what its silence cost.

Pure functions over rows of the history, so that every format tells the same numbers.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from typing import Any

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Point:
    """A round on the discovery curve.

    ``fresh`` had never been seen, ``known`` were met by this campaign for the first time and by an earlier one before;
    ``by_then`` is how many findings the campaign had met when the round ended.
    """

    round: int
    fresh: int
    known: int
    by_then: int
    quiet: bool
    repeat: bool
    complete: bool


@dataclass(frozen=True, slots=True)
class Passes:
    """What so many passes and no more would have found of what the campaign met, and what they would have missed.

    Of the ``missed``, ``rejected`` were found to be none, and ``blocking`` of the others have a severity that blocks.
    """

    passes: int
    found: int
    missed: int
    rejected: int
    blocking: int


@dataclass(frozen=True, slots=True)
class Silence:
    """What the quiet rounds of a campaign cost, and what all of its rounds did."""

    rounds: int
    calls: int
    seconds: float
    tokens: int
    cost_usd: float
    of_calls: int
    of_seconds: float
    of_cost_usd: float


@dataclass(frozen=True, slots=True)
class Shared:
    """How many findings exactly these strategies sighted in the campaign."""

    strategies: tuple[str, ...]
    findings: int


@dataclass(frozen=True, slots=True)
class Figures:
    """All of it, for one campaign."""

    curve: tuple[Point, ...]
    passes: tuple[Passes, ...]
    silence: Silence
    overlap: tuple[Shared, ...]

    @property
    def as_json(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return asdict(self)


def figures(rounds: Sequence[Row], arrivals: Sequence[Row], overlap: Sequence[Row]) -> Figures:
    """Return what a campaign's decided ``rounds`` and the first sightings in each add up to."""
    met = {row["round"]: row for row in arrivals}
    return Figures(
        tuple(_curve(rounds, met)),
        tuple(_passes([met.get(row["round"], {}) for row in rounds])),
        _silence(rounds),
        tuple(Shared(tuple(row["strategies"]), row["findings"]) for row in overlap),
    )


def _curve(rounds: Sequence[Row], met: Mapping[int, Row]) -> Iterator[Point]:
    by_then = 0
    for row in rounds:
        first = met.get(row["round"], {}).get("findings", 0)
        by_then += first
        # What was fresh was told when the round was taken in; a campaign that was backfilled since changes nothing.
        known = max(0, first - row["fresh"])
        flags = bool(row["quiet"]), bool(row["repeat"]), bool(row["complete"])
        yield Point(row["round"], row["fresh"], known, by_then, *flags)


def _passes(met: Sequence[Row]) -> Iterator[Passes]:
    """Yield what each number of passes would have missed, up to the first that misses nothing that is known of."""
    sums = {name: list(accumulate(row.get(name, 0) for row in met)) for name in ("findings", "rejected", "blocking")}
    for number in range(1, len(met) + 1):
        found, missed = sums["findings"][number - 1], {name: each[-1] - each[number - 1] for name, each in sums.items()}
        yield Passes(number, found, missed["findings"], missed["rejected"], missed["blocking"])
        if not missed["findings"]:
            return


def _silence(rounds: Sequence[Row]) -> Silence:
    quiet = [row for row in rounds if row["quiet"]]

    def spent(rows: Sequence[Row], name: str) -> Any:
        return sum(row[name] or 0 for row in rows)

    names = ("calls", "seconds", "tokens", "cost_usd")
    calls, seconds, tokens, cost_usd = (spent(quiet, name) for name in names)
    whole = (spent(rounds, "calls"), spent(rounds, "seconds"), spent(rounds, "cost_usd"))
    return Silence(len(quiet), calls, seconds, tokens, cost_usd, *whole)

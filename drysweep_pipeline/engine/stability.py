"""Whether two looks of one strategy at one snapshot name the same findings, and if not, which fields tell them apart.

Pure: identities in, a comparison out. A finding of one look and one of the other that agree in all fields of the
fingerprint but a few, and in those only with each other, are most likely the same finding under two names.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from typing import TypeAlias

Identity: TypeAlias = tuple[str, ...]
MOST = 0.5
"""Fields are to blame where more than half of what only one look found pairs up but for them."""
OFTEN = 2
"""Where chance may be why, a single pair is no pattern."""


class Steady(StrEnum):
    """What two looks at one snapshot amount to."""

    STABLE = "stable"
    UNSTABLE = "unstable"
    DIFFERENT = "different"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class Compared:
    """Two looks beside each other: how much each found that the other did not, and the fields that may be why.

    ``pairs`` of the ``of`` findings that only one look named pair up but for ``fields``; ``example`` is what the fields
    held in the first look and in the second.
    """

    steady: Steady
    first: int
    second: int
    only_first: int = 0
    only_second: int = 0
    fields: tuple[str, ...] = ()
    pairs: int = 0
    of: int = 0
    example: tuple[Identity, Identity] | None = None


def compare(
    fields: Sequence[str], first: Iterable[Identity], second: Iterable[Identity], *, chance: bool = False
) -> Compared:
    """Return what two looks amount to; identities have one value for each of ``fields``, in their order.

    ``chance``: the strategy may find others each time, so that only a clear pattern in one field counts as one.
    """
    one, other = set(first), set(second)
    only_first, only_second = one - other, other - one
    counts = (len(one), len(other), len(only_first), len(only_second))
    if not one and not other:
        return Compared(Steady.EMPTY, *counts)
    if not only_first and not only_second:
        return Compared(Steady.STABLE, *counts)
    of = max(len(only_first), len(only_second))
    for size in range(1, 2 if chance else len(fields)):
        best = max(
            (_pairs(apart, only_first, only_second) for apart in combinations(range(len(fields)), size)),
            key=lambda found: len(found[1]),
            default=None,
        )
        if best is not None and len(best[1]) > MOST * of and (len(best[1]) >= OFTEN or not chance):
            apart, pairs = best
            mine, theirs = min(pairs)
            example = tuple(mine[i] for i in apart), tuple(theirs[i] for i in apart)
            names = tuple(fields[i] for i in apart)
            return Compared(Steady.UNSTABLE, *counts, fields=names, pairs=len(pairs), of=of, example=example)
    return Compared(Steady.DIFFERENT, *counts, of=of)


def _pairs(
    apart: tuple[int, ...], first: set[Identity], second: set[Identity]
) -> tuple[tuple[int, ...], list[tuple[Identity, Identity]]]:
    """Return the fields told apart by, and what pairs up when they are left out, each with one other only."""
    mine, theirs = dict(_alone(apart, first)), dict(_alone(apart, second))
    return apart, [(mine[rest], theirs[rest]) for rest in mine.keys() & theirs.keys()]


def _alone(apart: tuple[int, ...], found: set[Identity]) -> Iterator[tuple[Identity, Identity]]:
    """Yield each identity under what is left of it, where no other one leaves the same."""
    rest = {each: tuple(value for index, value in enumerate(each) if index not in apart) for each in found}
    times = Counter(rest.values())
    yield from ((left, each) for each, left in rest.items() if times[left] == 1)

"""Times for planted files that are like the material's: as fine as those, between those, and shared where those are."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TICK = timedelta(microseconds=1)
# How fine times may be, in ticks: days, hours, minutes, seconds, thousandths of one, and ticks.
_STEPS = (86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000, 1_000, 1)


def times_like(real: Sequence[datetime], planted: Mapping[str, str]) -> dict[str, datetime]:
    """Return a time for each planted file, the same for the same content; none where the material has none.

    ``real`` are the times of the material's files, ``planted`` the SHA-256 of each planted file by path. Each takes
    after a file of the material: a time that several have, it has too; where one has it alone, it gets one between that
    and the next, which nothing else has. Only where there is no room between any two does it share one all the same.
    """
    counted = Counter((time - _EPOCH) // _TICK for time in real)
    if not counted:
        return {}
    each, distinct = sorted(counted.elements()), sorted(counted)
    step = next(step for step in _STEPS if len({time % step for time in distinct}) == 1 or step == 1)
    taken: set[int] = set()
    found = {}
    for path, digest in sorted(planted.items()):
        alike = each[int(digest[:8], 16) % len(each)]
        time = alike if counted[alike] > 1 else _between(distinct, alike, step, int(digest[8:24], 16), taken)
        taken.add(time)
        found[path] = _EPOCH + time * _TICK
    return found


def _between(distinct: list[int], alike: int, step: int, chance: int, taken: set[int]) -> int:
    """Return a time that nothing has yet: between one and the next, or the two after, where there is no room."""
    for low, high in _gaps(distinct, alike):
        room = (high - low) // step - 1
        for further in range(min(room, len(taken) + 1)):
            time = low + step * (1 + (chance + further) % room)
            if time not in taken:
                return time
    return alike


def _gaps(distinct: list[int], first: int) -> Iterator[tuple[int, int]]:
    """Yield each two neighbours, beginning with a time and the one after it."""
    gaps = list(pairwise(distinct))
    start = bisect_right(distinct, first) - 1
    yield from (*gaps[start:], *gaps[:start])

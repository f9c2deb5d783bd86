"""How much a material is, as far as a look at its folders tells: nothing is read, what is left out is not counted."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from drysweep_pipeline.material.listing import walk

# Whoever asks wants to know roughly, and at once.
_MOST = 50_000


@dataclass(frozen=True, slots=True)
class Size:
    """Files and bytes; ``more``: there are more than were counted."""

    files: int
    bytes: int
    more: bool = False


def size_of(
    place: Path,
    ignore: tuple[str, ...] = (),
    own: frozenset[str] = frozenset(),
    wanted: Callable[[str], bool] = bool,
) -> Size | None:
    """Return how many files at a path would be searched, and how large they are; None where nothing is there.

    ``ignore``, ``own`` and ``wanted`` are as ``list_files`` takes them; links and what cannot be read are not counted.
    """
    if place.is_file():
        return Size(1, place.stat().st_size)
    if not place.is_dir():
        return None
    files, total = 0, 0
    for path, reason in walk(place, ignore, own):
        if reason is not None or not wanted(path):
            continue
        if files == _MOST:
            return Size(files, total, more=True)
        try:
            total += os.lstat(place / path).st_size
        except OSError:
            continue
        files += 1
    return Size(files, total)

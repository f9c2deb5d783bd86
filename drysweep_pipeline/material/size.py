"""How much a material is, as far as a look at its folders tells: nothing is read, and nothing counts as ignored."""

import os
from dataclasses import dataclass
from pathlib import Path

# Whoever asks wants to know roughly, and at once.
_MOST = 50_000


@dataclass(frozen=True, slots=True)
class Size:
    """Files and bytes; ``more``: there are more than were counted."""

    files: int
    bytes: int
    more: bool = False


def size_of(place: Path) -> Size | None:
    """Return how many files lie at a path, and how large they are; None where nothing does."""
    if place.is_file():
        return Size(1, place.stat().st_size)
    if not place.is_dir():
        return None
    files, total = 0, 0
    for folder, folders, names in os.walk(place):
        folders[:] = [name for name in folders if name != ".git"]
        for name in names:
            if files == _MOST:
                return Size(files, total, more=True)
            try:
                total += os.lstat(os.path.join(folder, name)).st_size  # noqa: PTH118 - many, and as fast as may be
            except OSError:
                continue
            files += 1
    return Size(files, total)

"""What of a material's place is drysweep's own, and never part of the material.

A search that read what it found would find it again, and more of it each time.
"""

from pathlib import Path

from drysweep_pipeline.errors import MaterialError
from drysweep_pipeline.homes import parts_of

OF_A_HOME = frozenset(("sweeps", "history", "dagster", "reports", "redaction.key"))
"""What a home holds that is itself the place of a material, or is above it; the rest of such a folder is material."""


def apart(place: Path, home: Path | None) -> frozenset[str]:
    """Return the paths below a place that are the home in use, or that links in the home lead to.

    Where links are in the way, by what they lead to. The place itself is never among them.
    """
    if home is None:
        return frozenset()
    top = place.resolve()
    own = (*parts_of(home), *(home.resolve() / name for name in sorted(OF_A_HOME)))
    return frozenset(str(each.relative_to(top).as_posix()) for each in own if top in each.parents)


def check_apart(place: Path, home: Path | None) -> None:
    """Raise ``MaterialError`` where a material's place is what drysweep keeps in the home in use."""
    top = place.resolve()
    kept = [home.resolve() / name for name in OF_A_HOME] if home is not None else []
    if any(each == top or each in top.parents for each in kept):
        raise MaterialError(
            "lies in drysweep's home, which is never searched", file=place, key="path", help="name a folder beside it"
        )


def is_apart(path: str, own: frozenset[str]) -> bool:
    """Tell whether a path, or a folder above it, is one of those that are left out."""
    parts = path.split("/")
    return bool(own) and any("/".join(parts[:depth]) in own for depth in range(1, len(parts) + 1))

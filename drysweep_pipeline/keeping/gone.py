"""Which snapshots of a sweep were pruned: a list beside them, so that nobody takes them for lost."""

from pathlib import Path

from drysweep_pipeline.durable import read_json, write_json
from drysweep_pipeline.home import SweepHome

FILE = "pruned.json"
SCHEMA_VERSION = 1


def gone(place: SweepHome) -> dict[str, str]:
    """Return when each pruned snapshot went, by digest, in ISO 8601."""
    path = listed(place)
    return dict(read_json(path)["snapshots"]) if path.exists() else {}


def write_gone(place: SweepHome, digest: str, at: str) -> None:
    """Record that a snapshot went."""
    write_json(listed(place), {"schema_version": SCHEMA_VERSION, "snapshots": {**gone(place), digest: at}})


def listed(place: SweepHome) -> Path:
    """Return where the list lies."""
    return place.root / FILE

"""Which snapshots of a sweep were pruned: a list beside them, so that nobody takes them for lost."""

from pathlib import Path

from drysweep_pipeline.durable import read_json, write_json
from drysweep_pipeline.home import SweepHome

FILE = "pruned.json"
SCHEMA_VERSION = 1


def gone(place: SweepHome) -> dict[str, str]:
    """Return when each pruned snapshot went, by digest, in ISO 8601."""
    path = _path(place)
    return dict(read_json(path)["snapshots"]) if path.exists() else {}


def write_gone(place: SweepHome, digests: list[str], at: str) -> None:
    """Record that snapshots are about to go; those that are on the list keep the instant of theirs."""
    said = {**dict.fromkeys(digests, at), **gone(place)}
    write_json(_path(place), {"schema_version": SCHEMA_VERSION, "snapshots": said})


def _path(place: SweepHome) -> Path:
    return place.root / FILE

"""Real registries that the project does not copy: where they are, and skipping with a reason where they are not."""

import os
import shutil
import tarfile
from pathlib import Path

import pytest

_DEFAULT = Path(__file__).parents[2] / "shared" / "data"
DOKPLOY_DATES = ("2025-06-24", "2025-09-27", "2025-12-19", "2026-03-05", "2026-07-07", "2026-07-21")


def real_data(name: str) -> Path:
    """Return the folder of a real data set; skips the test where it is absent."""
    folder = Path(os.environ.get("DRYSWEEP_REAL_DATA", _DEFAULT)) / name
    if not folder.is_dir():
        pytest.skip(f"no real data {name!r}: set DRYSWEEP_REAL_DATA to the folder that holds it")
    return folder


def dokploy_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unpack all six dates to ``<tmp>/<date>/``, each with ``<tmp>/<date>.manifest.jsonl``; return ``<tmp>``."""
    source, home = real_data("dokploy") / "snapshots", tmp_path_factory.mktemp("dokploy")
    for date in DOKPLOY_DATES:
        with tarfile.open(source / f"{date}.tar.gz") as archive:
            archive.extractall(home / date, filter="data")
        shutil.copy(source / f"{date}.manifest.jsonl", home)
    return home

"""What the tests of real Dagster processes share: a daemon, and that nothing of it is left."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from drysweep_pipeline.home import Home
from drysweep_pipeline.orchestration.instance import prepare
from tests.daemon.processes import Daemon


@pytest.fixture
def daemon(project: Path, tmp_path: Path) -> Iterator[Daemon]:
    """A daemon on a home that was prepared once; whatever it started is dead after the test."""
    home = tmp_path / "home"
    before = os.environ.get("DAGSTER_HOME")
    prepare(Home(home))
    made = Daemon(project, home)
    yield made
    made.kill()
    os.environ.pop("DAGSTER_HOME", None)
    if before is not None:
        os.environ["DAGSTER_HOME"] = before

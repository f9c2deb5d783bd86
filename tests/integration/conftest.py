"""Campaigns that several files ask about, and what is cheaper made once than for every home."""

import importlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from drysweep_pipeline.history.edition import bring_up
from drysweep_pipeline.home import Home
from tests import exports
from tests.exports import Case
from tests.publishing import Sweeping, copied, one_campaign
from tests.sweeps import registry


@pytest.fixture(scope="session", autouse=True)
def _first_histories(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Have every home begin with a copy of one empty history: to make it is half of what a campaign's start takes."""
    empty = tmp_path_factory.mktemp("empty") / "history.duckdb"
    bring_up(empty)

    def brought_up(file: Path) -> None:
        if file.exists():
            bring_up(file)
        else:
            shutil.copyfile(empty, file)

    with pytest.MonkeyPatch.context() as patch:
        # By its name in full: the package has a function that is called like the module.
        patch.setattr(importlib.import_module("drysweep_pipeline.history.publish"), "bring_up", brought_up)
        yield


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Sweeping:
    """``c1`` converged: ``one`` sighted api/no_owner, ``two`` web/no_owner, and api/old was rejected. To be read."""
    return one_campaign(Sweeping(Home(tmp_path_factory.mktemp("built"))))


@pytest.fixture
def swept(built: Sweeping, tmp_path: Path) -> Sweeping:
    """The same, for tests that go on with it."""
    return copied(built, tmp_path)


@pytest.fixture(scope="session")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """A converged campaign of five: one contested, accepted, declined, open and rejected. To be read."""
    return exports.settled_case(tmp_path_factory.mktemp("settled"))


@pytest.fixture(scope="session")
def cut(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """A campaign that a ceiling cut short, with hostile findings and a strategy that did not run. To be read."""
    return exports.cut_case(tmp_path_factory.mktemp("cut"))


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """The demo's sweep over its registry, driven without Dagster. To be read."""
    return exports.demo_case(tmp_path_factory.mktemp("demo"))


@pytest.fixture(scope="session")
def nothing(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """A campaign that was cut short before it found anything. To be read."""
    return exports.nothing_case(tmp_path_factory.mktemp("nothing"))


@pytest.fixture
def three_services(tmp_path: Path) -> None:
    """Have a registry of three services, one of them with an owner, lie in the test's folder."""
    registry(tmp_path / "registry", {"api": None, "web": "team", "db": None})

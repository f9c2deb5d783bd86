"""What a user's tests can ask: what a strategy finds, and never less than it should without saying so."""

from pathlib import Path

import pytest

from drysweep_pipeline.errors import DeclarationError, FinderError, NotFound, RowsRefused
from drysweep_pipeline.testing import look
from tests.sweeps import NO_OWNER, declare, registry

BY_LABEL = "select service, 'has_label' as failure_mode, 7 as seen from labels where key = $key order by service"
ANGLES = {"angles": [{"key": "owner"}, {"key": "tier"}]}


@pytest.fixture
def material(tmp_path: Path) -> Path:
    registry(tmp_path / "registry", {"api": None, "web": "team", "zoo": "team"})
    return tmp_path


def test_what_a_strategy_finds_is_given_as_dictionaries_with_what_it_left_out_filled_in(material: Path) -> None:
    [found] = look(declare(material, {"labels": NO_OWNER}), "labels")
    assert (found["service"], found["failure_mode"], found["path"]) == ("api", "no_owner", "services/api.yaml")
    assert (found["subject"], found["kind"], found["severity"]) == ("api", "no_owner", "major")


def test_it_looks_at_the_first_angle_or_at_the_one_that_it_is_given(material: Path) -> None:
    path = declare(material, {"labels": BY_LABEL}, labels=ANGLES)
    assert [(each["service"], each["seen"]) for each in look(path, "labels")] == [("web", 7), ("zoo", 7)]
    assert [each["service"] for each in look(path, "labels", {"key": "tier"})] == ["api"]


def test_it_leaves_no_home_behind(material: Path) -> None:
    path = declare(material, {"labels": NO_OWNER})
    before = sorted(material.rglob("*"))
    look(path, "labels")
    assert sorted(material.rglob("*")) == before


def test_what_did_not_run_or_is_refused_is_raised_and_never_an_empty_list(material: Path) -> None:
    fails = "select cast(service as integer) as service, 'x' as failure_mode from services"
    empty = "select service, '' as failure_mode from services"
    path = declare(material, {"fails": fails, "empty": empty})
    with pytest.raises(FinderError):
        look(path, "fails")
    with pytest.raises(RowsRefused, match="row 1"):
        look(path, "empty")
    with pytest.raises(NotFound, match="no strategy 'none'"):
        look(path, "none")
    with pytest.raises(DeclarationError):
        look(material / "absent.yaml", "fails")

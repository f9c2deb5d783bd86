from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from drysweep_pipeline.errors import MaterialError
from drysweep_pipeline.material import resolve_path
from drysweep_pipeline.material.globs import has_star, is_ignored, pattern

NOON = datetime(2026, 3, 5, 12, tzinfo=UTC)


def test_a_path_is_relative_to_the_declaring_folder(tmp_path: Path):
    assert resolve_path("../registry", tmp_path / "sweeps", NOON) == tmp_path / "registry"
    assert resolve_path("/elsewhere", tmp_path, NOON) == Path("/elsewhere")


def test_a_variable_is_replaced_and_an_unset_one_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("REGISTRY", "live")
    monkeypatch.delenv("NOWHERE", raising=False)
    assert resolve_path("{env.REGISTRY}/x", tmp_path, NOON) == tmp_path / "live" / "x"
    with pytest.raises(MaterialError, match="NOWHERE is not set"):
        resolve_path("{env.NOWHERE}/x", tmp_path, NOON)


@pytest.fixture
def dated(tmp_path: Path) -> Path:
    for name in ("2026-01-31", "2026-03-05", "2026-03-05T080000Z", "2026-03-06", "2026-13-99", "latest"):
        (tmp_path / name / "data").mkdir(parents=True)
    (tmp_path / "2026-03-05.manifest.jsonl").touch()
    (tmp_path / "2026-03-04").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("as_of", "name"),
    [
        (NOON, "2026-03-05T080000Z"),
        (NOON.replace(hour=0), "2026-03-05"),
        (datetime(2026, 3, 4, 23, tzinfo=UTC), "2026-01-31"),
        (datetime(2026, 3, 4, 23, 30, tzinfo=timezone(timedelta(hours=-1))), "2026-03-05"),
        (datetime(2030, 1, 1, tzinfo=UTC), "2026-03-06"),
    ],
)
def test_the_newest_folder_dated_at_or_before_as_of_is_picked(dated: Path, as_of: datetime, name: str):
    assert resolve_path("{as_of}/data", dated, as_of) == dated / name / "data"


def test_where_no_date_is_early_enough_the_dates_are_listed(dated: Path):
    with pytest.raises(MaterialError, match=r"there is 2026-01-31, 2026-03-05, .*2026-03-06"):
        resolve_path("{as_of}", dated, datetime(2020, 1, 1, tzinfo=UTC))
    with pytest.raises(MaterialError, match="no such folder"):
        resolve_path("nowhere/{as_of}", dated, NOON)


def test_a_date_may_be_part_of_a_name(tmp_path: Path):
    (tmp_path / "snap-2026-01-31.d").mkdir()
    assert resolve_path("snap-{as_of}.d", tmp_path, NOON).name == "snap-2026-01-31.d"


@pytest.mark.parametrize(
    ("glob", "path", "star"),
    [
        ("services/*.yaml", "services/api.yaml", "api"),
        ("blueprints/*/compose.yml", "blueprints/a.b/compose.yml", "a.b"),
        ("**/*/meta.json", "x/y/z/meta.json", "z"),
        ("[!a]*-?.ini", "web-1.ini", "eb"),
        ("./a[[]*", "a[x", "x"),
    ],
)
def test_the_first_star_of_a_glob_is_what_it_stands_for(glob: str, path: str, star: str):
    found = pattern(glob).fullmatch(path)
    assert found is not None
    assert found[1] == star


def test_a_star_stays_inside_its_segment():
    assert pattern("services/*.yaml").fullmatch("services/old/api.yaml") is None
    assert pattern("a.json").fullmatch("axjson") is None
    assert not has_star("**/meta.json")
    with pytest.raises(MaterialError, match="no path pattern"):
        pattern("[z-a]")


@pytest.mark.parametrize(
    ("glob", "path", "folder", "ignored"),
    [
        ("*.log", "a/b/c.log", False, True),
        ("node_modules", "a/node_modules", True, True),
        ("build/", "build", False, False),
        ("build/", "build", True, True),
        ("docs/*.md", "docs/a.md", False, True),
        ("docs/*.md", "docs/x/a.md", False, False),
        ("docs/**", "docs/x/a.md", False, True),
        ("/top.txt", "a/top.txt", False, False),
    ],
)
def test_ignored_paths(glob: str, path: str, folder: bool, ignored: bool):
    assert is_ignored(path, (glob,), folder=folder) is ignored

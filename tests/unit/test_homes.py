"""Homes, known by what lies in them: which there are at a path, and what their links lead to."""

from pathlib import Path

import pytest

from drysweep_pipeline.children.confinement import around, other_homes, places_of
from drysweep_pipeline.homes import homes_at, is_home, parts_of


def made(root: Path, *files: str) -> Path:
    for file in files:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).touch()
    return root


@pytest.mark.parametrize(
    "file",
    [
        "history/history.duckdb",
        "dagster/dagster.yaml",
        "sweeps/small/ledger.duckdb",
        "sweeps/small/landing/c/campaign.json",
    ],
)
def test_a_folder_is_a_home_that_has_what_a_home_has(tmp_path: Path, file: str) -> None:
    home = made(tmp_path / "project" / "any name", file)
    assert is_home(home)
    assert list(homes_at(tmp_path)) == [home]
    assert list(homes_at(home / file)) == [home]
    assert list(homes_at(tmp_path / "project" / "nothing there")) == []


def test_a_folder_of_the_same_words_is_no_home(tmp_path: Path) -> None:
    made(tmp_path, "sweeps/notes.md", "history/of/art.txt", "dagster/pipeline.py", "a/ledger.duckdb")
    assert not is_home(tmp_path)
    assert list(homes_at(tmp_path)) == []


def test_homes_are_looked_for_four_folders_deep_and_not_among_modules(tmp_path: Path) -> None:
    ledger = "sweeps/small/ledger.duckdb"
    near = made(tmp_path / "1/2/3/4", ledger)
    for far in ("1/2/3/5/5", "node_modules/tool", ".git/hooks"):
        made(tmp_path / far, ledger)
    assert list(homes_at(tmp_path)) == [near]
    assert list(homes_at(tmp_path, 3)) == []


def test_a_home_is_all_that_its_links_lead_to_also_those_of_a_sweep_and_of_a_campaign(tmp_path: Path) -> None:
    home = made(tmp_path / "home", "sweeps/moved/ledger.duckdb", "sweeps/large/landing/one/round")
    big = tmp_path / "big"
    for name in ("history", "sweep", "ledger", "campaign"):
        made(big / name, "content")
    for link, name in [("history", "history"), ("sweeps/all", "sweep"), ("sweeps/large/landing/two", "campaign")]:
        (home / link).symlink_to(big / name)
    (home / "sweeps/large/ledger.duckdb").symlink_to(big / "ledger" / "content")
    expected = {home, big / "history", big / "sweep", big / "campaign", big / "ledger" / "content"}
    assert set(parts_of(home)) == expected
    assert expected <= set(places_of(home))
    assert list(around(big, places_of(home))) == []


def test_other_homes_are_kept_out_of_what_is_read_and_the_system_is_not_looked_through(tmp_path: Path) -> None:
    home = made(tmp_path / "project" / "old", "sweeps/small/ledger.duckdb")
    made(tmp_path, "project/rules.json", "elsewhere/landing/kept")
    (home / "sweeps" / "small" / "landing").symlink_to(tmp_path / "elsewhere" / "landing")
    kept_out = other_homes(tmp_path)
    assert set(kept_out) == {home, tmp_path / "elsewhere" / "landing"}
    assert list(around(tmp_path, kept_out)) == [tmp_path / "project" / "rules.json"]
    assert other_homes(Path("/usr")) == ()

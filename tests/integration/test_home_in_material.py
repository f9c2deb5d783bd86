"""A sweep never searches what drysweep keeps: not its reports, not its ledgers, wherever the home lies."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from drysweep_pipeline.cli import main
from drysweep_pipeline.declaration.model import FilesMaterial, RegistryMaterial, TablesMaterial
from drysweep_pipeline.errors import MaterialError
from drysweep_pipeline.home import Home
from drysweep_pipeline.material import Snapshot, freeze
from drysweep_pipeline.material.snapshot import Material
from tests.sweeps import AS_OF, begin, declare, run_to_its_end

TODO = "select path as service, 'todo' as failure_mode from files where contains(text, 'TODO')"
ALL = {"kind": "files", "path": "."}


def written(folder: Path, *files: str, text: str = "TODO\n") -> Path:
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def a_home(folder: Path) -> Path:
    """Write what makes a folder a home, and two files that would be searched in it."""
    return written(folder, "sweeps/s/ledger.duckdb", "sweeps/s/landing/c/r001.json", "reports/s/c.md", "new.lock")


def paths(snapshot: Snapshot) -> list[str]:
    return sorted(pq.read_table(snapshot.folder / "files.parquet", columns=["path"])["path"].to_pylist())


def frozen(material: Material, base: Path, home: Path | None) -> Snapshot:
    return freeze(material, base, AS_OF, base.parent / f"{base.name}_snapshots", home)


def test_a_sweep_over_the_folder_of_its_home_finds_as_much_each_time(tmp_path: Path) -> None:
    written(tmp_path, "a.txt", "b.txt")
    path = declare(tmp_path, {"todo": TODO}, material=ALL)
    home = Home(tmp_path / ".drysweep")
    campaigns = [run_to_its_end(begin(path, home, campaign=name)) for name in ("one", "two", "three")]
    seen = [json.loads((each.folder(1) / "plan.json").read_bytes())["snapshot"] for each in campaigns]
    assert len(set(seen)) == 1, "the snapshot does not change by what the home holds"
    # The query names what it looks for.
    assert paths(Snapshot.open(campaigns[0].home.snapshots / seen[0])) == ["a.txt", "b.txt", "sweep.yaml", "todo.sql"]


@pytest.mark.parametrize("kept", [".drysweep", "deep/down/kept", "as_linked"])
def test_the_home_in_use_is_left_out_whatever_its_place_and_name(tmp_path: Path, kept: str) -> None:
    place = written(tmp_path / "place", "a.txt")
    if kept == "as_linked":
        (place / "really").mkdir()
        (tmp_path / kept).symlink_to(place / "really")
        (place / "again").symlink_to(place / "really")
        home = tmp_path / kept
    else:
        home = place / kept
    # A home of which nothing tells yet that it is one.
    written(home, "made_first.txt")
    snapshot = frozen(FilesMaterial(kind="files", path="place"), tmp_path, home)
    assert (paths(snapshot), snapshot.unreadable()) == (["a.txt"], [])


def test_what_links_in_the_home_lead_to_is_left_out(tmp_path: Path) -> None:
    place = written(tmp_path / "place", "a.txt", "large_disk/snapshots/x.txt")
    (place / ".drysweep" / "sweeps").mkdir(parents=True)
    (place / ".drysweep" / "sweeps" / "s").symlink_to(place / "large_disk")
    assert paths(frozen(FilesMaterial(kind="files", path="place"), tmp_path, place / ".drysweep")) == ["a.txt"]


def test_a_home_that_is_not_in_use_is_known_by_its_ledgers(tmp_path: Path) -> None:
    place = written(tmp_path / "place", "a.txt", "sweeps/kept.txt", "dagster/dagster.yaml")
    a_home(place / "old")
    material = FilesMaterial(kind="files", path="place")
    # What only looks like a home is the user's, and is searched.
    assert paths(frozen(material, tmp_path, None)) == ["a.txt", "dagster/dagster.yaml", "sweeps/kept.txt"]


def test_of_a_folder_that_is_a_home_itself_the_rest_is_searched(tmp_path: Path) -> None:
    place = a_home(written(tmp_path / "place", "a.txt"))
    assert paths(frozen(FilesMaterial(kind="files", path="place"), tmp_path, place)) == ["a.txt", "new.lock"]
    assert paths(frozen(FilesMaterial(kind="files", path="place"), tmp_path, None)) == ["a.txt", "new.lock"]
    with pytest.raises(MaterialError, match="lies in drysweep's home, which is never searched"):
        frozen(FilesMaterial(kind="files", path="place/reports"), tmp_path, place)


@pytest.mark.parametrize(
    "material",
    [
        FilesMaterial(kind="files", path="{as_of}"),
        RegistryMaterial(kind="registry", path="{as_of}", map={"services": "**/*.txt"}),
        FilesMaterial(kind="files", path="."),
    ],
)
def test_a_home_that_was_committed_is_left_out_of_the_commit_as_well(tmp_path: Path, material: Material) -> None:
    place = written(tmp_path / "place", "a.txt", ".drysweep/made_first.txt")
    at = {"GIT_COMMITTER_DATE": "2025-01-01T00:00:00Z", "GIT_AUTHOR_DATE": "2025-01-01T00:00:00Z", "PATH": "/usr/bin"}
    who = ("-c", "user.name=a", "-c", "user.email=a@localhost")
    for command in (("init", "-q"), ("add", "."), (*who, "commit", "-qm", "all")):
        subprocess.run(["git", *command], cwd=place, env={**at, "HOME": str(tmp_path)}, check=True)
    written(place, ".drysweep/later.txt")
    snapshot = frozen(material, place, place / ".drysweep")
    assert (paths(snapshot), snapshot.dirty) == (["a.txt"], 0)


def test_tables_are_not_read_from_the_home(tmp_path: Path) -> None:
    place = written(tmp_path / "place", "a.csv", ".drysweep/b.csv", text="x\n1\n")
    material = TablesMaterial.model_validate({"kind": "tables", "path": "place", "tables": {"t": "**/*.csv"}})
    assert paths(frozen(material, tmp_path, place / ".drysweep")) == ["a.csv"]


def test_validate_and_plan_say_that_the_home_lies_in_the_material(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = declare(written(tmp_path, "a.txt"), {"todo": TODO}, material={**ALL, "ignore": ["*.sql"]})
    home = a_home(tmp_path / ".drysweep")
    told: dict[str, Any] = {}
    for command in ("validate", "plan"):
        assert main([command, str(path), "--home", str(home), "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert any(f"the home {home} lies in the material" in each for each in told["warnings"]), command
    assert told["material"]["size"]["files"] == 2, "what is ignored and what is the home's is not counted"
    assert main(["validate", str(path), "--home", str(tmp_path.parent / "elsewhere"), "--json"]) == 0
    assert not any("the home" in each for each in json.loads(capsys.readouterr().out)["warnings"])

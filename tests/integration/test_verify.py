"""What ``verify`` finds: one byte of any file that was recorded, a file that is gone or does not belong there."""

import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

from drysweep_pipeline.cli import main
from drysweep_pipeline.engine import deeds
from drysweep_pipeline.engine.planning import plan
from drysweep_pipeline.engine.state import drop_lease, take_lease
from drysweep_pipeline.engine.wave import wave
from drysweep_pipeline.home import Home
from drysweep_pipeline.keeping.rebuilding import rebuild
from drysweep_pipeline.keeping.verifying import of_states, verify
from drysweep_pipeline.lifecycle import Act, Deed
from tests.sweeps import NO_OWNER, begin, declare, registry, run_to_its_end


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home with a converged campaign that was judged, and in which somebody acted."""
    place = tmp_path_factory.mktemp("verify")
    registry(place / "registry", {"api": None, "web": "team", "db": None})
    (place / "judge.sql").write_text(
        "select fp, 'confirmed' as verdict, 'a reason to look for' as reason from findings"
    )
    path = declare(place, {"labels": NO_OWNER}, judge={"kind": "sql", "query": {"file": "judge.sql"}})
    home = Home(place / "home")
    campaign = run_to_its_end(begin(path, home, campaign="c1"))
    deeds.act(campaign, [deeds.Asked("api/no_owner", Deed(Act.FIX, "ann", reason="it has an owner now"))])
    return home


@pytest.fixture
def home(swept: Home, tmp_path: Path) -> Home:
    shutil.copytree(swept.root, tmp_path / "home")
    return Home(tmp_path / "home")


def found(home: Home) -> dict[str, str]:
    return {fault.named(home): fault.what for fault in verify(home, "small") if not fault.note}


def test_what_was_recorded_is_found_as_it_was_and_nothing_is_written(home: Home) -> None:
    before = {path: path.read_bytes() for path in home.root.rglob("*") if path.is_file()}
    assert list(verify(home, "small")) == []
    assert {path: path.read_bytes() for path in home.root.rglob("*") if path.is_file()} == before


# Each kind of file, and the file that is named where one byte of it is another one.
KINDS = (
    "landing/c1/campaign.json",
    "landing/c1/r001/plan.json",
    "landing/c1/r001/manifest.json",
    "landing/c1/r001/labels.a1.parquet",
    "landing/c1/r001/verdicts.json",
    "landing/c1/r001/verdicts.parquet",
    "landing/c1/r001/judged.json",
    "landing/c1/r001/churn.json",
    "landing/c1/r001/calls.jsonl",
    "landing/c1/r002/decision.json",
    "landing/c1/actions/000001.json",
    "state/c1.json",
    "snapshots/*/snapshot.json",
    "snapshots/*/tables.duckdb",
    "snapshots/*/settings.parquet",
)


def flipped(path: Path, at: int, bit: int = 1) -> bytes:
    """Turn one bit of a file over, and return what it held before."""
    held = path.read_bytes()
    path.write_bytes(held[:at] + bytes([held[at] ^ bit]) + held[at + 1 :])
    return held


def test_one_byte_of_any_recorded_file_is_found_and_the_file_named(home: Home) -> None:
    place = home.sweep("small").root
    missed = []
    for kind in KINDS:
        [path] = place.glob(kind)
        held = flipped(path, path.stat().st_size // 2)
        if str(path.relative_to(home.root)) not in found(home):
            missed.append(kind)
        path.write_bytes(held)
    assert missed == []
    assert found(home) == {}


def test_no_byte_of_a_state_file_may_be_another_one(home: Home) -> None:
    path = home.sweep("small").state("c1")
    missed = []
    for at in range(0, path.stat().st_size, 11):
        held = flipped(path, at)
        if not any(fault.file == path for fault in of_states(home.sweep("small"))):
            missed.append(held[max(0, at - 10) : at + 10])
        path.write_bytes(held)
    assert missed == []


def test_no_byte_of_a_sealed_file_may_be_another_one(home: Home) -> None:
    path = home.sweep("small").root / "landing" / "c1" / "campaign.json"
    missed = []
    from drysweep_pipeline.keeping.landed import faults_of

    for at in range(0, path.stat().st_size, 7):
        held = flipped(path, at)
        if not any(fault.file == path and not fault.note for fault in faults_of(home.sweep("small"))):
            missed.append(held[max(0, at - 10) : at + 10])
        path.write_bytes(held)
    assert missed == []


@pytest.mark.parametrize("where", ["history/history.duckdb", "sweeps/small/ledger.duckdb"])
def test_one_byte_of_a_database_is_found_and_the_file_named(home: Home, where: str) -> None:
    path = home.root / where
    held = path.read_bytes()
    at = held.find(b"it has an owner now")
    assert at > 0
    flipped(path, at)
    assert where in found(home)


def test_one_byte_of_a_published_parquet_file_is_found_and_mended_by_a_rebuild(home: Home) -> None:
    files = sorted(home.parquet.rglob("*.parquet"))
    assert files
    for path in (files[0], home.parquet / "small.json"):
        flipped(path, path.stat().st_size // 2)
        assert str(path.relative_to(home.root)) in found(home)
        rebuild(home, "small")
        assert found(home) == {}


def test_a_published_parquet_file_too_many_and_a_list_of_them_that_is_gone_are_named(home: Home) -> None:
    file = sorted(home.parquet.rglob("rounds.parquet"))[0]
    extra = file.with_name("rounds_1.parquet")
    shutil.copy(file, extra)
    assert found(home) == {str(extra.relative_to(home.root)): "it is none of what was published"}
    extra.unlink()
    (home.parquet / "small.json").unlink()
    assert set(found(home)) == {"history/parquet/small.json"}
    rebuild(home, "small")
    assert found(home) == {}


def test_a_home_or_a_sweep_that_is_not_there_is_not_said_to_be_well(home: Home, capsys: Any) -> None:
    for command in ("verify", "campaigns", "prune"):
        assert main([command, "--home", str(home.root / "nosuch"), "--json"]) == 2
        assert json.loads(capsys.readouterr().out)["code"] == "not_found"
        assert main([command, "--home", str(home.history)]) == 2
        capsys.readouterr()
    shutil.rmtree(home.sweep("small").root)
    assert main(["verify", "--home", str(home.root)]) == 7
    assert "BAD  sweeps/small: it is gone, and the history knows the sweep" in capsys.readouterr().out
    shutil.rmtree(home.root)
    home.root.mkdir()
    for command in ("verify", "campaigns", "prune"):
        assert main([command, "--home", str(home.root)]) == 0


def test_a_home_that_cannot_be_made_is_refused_before_anything_is_recorded(home: Home, capsys: Any) -> None:
    sweep = str(declare(home.root.parent, {"labels": NO_OWNER}))
    registry(home.root.parent / "registry", {"api": None})
    for root in (home.history, home.history / "below", Path("/proc/nosuch")):
        assert main(["run", sweep, "--home", str(root), "--json"]) == 2
        assert json.loads(capsys.readouterr().out)["key"] == "--home"


def changed(home: Home, sql: str) -> None:
    with duckdb.connect(str(home.sweep("small").ledger)) as connection:
        connection.execute(sql)


@pytest.mark.parametrize(
    ("sql", "table"),
    [
        ("insert into seen select * from seen limit 1", "seen: 1 too many"),
        ("delete from sightings where round = 2", "sightings: 0 too many, 2 missing (c1 round 2 labels"),
        ("delete from rounds where round = 3", "rounds: 0 too many, 1 missing (c1 round 3"),
        ("update rounds set fresh = 7 where round = 1", "rounds: 1 too many, 1 missing (c1 round 1"),
        ("update verdicts set verdict = 'rejected'", "verdicts: 2 too many, 2 missing"),
        ("update campaigns set outcome = 'failed'", "campaigns: 1 too many, 1 missing (c1"),
        ("delete from events", "events: 0 too many"),
        ("drop table lives cascade", "lives"),
    ],
)
def test_a_ledger_that_says_otherwise_than_the_landing_is_named_by_table_and_row(
    home: Home, sql: str, table: str
) -> None:
    changed(home, sql)
    said = found(home)["sweeps/small/ledger.duckdb"]
    assert table in said


def test_a_history_that_says_otherwise_is_named_by_view_and_campaign(home: Home) -> None:
    with duckdb.connect(str(home.history)) as connection:
        connection.execute("delete from published.sightings where round = 3")
    assert "sightings of c1" in found(home)["history/history.duckdb"]


@pytest.mark.parametrize(
    ("gone", "said"),
    [
        ("landing/c1/r002", "the round is gone, and later ones are there"),
        ("landing/c1/r001/manifest.json", "it is gone, and the round was decided"),
        ("landing/c1/r003/verdicts.parquet", "corrupt_artifact: the landed file is gone"),
        ("landing/c1/campaign.json", "nobody knows whose it is"),
        ("state/c1.json", "it is gone"),
        ("ledger.duckdb", "it is gone"),
    ],
)
def test_what_is_gone_is_named(home: Home, gone: str, said: str) -> None:
    path = home.sweep("small").root / gone
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert said in " ".join(found(home).values())


def test_a_file_that_does_not_belong_there_is_named_and_one_that_a_dead_process_left_is_a_note(home: Home) -> None:
    place = home.sweep("small").root
    (place / "landing" / "c1" / "r001" / "mine.txt").write_text("x")
    (place / "landing" / "c1" / "r001" / "labels.a2.parquet").write_text("x")
    (place / "landing" / "c1" / "r001" / ".plan.json.123.part").write_text("x")
    assert {Path(name).name for name in found(home)} == {"mine.txt", "labels.a2.parquet"}
    notes = [fault for fault in verify(home, "small") if fault.note]
    assert [fault.file.name for fault in notes] == [".plan.json.123.part"]


def test_a_round_under_way_is_no_fault_wherever_it_stands(home: Home) -> None:
    from drysweep_pipeline.engine import rounds

    place = home.root.parent
    registry(place / "registry", {"api": None})
    campaign = begin(declare(place, {"labels": NO_OWNER}, convergence={"rule": "dry", "k": 3}), home, campaign="c2")
    take_lease(campaign.state_path)
    plan(campaign, 1)
    assert found(home) == {}
    list(wave(campaign, 1))
    assert found(home) == {}
    rounds.take_in(campaign, 1)
    assert found(home) == {}
    rounds.judge(campaign, 1)
    assert found(home) == {}
    rounds.decide(campaign, 1)
    assert found(home) == {}
    drop_lease(campaign.state_path)


def test_the_command_says_which_file_and_what_helps_and_exits_with_7(home: Home, capsys: Any) -> None:
    assert main(["verify", "--home", str(home.root)]) == 0
    assert capsys.readouterr().out == "small: everything is as it was recorded\n"
    flipped(home.sweep("small").root / "landing" / "c1" / "r001" / "labels.a1.parquet", 40)
    assert main(["verify", "small", "--home", str(home.root)]) == 7
    out = capsys.readouterr().out
    assert "BAD  sweeps/small/landing/c1/r001/labels.a1.parquet: corrupt_artifact" in out
    assert main(["verify", "--home", str(home.root), "--json"]) == 7
    told = json.loads(capsys.readouterr().out)
    assert (told["ok"], told["sweeps"], len(told["faults"])) == (False, ["small"], 1)
    assert main(["verify", "nosuch", "--home", str(home.root)]) == 2

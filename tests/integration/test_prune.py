"""What may go of a sweep goes, and says so; what was found and decided stays, and so does what is still needed."""

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from drysweep_pipeline.cli import main
from drysweep_pipeline.engine import deeds
from drysweep_pipeline.engine.campaign import load
from drysweep_pipeline.engine.planning import plan, read_plan
from drysweep_pipeline.engine.state import change_state
from drysweep_pipeline.history import history
from drysweep_pipeline.home import Home
from drysweep_pipeline.keeping.gone import write_gone
from drysweep_pipeline.keeping.pruning import Limits, look, prune
from drysweep_pipeline.keeping.rebuilding import rebuild
from drysweep_pipeline.keeping.verifying import verify
from drysweep_pipeline.lifecycle import Act, Deed
from tests.sweeps import AS_OF, NO_OWNER, begin, declare, registry, run_to_its_end


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four campaigns over four states of a registry, with reports."""
    place = tmp_path_factory.mktemp("prune")
    path = declare(place, {"labels": NO_OWNER})
    home = Home(place / "home")
    for day in (1, 2, 3, 4):
        registry(place / "registry", {f"service{number}": None for number in range(day)})
        run_to_its_end(begin(path, home, campaign=f"c{day}", as_of=AS_OF.replace(day=day)))
        home.sweep("small").report(f"c{day}", ".md").parent.mkdir(parents=True, exist_ok=True)
        home.sweep("small").report(f"c{day}", ".md").write_text("a report")
    return place


@pytest.fixture
def home(swept: Path, tmp_path: Path) -> Home:
    shutil.copytree(swept, tmp_path / "place")
    return Home(tmp_path / "place" / "home")


def snapshot_of(home: Home, campaign: str) -> Path:
    planned = read_plan(load(home, "small", campaign), 1)
    assert planned is not None
    return home.sweep("small").snapshots / planned.snapshot


def told(home: Home) -> list[tuple]:
    with history(home) as connection:
        views = ("campaigns", "rounds", "all_findings", "sightings", "events")
        return [row for view in views for row in connection.execute(f"from {view} order by all").fetchall()]


def test_snapshots_and_reports_of_old_campaigns_go_and_nothing_that_was_found_does(home: Home) -> None:
    before = told(home)
    kept = {path: path.read_bytes() for path in (home.sweep("small").root / "landing").rglob("*") if path.is_file()}
    done = prune(home, "small", Limits(keep=2))
    assert {each.path for each in done.goes} == {
        *(snapshot_of(home, name) for name in ("c1", "c2")),
        *(home.sweep("small").report(name, ".md") for name in ("c1", "c2")),
    }
    assert not any(each.path.exists() for each in done.goes)
    assert {path: path.read_bytes() for path in kept} == kept
    assert told(home) == before
    assert [fault for fault in verify(home, "small") if not fault.note] == [], "pruned is not lost"
    assert rebuild(home, "small").differs == ()
    assert look(home, "small", Limits(keep=2)).goes == ()


def test_a_snapshot_that_was_pruned_is_missed_again_where_it_was_read_after_that(home: Home) -> None:
    was = snapshot_of(home, "c4")
    write_gone(home.sweep("small"), was.name, "2026-01-01T00:00:00+00:00")
    shutil.rmtree(was)
    [fault] = [fault for fault in verify(home, "small") if not fault.note]
    assert (fault.file, fault.what) == (was, "the snapshot that landing/c4/r001/plan.json names is gone")
    write_gone(home.sweep("small"), was.name, datetime.now(UTC).isoformat())
    assert [fault for fault in verify(home, "small") if not fault.note] == []


def test_a_link_among_the_snapshots_goes_itself_and_not_what_it_leads_to(home: Home) -> None:
    elsewhere = home.root.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "mine.txt").write_text("x")
    link = home.sweep("small").snapshots / "link"
    link.symlink_to(elsewhere)
    assert link in {each.path for each in prune(home, "small", Limits(keep=1)).goes}
    assert not link.is_symlink()
    assert (elsewhere / "mine.txt").read_text() == "x"


def test_a_list_of_what_was_pruned_that_is_none_is_named(home: Home) -> None:
    prune(home, "small", Limits(keep=1))
    listed = home.sweep("small").root / "pruned.json"
    listed.write_text("{")
    assert listed in {fault.file for fault in verify(home, "small") if not fault.note}


def test_without_a_limit_nothing_is_old_and_only_leftovers_go(home: Home) -> None:
    place = home.sweep("small")
    (place.landing("c1") / "r001" / ".plan.json.999999.part").write_text("x")
    orphans = place.landing("c2") / "r001" / "orphans"
    orphans.mkdir()
    (orphans / "labels.a1.parquet").write_text("x")
    (place.snapshots / ".gone.abc").mkdir()
    done = prune(home, "small", Limits())
    assert sorted(each.path.name for each in done.goes) == [".gone.abc", ".plan.json.999999.part", "orphans"]
    assert len(list(place.snapshots.iterdir())) == 4


def test_the_last_campaign_and_those_that_have_not_ended_keep_their_snapshots_and_say_why(home: Home) -> None:
    path = home.root.parent / "sweep.yaml"
    registry(home.root.parent / "registry", {"early": None})
    going = begin(path, home, campaign="c0", as_of=AS_OF.replace(year=2025))
    plan(going, 1)
    found = look(home, "small", Limits(keep=1))
    why = {each.path: each.why for each in found.stays}
    assert why[snapshot_of(home, "c0")] == "c0 has not ended"
    assert why[snapshot_of(home, "c4")] == "c4 is the last one"
    assert len(why) == 2


def test_a_snapshot_that_somebody_points_at_as_evidence_stays(home: Home) -> None:
    digest = snapshot_of(home, "c1").name
    contest = Deed(Act.CONTEST, "ann", f"sha256:{digest}", "it was never there")
    deeds.act(load(home, "small", "c4"), [deeds.Asked("service0/no_owner", contest)])
    why = {each.path.name: each.why for each in look(home, "small", Limits(keep=1)).stays}
    assert why[digest] == "an action of c4 points at it"


def test_what_evidence_may_still_close_is_kept_where_evidence_closes(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    for day, owners in ((1, {"a": None, "b": None}), (2, {"b": None, "c": None})):
        shutil.rmtree(tmp_path / "registry", ignore_errors=True)
        registry(tmp_path / "registry", owners)
        path = declare(tmp_path, {"labels": NO_OWNER}, labels={"proves_absence": False}, fixed_by="evidence")
        run_to_its_end(begin(path, home, campaign=f"c{day}", as_of=AS_OF.replace(day=day)))
    why = [each.why for each in look(home, "small", Limits(keep=1)).stays]
    assert "c1 saw open findings last, and evidence may close them" in why


def test_the_command_only_shows_what_would_go_unless_it_is_told_yes(home: Home, capsys: Any) -> None:
    given = ["prune", "small", "--keep-campaigns", "3", "--home", str(home.root)]
    snapshot = snapshot_of(home, "c1")
    assert main(given) == 0
    out = capsys.readouterr().out
    assert f"would go: sweeps/small/snapshots/{snapshot.name} (snapshot, " in out
    assert "--yes removes them" in out
    assert snapshot.exists()
    assert main([*given, "--yes", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["removed"], [each["kind"] for each in said["sweeps"][0]["goes"]]) == (True, ["snapshot", "report"])
    assert not snapshot.exists()
    assert main(["prune", "--older-than", "1d", "--home", str(home.root)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "nothing may go"
    for wrong in (["--keep-campaigns", "0"], ["--older-than", "soon"]):
        assert main(["prune", *wrong, "--home", str(home.root)]) == 2


def test_nothing_goes_while_a_process_works_on_the_sweep(home: Home) -> None:
    lease = {"host": "elsewhere", "pid": 1, "started": 1.0, "holder": None}
    change_state(home.sweep("small").state("c4"), lease=lease)
    assert main(["prune", "--keep-campaigns", "1", "--yes", "--home", str(home.root)]) == 75
    assert len(list(home.sweep("small").snapshots.iterdir())) == 4


@pytest.mark.parametrize("where", ["_out_of_the_way", "shutil.rmtree"])
def test_a_prune_that_is_killed_leaves_nothing_that_is_missed_and_the_next_one_ends_it(
    home: Home, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    old = snapshot_of(home, "c1")
    with monkeypatch.context() as patched:
        patched.setattr(f"drysweep_pipeline.keeping.pruning.{where}", dies)
        with pytest.raises(KeyboardInterrupt):
            prune(home, "small", Limits(keep=3))
    assert [fault for fault in verify(home, "small") if not fault.note] == []
    prune(home, "small", Limits(keep=3))
    assert not old.exists()
    assert list(verify(home, "small")) == []

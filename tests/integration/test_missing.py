"""What is landed no more, though it was taken in: named, and not lost by a rebuild that nobody was warned of."""

import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

from drysweep_pipeline.cli import main
from drysweep_pipeline.engine import deeds
from drysweep_pipeline.history import history
from drysweep_pipeline.home import Home
from drysweep_pipeline.keeping.verifying import verify
from drysweep_pipeline.lifecycle import Act, Deed
from tests.sweeps import AS_OF, NO_OWNER, begin, declare, registry, run_to_its_end


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with two campaigns and an accepted risk."""
    place = tmp_path_factory.mktemp("missing")
    registry(place / "registry", {"api": None, "web": "team"})
    path, home = declare(place, {"labels": NO_OWNER}), Home(place / "home")
    first = run_to_its_end(begin(path, home, campaign="c1"))
    deeds.act(first, [deeds.Asked("api/no_owner", Deed(Act.ACCEPT_RISK, "ann", reason="for now"))])
    run_to_its_end(begin(path, home, campaign="c2", as_of=AS_OF.replace(day=9)))
    return home.root


@pytest.fixture
def home(swept: Path, tmp_path: Path) -> Home:
    shutil.copytree(swept, tmp_path / "home")
    return Home(tmp_path / "home")


def found(home: Home) -> dict[str, str]:
    return {fault.named(home): fault.what for fault in verify(home, "small") if not fault.note}


def gone(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


GONE = {
    "c1/actions/000001.json": "action 1 of c1 is gone, and the ledger took it in",
    "c2/r002": "round 2 of c2 is gone, and the ledger took it in",
    "c1/r003/decision.json": "it is gone",
    "c1": "campaign c1 is gone, and the ledger has 3 rounds and 1 action of it",
    "c1/r001/churn.json": "it is gone, and the ledger took round 1 of c1 in",
    "c1/r001/judged.json": "it is gone, and the ledger took round 1 of c1 in",
}


@pytest.mark.parametrize("path", GONE)
def test_what_was_taken_in_and_is_landed_no_more_is_named_and_a_rebuild_without_it_is_refused(
    home: Home, path: str, capsys: Any
) -> None:
    place = home.sweep("small").root / "landing"
    ledger = home.sweep("small").ledger.read_bytes()
    gone(place / path)
    assert main(["verify", "small", "--home", str(home.root)]) == 7
    printed = capsys.readouterr().out
    [line] = [line for line in printed.splitlines() if line.startswith(f"BAD  sweeps/small/landing/{path}: ")]
    assert GONE[path] in line
    assert line.endswith("(restore it from a copy)")
    assert "rebuild" not in printed.replace("`drysweep rebuild small` writes it anew", "")
    assert main(["rebuild", "small", "--home", str(home.root), "--json"]) == 7
    refused = json.loads(capsys.readouterr().out)
    assert refused["file"] == str(place / path)
    assert home.sweep("small").ledger.read_bytes() == ledger


def test_what_is_gone_is_known_from_the_history_where_the_ledger_is_gone_too(home: Home, capsys: Any) -> None:
    place = home.sweep("small")
    gone(place.landing("c2"))
    place.ledger.unlink()
    said = "campaign c2 is gone, and the history has 2 rounds of it"
    assert said in found(home)["sweeps/small/landing/c2"]
    assert main(["rebuild", "small", "--home", str(home.root)]) == 7
    assert said in capsys.readouterr().err


def test_what_is_gone_for_good_can_be_given_up_by_saying_so(home: Home, capsys: Any) -> None:
    place = home.sweep("small")
    gone(place.landing("c2"))
    gone(place.actions("c1"))
    assert main(["rebuild", "small", "--without-missing", "--home", str(home.root), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["given_up"] == ["c2"]
    with history(home) as connection:
        assert connection.execute("select campaign from campaigns").fetchall() == [("c1",)]
        assert connection.execute("select state from findings").fetchall() == [("open",)]
    # Whoever launches rounds would still read its state.
    assert not list((place.root / "state").glob("c2*"))
    assert found(home) == {}


def aged(home: Home, campaign: str) -> None:
    """Make a campaign look as an earlier drysweep left it: no seals, and another end in ledger and history."""
    for path in home.sweep("small").landing(campaign).rglob("*.json"):
        data = json.loads(path.read_text())
        data.pop("seal", None)
        path.write_text(json.dumps(data, indent=1))
    later = "update {} set ended_at = ended_at + interval 3 milliseconds where campaign = ?"
    for file, table in ((home.sweep("small").ledger, "campaigns"), (home.history, "published.campaigns")):
        with duckdb.connect(str(file)) as connection:
            connection.execute(later.format(table), [campaign])


def test_a_history_with_the_views_of_an_earlier_version_is_held_against_the_ledger_by_those_of_this_one(
    home: Home,
) -> None:
    with duckdb.connect(str(home.history)) as connection:
        connection.execute("create or replace view campaigns as select sweep, campaign from published.campaigns")
        connection.execute("update published.edition set views = 'of before'")
    before = home.history.read_bytes()
    assert found(home) == {}
    assert home.history.read_bytes() == before
    with duckdb.connect(str(home.history)) as connection:
        connection.execute("delete from published.rounds where round = 2")
    assert "rounds of c1, c2" in found(home)["history/history.duckdb"]


def test_a_history_with_the_views_of_an_earlier_version_is_read_by_those_of_this_one(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    question = ["sql", "select count(*) as n from campaign_diff('c1', 'c2') where raised_from is null", "--json"]
    asked = (["status", "small/c2", "--json"], ["report", "small/c2", "--format", "csv"], question)

    def told() -> list[str]:
        for words in asked:
            assert main([*words, "--home", str(home.root)]) == 0
        return capsys.readouterr().out.splitlines()

    now = told()
    with duckdb.connect(str(home.history)) as connection:
        connection.execute("drop macro table campaign_diff")
        connection.execute("create or replace view campaigns as select sweep, campaign from published.campaigns")
        connection.execute("update published.edition set views = 'of before'")
    before = home.history.read_bytes()
    assert told() == now
    assert home.history.read_bytes() == before


def test_an_earlier_versions_campaign_that_ended_when_it_was_published_is_a_note_and_no_fault(home: Home) -> None:
    aged(home, "c1")
    assert found(home) == {}
    assert any("the end of c1" in fault.what for fault in verify(home, "small") if fault.note)
    # Whatever else differs is a fault in such a campaign, as another end is in one of this version.
    with duckdb.connect(str(home.sweep("small").ledger)) as connection:
        connection.execute("update campaigns set quiet = 7 where campaign = 'c1'")
        connection.execute("update campaigns set ended_at = ended_at + interval 1 second where campaign = 'c2'")
    assert "campaigns: 2 too many, 2 missing (c1, c2" in found(home)["sweeps/small/ledger.duckdb"]

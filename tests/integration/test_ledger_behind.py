"""A ledger that is behind its landing, such as none or an old copy, is not gone on with; a history is made up."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from drysweep_pipeline.cli import main
from drysweep_pipeline.engine import rounds
from drysweep_pipeline.engine.campaign import load
from drysweep_pipeline.engine.deeds import Asked, act
from drysweep_pipeline.engine.planning import plan
from drysweep_pipeline.engine.wave import wave
from drysweep_pipeline.errors import IntegrityError, Refused
from drysweep_pipeline.history import history
from drysweep_pipeline.home import Home
from drysweep_pipeline.lifecycle import Act, Deed
from tests.sweeps import NO_OWNER, begin, declare, ledger_rows, registry, run_to_its_end, steps


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a sweep and a home in which one campaign ended and another is past its first round."""
    place = tmp_path_factory.mktemp("behind")
    registry(place / "registry", {"api": None, "web": "team"})
    home, file = Home(place / "home"), declare(place, {"labels": NO_OWNER})
    run_to_its_end(begin(file, home, campaign="c1"))
    shutil.copy(home.sweep("small").ledger, place / "old.duckdb")
    steps(begin(file, home, campaign="c2"), 1)
    return place


def gone(ledger: Path, old: Path) -> None:
    ledger.unlink()


def emptied(ledger: Path, old: Path) -> None:
    ledger.write_bytes(b"")


def restored(ledger: Path, old: Path) -> None:
    shutil.copy(old, ledger)


@pytest.mark.parametrize("put", [gone, emptied, restored])
def test_nothing_goes_on_with_a_ledger_that_lacks_what_was_landed_until_it_is_rebuilt(
    swept: Path, tmp_path: Path, put: Any, capsys: Any
) -> None:
    shutil.copytree(swept / "home", tmp_path / "home")
    place = Home(tmp_path / "home").sweep("small")
    put(place.ledger, swept / "old.duckdb")
    landed = sorted(place.root.glob("landing/**/*"))
    at = ["--home", str(tmp_path / "home"), "--json"]
    for command in (
        ["run", str(swept / "sweep.yaml"), "--campaign", "c3"],
        ["run", str(swept / "sweep.yaml"), "--campaign", "c2", "--as-of", "2026-01-01"],
        ["resume", "small/c2"],
        ["stop", "small/c2", "--by", "ann"],
        ["findings", "fix", "api/no_owner", "--by", "ann", "--evidence", "file:services/api.yaml:1"],
    ):
        assert main([*command, *at]) == 7, command
        said = json.loads(capsys.readouterr().out)
        assert (said["code"], said["file"]) == ("integrity", str(place.ledger))
        assert "drysweep rebuild small" in said["help"]
    assert sorted(place.root.glob("landing/**/*")) == landed
    assert place.ledger.exists() == (put is not gone)
    assert main(["rebuild", "small", *at]) == 0
    capsys.readouterr()
    assert main(["verify", "small", *at]) == 0


def test_a_round_is_not_taken_into_a_ledger_that_was_taken_away_while_it_was_searched(
    swept: Path, tmp_path: Path
) -> None:
    shutil.copytree(swept / "home", tmp_path / "home")
    home = Home(tmp_path / "home")
    campaign = begin(swept / "sweep.yaml", home, campaign="c2")
    plan(campaign, 2)
    list(wave(campaign, 2))
    restored(campaign.home.ledger, swept / "old.duckdb")
    before = ledger_rows(campaign)
    with pytest.raises(IntegrityError, match="lacks round 1 of c2"):
        rounds.take_in(campaign, 2)
    assert ledger_rows(campaign) == before
    assert not (campaign.folder(2) / "decision.json").exists()


def test_a_history_and_a_state_file_that_are_none_are_refused_with_what_makes_them_again(
    swept: Path, tmp_path: Path, capsys: Any
) -> None:
    shutil.copytree(swept / "home", tmp_path / "home")
    home = Home(tmp_path / "home")
    at = ["--home", str(home.root), "--json"]
    for file, code in ((home.history, 2), (home.sweep("small").state("c2"), 7)):
        file.unlink()
        if code == 7:
            file.write_text("no state")
        assert main(["status", "small/c2", *at]) == code
        assert "`drysweep rebuild small`" in json.loads(capsys.readouterr().out)["help"]
        assert main(["rebuild", "small", *at]) == 0
        capsys.readouterr()
        assert main(["status", "small/c2", *at]) == 0
        capsys.readouterr()


def test_what_was_done_to_a_finding_before_a_process_died_is_published_by_whoever_acts_next(
    swept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    shutil.copytree(swept / "home", tmp_path / "home")
    home = Home(tmp_path / "home")
    campaign = load(home, "small", "c2")
    fix = [Asked("api/no_owner", Deed(Act.FIX, "ann", "https://example.org/1"))]
    with monkeypatch.context() as patched:
        patched.setattr("drysweep_pipeline.engine.deeds.standing.publish", dies)
        with pytest.raises(KeyboardInterrupt):
            act(campaign, fix)
    with pytest.raises(Refused):
        act(campaign, fix)
    with history(home) as connection:
        [(state,)] = connection.execute("select state from findings where subject = 'api'").fetchall()
    assert state == "fixed"

"""A ledger with a part that cannot be read: each command says so, with file and help."""

import json
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

from drysweep_pipeline.cli import main
from drysweep_pipeline.home import Home
from tests.sweeps import NO_OWNER, begin, declare, registry, run_to_its_end

_BLOCK = 262_144


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a sweep and a home in which it converged once."""
    place = tmp_path_factory.mktemp("damaged")
    registry(place / "registry", {"api": None, "web": "team"})
    run_to_its_end(begin(declare(place, {"labels": NO_OWNER}), Home(place / "home"), campaign="c1"))
    return place


def cut(ledger: Path) -> None:
    ledger.write_bytes(ledger.read_bytes()[: ledger.stat().st_size // 2])


def flip(ledger: Path) -> None:
    """Turn a bit over in each block, so that one is met whatever is read."""
    held = bytearray(ledger.read_bytes())
    for at in range(12_288 + 600, len(held), _BLOCK):
        held[at] ^= 1
    ledger.write_bytes(held)


@pytest.mark.parametrize("damage", [cut, flip])
def test_a_ledger_with_a_part_that_cannot_be_read_is_named_by_every_command_that_opens_it(
    swept: Path, tmp_path: Path, damage: Any, capsys: Any
) -> None:
    shutil.copytree(swept / "home", tmp_path / "home")
    home = Home(tmp_path / "home")
    ledger = home.sweep("small").ledger
    damage(ledger)
    at = ["--home", str(home.root), "--json"]
    assert main(["verify", "small", *at]) == 7
    [fault] = [each for each in json.loads(capsys.readouterr().out)["faults"] if "ledger" in each["file"]]
    assert "drysweep rebuild small" in fault["help"]
    assert main(["run", str(swept / "sweep.yaml"), *at]) == 7
    refused = json.loads(capsys.readouterr().out)
    assert (refused["code"], refused["file"]) == ("integrity", str(ledger))
    assert "drysweep rebuild small" in refused["help"]
    assert main(["doctor", *at]) == 1
    checks = {each["name"]: each for each in json.loads(capsys.readouterr().out)["checks"]}
    assert not checks["ledger small"]["ok"]
    assert main(["rebuild", "small", *at]) == 0
    capsys.readouterr()
    assert main(["verify", "small", *at]) == 0


def test_a_ledger_that_a_newer_drysweep_wrote_is_refused_and_left_as_it_is(
    swept: Path, tmp_path: Path, capsys: Any
) -> None:
    shutil.copytree(swept / "home", tmp_path / "home")
    ledger = Home(tmp_path / "home").sweep("small").ledger
    with duckdb.connect(str(ledger)) as connection:
        connection.execute("insert into migrations values ('m999_of_tomorrow', now())")
    before = ledger.read_bytes()
    assert main(["run", str(swept / "sweep.yaml"), "--home", str(tmp_path / "home"), "--json"]) == 7
    refused = json.loads(capsys.readouterr().out)
    assert (refused["file"], refused["help"]) == (str(ledger), "upgrade drysweep")
    assert "newer drysweep" in refused["error"]
    assert ledger.read_bytes() == before

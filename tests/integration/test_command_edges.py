"""What people type at the edges: no folder, names like options, spans with a unit, files that are not there."""

import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from drysweep_pipeline.cli import main
from drysweep_pipeline.cli.backfilling import _stepped
from drysweep_pipeline.errors import DeclarationError
from drysweep_pipeline.projects import begin
from tests.sweeps import NO_OWNER, declare, registry


def test_a_project_needs_a_folder_and_one_named_like_an_option_can_be_gone_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", ""]) == 2
    assert list(tmp_path.iterdir()) == []
    assert main(["init", "--", "--json"]) == 0
    assert "  cd ./--json\n" in capsys.readouterr().out


def test_what_a_killed_init_left_is_removed_by_the_next_and_what_is_being_written_is_not(tmp_path: Path) -> None:
    left, fresh = (tmp_path / f".mine.drysweep-init-{name}" for name in ("abc", "def"))
    for stage in (left, fresh):
        (stage / "project").mkdir(parents=True)
    os.utime(left, (time.time() - 7200,) * 2)
    begin(tmp_path / "mine")
    assert not left.exists()
    assert fresh.exists()


@pytest.mark.parametrize("every", ["7", "7d", "1w"])
def test_a_backfill_takes_its_step_with_a_unit_as_well(every: str) -> None:
    first, last = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 20, tzinfo=UTC)
    assert [each.day for each in _stepped(first, last, every)] == [1, 8, 15]


@pytest.mark.parametrize("every", ["0", "0d", "7h", "d", "", "-7d"])
def test_what_is_no_number_of_days_is_refused(every: str) -> None:
    with pytest.raises(DeclarationError, match="is no number of days"):
        _stepped(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 20, tzinfo=UTC), every)


def test_a_scenario_that_is_refused_has_the_code_of_its_error(capsys: Any) -> None:
    assert main(["replay", "nosuch.yaml", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["code"] == "declaration"


def test_a_plan_says_whose_word_its_bound_depends_on(tmp_path: Path, capsys: Any) -> None:
    registry(tmp_path / "registry", {"api": None})
    path = declare(tmp_path, {"labels": NO_OWNER})
    declared = json.loads(path.read_text())
    [strategy] = declared["attributes"]["strategies"]
    declared["attributes"]["strategies"] = [strategy, {"name": "program", "kind": "command", "argv": ["true"]}]
    path.write_text(json.dumps(declared))
    assert main(["plan", str(path), "--json", "--home", str(tmp_path / "home")]) == 0
    assert json.loads(capsys.readouterr().out)["at_most_if_kept_by"] == ["program"]
    assert main(["plan", str(path), "--home", str(tmp_path / "home")]) == 0
    assert "the bound is that of program keeping to it" in capsys.readouterr().out


def test_an_interruption_in_the_first_moments_leaves_no_traceback() -> None:
    script = (
        "import builtins, sys\n"
        "real = builtins.__import__\n"
        "def typed(name, *rest, **more):\n"
        "    if name == 'typer':\n"
        "        raise KeyboardInterrupt\n"
        "    return real(name, *rest, **more)\n"
        "builtins.__import__ = typed\n"
        "import drysweep_pipeline.cli\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


@pytest.mark.parametrize(
    ("words", "key", "says"),
    [
        (["run", "SWEEP", "--home", ""], "home", "a home needs a folder"),
        (["campaigns", "--home", " "], "home", "a home needs a folder"),
        (["run", "SWEEP", "--campaign", ""], "campaign", "'' is no campaign id"),
        (["plan", "SWEEP", "--campaign", "a b"], "campaign", "'a b' is no campaign id"),
        (["run", "SWEEP", "--as-of", "yesterday"], "--as-of", "'yesterday' is no instant"),
        (["backfill", "SWEEP", "--from", "x", "--to", "2026-01-01"], "--from", "'x' is no instant"),
        (["backfill", "SWEEP", "--from", "2026-01-01", "--to", "x"], "--to", "'x' is no instant"),
        (["backfill", "SWEEP", "--from", "2026-01-01", "--to", "2026-01-02", "--calls", "0"], "--calls", "no ceiling"),
        (["status", "other/c1"], None, "no sweep 'other'"),
        (["run", "./registry"], None, "the folder has no defs.yaml"),
        (["demo", "--registry", "SWEEP"], "--registry", "no registry can be written there"),
        (["demo", "--home", "SWEEP/x"], "--home", "is no folder"),
        (["init", "SWEEP/x"], None, "no project can be written there"),
    ],
)
def test_what_cannot_be_taken_is_refused_by_name_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, words: list[str], key: str | None, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DRYSWEEP_HOME", str(tmp_path / "home"))
    registry(tmp_path / "registry", {"api": None})
    sweep = str(declare(tmp_path, {"labels": NO_OWNER}))
    (tmp_path / "home").mkdir(mode=0o700)
    before = sorted(tmp_path.rglob("*"))
    assert main([*(word.replace("SWEEP", sweep) for word in words), "--json"]) == 2
    told = json.loads(capsys.readouterr().out)
    assert (told["key"], told["help"] is not None) == (key, True)
    assert says in told["error"]
    found = [path for path in sorted(tmp_path.rglob("*")) if "home/sweeps" not in str(path)]
    assert found == before


def test_a_plan_of_a_backfill_writes_nothing(tmp_path: Path, capsys: Any) -> None:
    registry(tmp_path / "registry", {"api": None})
    sweep = declare(tmp_path, {"labels": NO_OWNER})
    before = sorted(tmp_path.rglob("*"))
    dates = ["--from", "2026-01-01", "--to", "2026-01-02", "--every", "1"]
    assert main(["backfill", str(sweep), *dates, "--plan", "--home", str(tmp_path / "home")]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "2 campaigns, at most 400 calls together"
    assert sorted(tmp_path.rglob("*")) == before

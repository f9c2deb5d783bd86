"""The cookbook's page says what the named queries are, and what they answer on the demo's registry."""

import json
import re
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from drysweep_pipeline import landing
from drysweep_pipeline.cli import main
from drysweep_pipeline.home import Home
from drysweep_pipeline.values import RoundKey
from tests.cookbook import HEAD, PAGE, page, swept

FIRST = "20250601T000000Z"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return swept(tmp_path_factory.mktemp("cookbook"))


@pytest.fixture(scope="module")
def landed(home: Home) -> list[dict[str, set[str]]]:
    """What each strategy reported in each round of the first campaign, from the files that it left."""
    rounds = []
    for number in range(1, 6):
        folder = home.sweep("config_registry").round(RoundKey(FIRST, number))
        files = {path.name.split(".")[0]: path for path in landing.readable(folder)}
        rounds.append({name: {str(fp) for fp in _column(path, "fp")} for name, path in files.items()})
    return rounds


def _column(path: Path, name: str) -> list[Any]:
    values: list[Any] = pq.ParquetFile(path).read(columns=[name]).column(name).to_pylist()
    return values


def ask(home: Home, capsys: pytest.CaptureFixture[str], *words: str) -> list[list[Any]]:
    capsys.readouterr()
    assert main(["sql", *words, "--home", str(home.root), "--json"]) == 0
    rows: list[list[Any]] = json.loads(capsys.readouterr().out)["rows"]
    return rows


def test_the_page_holds_the_packaged_queries_and_the_answers_that_they_give(home: Home) -> None:
    assert PAGE.read_text(encoding="utf-8") == page(home), "python -m tests.cookbook writes it anew"


def test_the_answers_are_what_the_landed_files_add_up_to(
    home: Home, landed: list[dict[str, set[str]]], capsys: pytest.CaptureFixture[str]
) -> None:
    of_first = ("-p", f"campaign={FIRST}")
    met: set[str] = set()
    fresh = []
    for wave in landed:
        now = set().union(*wave.values())
        fresh.append(len(now - met))
        met |= now
    assert [row[1] for row in ask(home, capsys, "fresh_per_round", *of_first)] == fresh
    assert [row[2] for row in ask(home, capsys, "fixed_passes", *of_first)] == [
        sum(fresh[passes:]) for passes in range(1, 6)
    ]

    reached = {name: set().union(*(wave.get(name, set()) for wave in landed)) for name in landed[0]}
    overlap = {(row[0], row[1]): row[4] for row in ask(home, capsys, "strategy_overlap", *of_first)}
    names = sorted(reached)
    assert overlap == {(a, b): len(reached[a] & reached[b]) for a in names for b in names if a < b}

    sighted = Counter(fp for found in reached.values() for fp in found)
    rejected = {row[0] for row in ask(home, capsys, "select fp from all_findings where verdict = 'rejected'")}
    alone = Counter(name for name, found in reached.items() for fp in found if sighted[fp] == 1 and fp not in rejected)
    assert Counter(row[0] for row in ask(home, capsys, "found_by_one", *of_first)) == alone


def test_the_eight_that_are_rejected_came_back_as_often_as_the_landed_files_say(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    reported: Counter[str] = Counter()
    for campaign, rounds in ask(home, capsys, "select campaign, rounds from campaigns"):
        for number in range(1, rounds + 1):
            files = landing.readable(home.sweep("config_registry").round(RoundKey(campaign, number)))
            reported.update({str(fp) for path in files for fp in _column(path, "fp")})
    rejected = ask(home, capsys, "select label, fp from all_findings where verdict = 'rejected'")
    assert len(rejected) == 8
    told = {row[0]: row[2] for row in ask(home, capsys, "rejected_again")}
    assert told == {label: reported[fp] for label, fp in rejected}


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", HEAD.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def test_what_the_page_says_first_can_be_typed_as_it_stands(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DRYSWEEP_HOME", str(home.root))
    [typed] = blocks("sh")
    commands = [shlex.split(line, comments=True) for line in typed.splitlines()]
    assert len(commands) > 4
    for command in commands:
        assert main(command[1:]) == 0, command
    [own] = blocks("sql")
    (tmp_path / "queries").mkdir()
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "queries" / "blockers.sql").write_text(own, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert ask(home, capsys, "blockers", "-p", "least=2")
    (tmp_path / ".drysweep").symlink_to(home.root)
    [notebook] = blocks("python")
    exec(notebook, names := {})
    names["history"].close()

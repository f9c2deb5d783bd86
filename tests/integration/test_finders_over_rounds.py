"""Strategies in child processes over whole campaigns: quiet rounds, repeats, fixes that show, a real linter."""

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from drysweep_pipeline.engine import churn, deeds
from drysweep_pipeline.engine.journal import budget_of, standing
from drysweep_pipeline.history import history
from drysweep_pipeline.home import Home
from drysweep_pipeline.lifecycle import Act, Deed
from drysweep_pipeline.reports.summary import summary
from tests.finders import command, declared, function
from tests.repositories import commit, needs_git, repository
from tests.sweeps import begin, registry, run_to_its_end, steps

pytestmark = pytest.mark.usefixtures("three_services")
ONCE = {"rounds": 1, "calls": 20}


def test_rounds_of_finders_in_children_converge_and_a_round_that_one_missed_is_not_quiet(tmp_path: Path) -> None:
    says = """
told = json.load(sys.stdin)
say('api'); say('db') if told["round"] > 1 else None
if told["round"] != 3: end(1 + (told["round"] > 1))
"""
    body = """
sql = "select service from services anti join (from labels where key = ?) using (service)"
for row in material.query(sql, "owner"):
    yield {"service": row["service"], "failure_mode": "no_owner"}
"""
    strategies = [command(tmp_path, "program", says), function(tmp_path, "call", body)]
    home = Home(tmp_path / "home")
    campaign = run_to_its_end(begin(declared(tmp_path, strategies), home))
    told = summary(home, "small", campaign.id)
    assert (told["outcome"], told["new"], told["repeats"]) == ("converged", [3, 1, 0, 0, 0], 0)
    assert [(event["name"], event["round"]) for event in told["events"]] == [("finder_not_run", 3)]
    assert told["calls"] == 2 * 5 + 1


@pytest.mark.parametrize("deterministic", [False, True])
def test_rounds_are_repeats_only_where_a_finder_is_declared_deterministic(tmp_path: Path, deterministic: bool) -> None:
    home = Home(tmp_path / "home")
    mine = command(tmp_path, "mine", "say(); end(1)", deterministic=deterministic)
    campaign = run_to_its_end(begin(declared(tmp_path, [mine]), home))
    assert summary(home, "small", campaign.id)["repeats"] == (2 if deterministic else 0)


@pytest.mark.parametrize(
    ("declares", "state"),
    [
        ({}, "open"),
        ({"deterministic": True}, "open"),
        ({"proves_absence": True}, "open"),
        ({"deterministic": True, "proves_absence": True}, "fixed"),
    ],
)
def test_what_a_child_no_longer_sees_is_fixed_only_where_all_that_it_takes_is_declared(
    tmp_path: Path, declares: dict[str, Any], state: str
) -> None:
    home = Home(tmp_path / "home")
    body = """
for row in material.table("services"):
    if "owner" not in material.text(row["path"]):
        yield {"service": row["service"], "failure_mode": "m"}
"""
    path = declared(tmp_path, [function(tmp_path, "mine", body, **declares)], fixed_by="evidence", budget=ONCE)
    run_to_its_end(begin(path, home))
    registry(tmp_path / "registry", {"api": "team"})
    second = run_to_its_end(begin(path, home, as_of=datetime(2026, 2, 1, tzinfo=UTC)))
    with history(home) as connection:
        found = connection.execute("select state from findings where subject = 'api'").fetchall()
    assert found == [(state,)]
    assert standing(second).due is None


LENGTH = """
for file in material.table("files"):
    lines = len((file["text"] or "").splitlines())
    if not 3 <= lines <= 8:
        kind = "too_long" if lines > 8 else "too_short"
        yield {"subject": file["path"], "scope": file["path"], "path": file["path"], "kind": kind}
"""


@needs_git
@pytest.mark.parametrize("deterministic", [False, True])
def test_a_revert_test_is_made_only_with_who_finds_the_same_again(tmp_path: Path, deterministic: bool) -> None:
    docs = repository(tmp_path / "docs", {"guide.md": "x\n" * 9})
    path = declared(
        tmp_path,
        [function(tmp_path, "length", LENGTH, deterministic=deterministic)],
        material={"kind": "files", "path": "docs"},
        fingerprint={"fields": ["subject", "kind"]},
        convergence={"rule": "clean", "k": 2},
    )
    campaign = begin(path, Home(tmp_path / "home"))
    steps(campaign, 1)
    commit(docs, {"guide.md": "x\n"})
    deeds.act(campaign, [deeds.Asked("guide.md/too_long", Deed(Act.FIX, "ann"))])
    steps(campaign, 2)
    found = churn.read(campaign, 2)
    assert found is not None
    [test] = found.tests
    assert test.answer == ("resolves" if deterministic else "untested")
    assert deterministic or "length is not declared deterministic" in test.reason
    assert budget_of(campaign, 2).used.calls == (2 if deterministic else 1)


RUFF = Path(sys.executable).with_name("ruff")


@pytest.mark.skipif(not RUFF.exists(), reason="ruff is not installed beside this interpreter")
def test_a_real_linter_is_a_strategy(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "a.py").write_text("import os\nprint(undefined)\n")
    (tmp_path / "code" / "b c.py").write_text("import sys\n")
    argv = [
        str(RUFF),
        "check",
        "--isolated",
        "--no-cache",
        "--output-format",
        "sarif",
        "--select",
        "{angle.rules}",
        "{material}",
    ]
    ruff = {
        "name": "ruff",
        "kind": "command",
        "argv": argv,
        "format": "sarif",
        "allow_bare": True,
        "ok_exit_codes": [0, 1],
        "deterministic": True,
        "angles": [{"rules": "F4"}, {"rules": "F8"}],
    }
    path = declared(
        tmp_path, [ruff], material={"kind": "files", "path": "code"}, fingerprint={"fields": ["path", "kind"]}
    )
    home = Home(tmp_path / "home")
    campaign = run_to_its_end(begin(path, home))
    told = summary(home, "small", campaign.id)
    assert (told["outcome"], told["new"], told["repeats"]) == ("converged", [2, 1, 0, 0], 2)
    assert sorted(told["states"]) == ["a.py/F401", "a.py/F821", "b c.py/F401"]

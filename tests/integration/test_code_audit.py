"""The code audit: a real linter, patterns and syntax over a small checkout with faults, and over our own code."""

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from drysweep_pipeline.declaration import read_declaration
from drysweep_pipeline.declaration.advice import warnings
from drysweep_pipeline.declaration.checks import sql_problems
from drysweep_pipeline.engine.campaign import Campaign, Overrides, load
from drysweep_pipeline.engine.quality import merged
from drysweep_pipeline.engine.starting import start
from drysweep_pipeline.errors import MaterialError
from drysweep_pipeline.history import history
from drysweep_pipeline.home import Home
from drysweep_pipeline.reports.summary import summary
from tests.repositories import commit, needs_git
from tests.sweeps import AS_OF, run_to_its_end

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "code_audit"
DECLARED = read_declaration(ROOT / "assets" / "sweeps" / "code_audit" / "defs.yaml")
NAME = DECLARED.sweep.name
pytestmark = needs_git

# What the example's script plants: the file, what is wrong there, and who sees it.
PLANTED = {
    ("broken.py", "invalid-syntax"): {"linter"},
    ("generated/rates.py", "F401"): {"linter", "syntax"},
    ("orders.py", "F401"): {"linter", "syntax"},
    ("orders.py", "B006"): {"linter", "syntax"},
    ("orders.py", "E722"): {"linter", "patterns"},
    ("orders.py", "left_to_do"): {"patterns"},
    ("orders.py", "missing_docstring"): {"syntax"},
    ("orders.py", "S307"): {"linter"},
    ("settings.yaml", "truthy"): {"yaml_linter"},
    ("settings.yaml", "octal-values"): {"yaml_linter"},
    ("settings.yaml", "empty-values"): {"yaml_linter"},
    ("settings.yaml", "key-duplicates"): {"yaml_linter"},
    ("stock.py", "unencrypted_address"): {"patterns"},
    ("stock.py", "hard_coded_address"): {"patterns"},
    ("stock.py", "S102"): {"patterns"},
}


@dataclass(frozen=True)
class Audit:
    """One home, and one campaign after the other over what lies in a folder by then."""

    home: Home
    folder: Path

    def run(self, day: int = 0, **options: Any) -> Campaign:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("CODE_AUDIT_PATH", str(self.folder))
            campaign = start(self.home, DECLARED, as_of=AS_OF + timedelta(days=day), driver="cli", **options)
            # Taken up again as it was recorded, which is what a round of the command line does.
            return run_to_its_end(load(self.home, NAME, campaign.id))

    def told(self, campaign: Campaign) -> dict[str, Any]:
        return summary(self.home, NAME, campaign.id)

    def ask(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with history(self.home) as connection:
            return connection.execute(sql, values).fetchall()


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> tuple[Audit, Campaign]:
    folder = tmp_path_factory.mktemp("audit")
    shutil.copy(EXAMPLE / "begin.sh", folder)
    subprocess.run(["sh", "begin.sh"], cwd=folder, check=True)
    audit = Audit(Home(folder / "home"), folder / "shop")
    return audit, audit.run()


def test_every_planted_fault_is_found_by_whom_it_is_meant_for(shop: tuple[Audit, Campaign]) -> None:
    audit, campaign = shop
    assert audit.told(campaign)["outcome"] == "converged"
    found: dict[tuple[str, str], set[str]] = {}
    for path, kind, strategies in audit.ask("select path, kind, strategies from all_findings"):
        found.setdefault((path, kind), set()).update(strategies)
    assert found == PLANTED


def test_what_the_file_itself_excuses_is_rejected_and_the_rest_is_confirmed(shop: tuple[Audit, Campaign]) -> None:
    audit, _ = shop
    rejected = audit.ask("select path, kind, line from all_findings where verdict = 'rejected' order by kind")
    assert rejected == [
        ("stock.py", "S102", 13),
        ("stock.py", "hard_coded_address", 6),
        ("stock.py", "unencrypted_address", 4),
    ]
    assert audit.ask("select distinct verdict from findings") == [("confirmed",)]


def test_the_linter_looks_where_the_checkout_tells_it_not_to(shop: tuple[Audit, Campaign]) -> None:
    audit, _ = shop
    assert (audit.folder / ".gitignore").read_text() == "generated/\n"
    assert audit.ask("select path from findings where path like 'generated/%'") == [("generated/rates.py",)]


def test_fingerprints_hold_no_line_numbers_and_merge_nothing_distinct(shop: tuple[Audit, Campaign]) -> None:
    audit, campaign = shop
    assert all(merged(campaign, round).sentence is None for round in range(1, audit.told(campaign)["rounds"] + 1))
    for (identity,) in audit.ask("select attributes ->> 'title' from all_findings where attributes ->> 'title' <> ''"):
        assert not re.search(r"\bline \d", identity)


def test_the_walk_through_shows_what_such_a_campaign_comes_to(shop: tuple[Audit, Campaign]) -> None:
    audit, campaign = shop
    told = audit.told(campaign)
    text = (EXAMPLE / "README.md").read_text()
    assert f"fresh findings a round: {', '.join(map(str, told['new']))}\n" in text
    verdict = f"{told['seen']} findings seen, {told['confirmed']} confirmed, {told['rejected']} rejected"
    assert f"CONVERGED after {told['rounds']} rounds (K=2): {verdict}" in text


def test_the_declaration_is_sound_and_its_programs_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert sql_problems(DECLARED) == []
    assert warnings(DECLARED) == []


def test_without_the_variable_the_run_is_refused_and_the_declaration_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CODE_AUDIT_PATH", raising=False)
    with pytest.raises(MaterialError, match="CODE_AUDIT_PATH is not set"):
        start(Home(tmp_path), DECLARED, as_of=AS_OF, driver="cli")


@pytest.fixture(scope="module")
def edited(shop: tuple[Audit, Campaign]) -> tuple[Audit, Campaign, Campaign]:
    """The first campaign, and one after all lines of a file moved and three of its faults were mended."""
    audit, first = shop
    text = (audit.folder / "orders.py").read_text()
    for old, new in (
        ("import os\n", "# Prices are in cents.\n\n\n"),
        ("except:", "except ValueError:"),
        ("TODO: ", ""),
    ):
        assert old in text
        text = text.replace(old, new)
    commit(audit.folder, {"orders.py": text})
    return audit, first, audit.run(day=1)


def test_lines_that_move_bring_no_new_findings(edited: tuple[Audit, Campaign, Campaign]) -> None:
    audit, first, second = edited
    assert sum(audit.told(second)["new"]) == 0
    gone = audit.told(first)["states"].keys() - audit.told(second)["states"].keys()
    assert {label.split("/")[1] for label in gone} == {"F401", "E722", "left_to_do"}


def test_only_what_patterns_saw_is_closed_by_evidence(edited: tuple[Audit, Campaign, Campaign]) -> None:
    audit, *_ = edited
    states = dict(audit.ask("select kind, state from findings where path = 'orders.py'"))
    assert states["left_to_do"] == states["E722"] == "fixed"
    assert states["F401"] == states["B006"] == "open"


def test_the_linter_and_the_syntax_find_in_our_own_code_what_our_lint_leaves_there(tmp_path: Path) -> None:
    audit = Audit(Home(tmp_path / "home"), ROOT / "drysweep_pipeline")
    told = audit.told(audit.run(overrides=Overrides(rounds=2)))
    assert (told["outcome"], told["reason"], told["rounds"]) == ("budget_exceeded", "rounds", 2)
    assert audit.ask("select distinct status from strategy_runs") == [("ok",)]
    assert audit.ask("select kind, path from all_findings") == []


@pytest.mark.soak
def test_the_whole_checkout_is_audited_to_the_end(tmp_path: Path) -> None:
    audit = Audit(Home(tmp_path / "home"), ROOT)
    assert audit.told(audit.run())["outcome"] == "converged"
    kinds = {kind for (kind,) in audit.ask("select kind from findings where path like 'drysweep_pipeline/%'")}
    # Our lint allows SQL that is put together from constants, and little else.
    assert "S608" in kinds
    assert {"F401", "E722", "B006", "invalid-syntax", "left_to_do", "missing_docstring"} & kinds == set()
    assert all((audit.folder / path).is_file() for (path,) in audit.ask("select distinct path from all_findings"))


_BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.soak
def test_the_walk_through_can_be_followed(tmp_path: Path) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for part in (Path("assets/sweeps/code_audit"), Path("examples/code_audit")):
        shutil.copytree(ROOT / part, tmp_path / part, ignore=shutil.ignore_patterns("shop", "__pycache__"))
    blocks = _BLOCK.findall((EXAMPLE / "README.md").read_text())
    environment = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(tmp_path)}
    for index, (kind, text) in enumerate(blocks):
        if kind != "sh":
            continue
        run = subprocess.run(
            ["bash", "-ec", text], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert run.returncode == 0, run.stdout + run.stderr
        promised = (
            blocks[index + 1][1].splitlines() if blocks[index + 1 :][:1] and blocks[index + 1][0] == "text" else []
        )
        assert [line for line in promised if line not in run.stdout + run.stderr] == []

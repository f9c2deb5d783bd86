"""The example of the unhealthy nodes: what it finds, and what a fingerprint that is too small makes of that."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from drysweep_pipeline.declaration import read_declaration
from drysweep_pipeline.declaration.advice import warnings
from drysweep_pipeline.declaration.checks import sql_problems
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.quality import merged, merged_by
from drysweep_pipeline.engine.wave import wave
from drysweep_pipeline.fingerprint import fingerprint
from drysweep_pipeline.home import Home
from drysweep_pipeline.reports import FORMATS
from drysweep_pipeline.reports.summary import summary
from tests.sweeps import begin, declare, registry, run_to_its_end

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "unhealthy_nodes"
_BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Campaign, dict[str, Any]]]:
    """A campaign of each of the two declarations to its outcome, and its summary."""
    home = Home(tmp_path_factory.mktemp("nodes"))
    done = {}
    for name in ("unhealthy_nodes", "nodes_alone"):
        campaign = run_to_its_end(begin(EXAMPLE / f"{name}.yaml", home))
        done[name] = campaign, summary(home, name, campaign.id)
    return done


@pytest.mark.parametrize("name", ["unhealthy_nodes", "nodes_alone"])
def test_the_declarations_are_sound_and_only_the_small_fingerprint_is_warned_of(name: str) -> None:
    declaration = read_declaration(EXAMPLE / f"{name}.yaml")
    assert sql_problems(declaration) == []
    told = [warning for warning in warnings(declaration) if "fingerprint" in warning]
    assert len(told) == (name == "nodes_alone")


def test_a_node_and_what_is_the_matter_with_it_is_a_finding(swept: dict[str, tuple[Campaign, dict[str, Any]]]) -> None:
    campaign, told = swept["unhealthy_nodes"]
    assert (told["outcome"], told["new"], told["not_run"]) == ("converged", [15, 11, 1, 0, 0], [])
    assert (told["seen"], told["confirmed"], told["rejected"]) == (27, 25, 2)
    # Found by following links, and by nothing that looks at one node.
    assert [name for name in told["states"] if "unreachable" in name] == [f"n{n}/unreachable" for n in range(22, 26)]
    assert merged_by(campaign, told["rounds"]).sentence is None


def test_a_node_alone_merges_its_failures_and_ends_the_search_early(
    swept: dict[str, tuple[Campaign, dict[str, Any]]],
) -> None:
    campaign, told = swept["nodes_alone"]
    assert (told["outcome"], told["new"], told["seen"]) == ("converged", [13, 8, 0, 0], 21)
    found = merged_by(campaign, told["rounds"])
    assert (found.fingerprints, found.field) == (5, "failure_mode")
    # A wave knows of what it reported itself.
    assert [merged(campaign, round).fingerprints for round in range(1, 5)] == [2, 1, 2, 2]


def test_both_reports_say_that_findings_are_merged(swept: dict[str, tuple[Campaign, dict[str, Any]]]) -> None:
    for name, says in (("unhealthy_nodes", False), ("nodes_alone", True)):
        campaign, _ = swept[name]
        for format in ("md", "json"):
            text = FORMATS[format](campaign.home.home, name, campaign.id)
            assert ("5 fingerprints merge distinct findings, which differ in failure_mode" in text) is says


def reported(folder: Path, *rows: str) -> Campaign:
    """One wave of two strategies whose findings are told apart by their first field only."""
    queries = {f"s{number}": f"select * from (values {row}) t(node, what, more)" for number, row in enumerate(rows)}
    registry(folder / "registry", {"api": "ann"})
    campaign = begin(declare(folder, queries, fingerprint={"fields": ["node"]}), Home(folder / "home"))
    list(wave(campaign, 1))
    return campaign


def test_a_word_that_one_strategy_uses_of_several_findings_tells_them_apart(tmp_path: Path) -> None:
    rows = "('n1', 'disk', 'a 1'), ('n1', 'clock', 'a 2'), ('n2', 'disk', 'b 1'), ('n3', 'clock', 'c 1')"
    found = merged_by(reported(tmp_path, rows), 1)
    assert found.sentence == (
        "1 fingerprint merges distinct findings, which differ in what, for instance n1: clock, disk; "
        "add a field to the fingerprint"
    )


def test_an_example_is_none_of_the_findings_that_are_not_to_be_named_and_a_wave_has_none(tmp_path: Path) -> None:
    n1, n2 = (str(fingerprint([name])) for name in ("n1", "n2"))
    campaign = reported(tmp_path, "('n1', 'disk', ''), ('n1', 'clock', ''), ('n2', 'disk', ''), ('n2', 'clock', '')")
    assert [merged_by(campaign, 1, [name]).example for name in (n1, n2)] == [
        "n2: clock, disk",
        "n1: clock, disk",
    ]
    assert merged_by(campaign, 1, [n1, n2]).sentence == (
        "2 fingerprints merge distinct findings, which differ in what; add a field to the fingerprint"
    )
    # A wave is not judged yet.
    assert merged(campaign, 1).example is None


def test_what_differs_from_row_to_row_is_evidence_and_merges_nothing(tmp_path: Path) -> None:
    rows = "('n1', 'seen at 10:00', 'x'), ('n1', 'seen at 10:05', 'x'), ('n2', 'seen at 10:07', 'x')"
    others = "('n1', 'another word', 'y'), ('n2', 'another word', 'y')"
    assert merged(reported(tmp_path, rows, others), 1).sentence is None


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_the_walk_through_prints_what_it_says(tmp_path: Path) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copytree(EXAMPLE, tmp_path / "examples" / "unhealthy_nodes")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    known = {key: value for key, value in os.environ.items() if not key.startswith(("DRYSWEEP_", "DAGSTER_"))}
    blocks = _BLOCK.findall((EXAMPLE / "README.md").read_text(encoding="utf-8"))
    pairs = [(text, blocks[index + 1][1]) for index, (kind, text) in enumerate(blocks) if kind == "sh"]
    assert len(pairs) == 3
    for commands, promised in pairs:
        run = subprocess.run(
            ["bash", "-ec", commands],
            cwd=tmp_path,
            env={**known, "PATH": path},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert run.returncode == 0, run.stdout + run.stderr
        for line in promised.splitlines():
            assert line in run.stdout + run.stderr

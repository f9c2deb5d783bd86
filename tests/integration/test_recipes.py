"""The recipes for cron and CI are run as they stand, on a real sweep, by the shell that would run them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from drysweep_pipeline.home import Home
from tests.sweeps import NO_OWNER, begin, declare, registry, run_to_its_end

SCHEDULED = Path(__file__).parents[2] / "examples" / "scheduled"
DOCS = Path(__file__).parents[2] / "docs" / "recipes"
WITH_TOOLS = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project that declares my_sweep, which finds one service without an owner."""
    folder = tmp_path / "assets" / "sweeps" / "my_sweep"
    registry(folder / "registry", {"api": None, "web": "team"})
    declare(folder, {"labels": NO_OWNER}, name="my_sweep").rename(folder / "defs.yaml")
    (tmp_path / "pyproject.toml").write_text("")
    return tmp_path


def _run(project: Path, *command: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PATH": WITH_TOOLS, "DRYSWEEP_HOME": str(project / ".drysweep"), **variables}
    return subprocess.run(command, cwd=project, env=environment, text=True, capture_output=True, timeout=240)


def _steps() -> dict[str, str]:
    """Return what the steps of the workflow run, by their names."""
    workflow: dict[str, Any] = YAML(typ="safe").load(SCHEDULED / "github.yml")
    steps = workflow["jobs"]["sweep"]["steps"]
    assert {step["uses"].split("@")[0] for step in steps if "uses" in step} >= {"github/codeql-action/upload-sarif"}
    return {step["name"]: step["run"] for step in steps if "run" in step}


@pytest.mark.skipif(shutil.which("flock") is None, reason="cron's script holds a lock by flock, which is not here")
def test_cron_says_nothing_where_nobody_has_to_do_anything_and_else_what_and_why(project: Path) -> None:
    script = str(SCHEDULED / "sweep.sh")
    first = _run(project, script, "my_sweep")
    assert first.returncode == 6, first.stderr
    assert first.stdout.startswith("my_sweep converged, with findings at or above new:major.\n")
    assert "CONVERGED after" in first.stdout
    again = _run(project, script, "my_sweep")
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    wrong = _run(project, script, "no_such_sweep")
    assert wrong.returncode == 2
    assert "no_such_sweep did not work (exit code 2)." in wrong.stdout


@pytest.mark.skipif(shutil.which("flock") is None, reason="cron's script holds a lock by flock, which is not here")
def test_cron_leaves_out_a_campaign_while_the_one_before_is_under_way(project: Path) -> None:
    script, kept = str(SCHEDULED / "sweep.sh"), project / ".drysweep" / "cron"
    # It did not work the first time, which is as good as a campaign for there to be a lock and a log.
    (project / "assets" / "sweeps" / "my_sweep" / "defs.yaml").write_text("")
    assert _run(project, script, "my_sweep").returncode == 2
    [log], [lock] = kept.glob("*.log"), kept.glob("*.lock")
    held = ["flock", str(lock), script, "my_sweep"]
    late = _run(project, *held)
    assert (late.returncode, late.stdout) == (
        75,
        "my_sweep: the campaign before this one is still under way; skipped\n",
    )
    # Another sweep has a lock and a log of its own, by whatever path it is called.
    before = log.read_text()
    other = _run(project, "flock", str(lock), script, "../some where/my_sweep")
    assert other.returncode == 2, other.stdout
    assert "did not work (exit code 2)" in other.stdout
    assert log.read_text() == before
    assert len(list(kept.glob("*.log"))) == 2


def test_the_workflow_fails_on_what_is_new_and_has_its_report_all_the_same(project: Path) -> None:
    steps, summary = _steps(), project / "summary.md"
    given = {"CAMPAIGN": "ci.17.1", "GITHUB_STEP_SUMMARY": str(summary)}
    swept = _run(project, "bash", "-e", "-c", steps["Sweep"], **given)
    assert swept.returncode == 6, swept.stderr
    told = _run(project, "bash", "-e", "-c", steps["Report"], **given)
    assert told.returncode == 0, told.stderr
    log = json.loads((project / "drysweep.sarif").read_text())
    assert log["runs"][0]["invocations"][0]["executionSuccessful"] is True
    assert len(log["runs"][0]["results"]) == 1
    assert "CONVERGED" in summary.read_text()
    assert "<html" in (project / "drysweep.html").read_text()
    assert [line for line in told.stdout.splitlines() if line.startswith("::error file=services/api.yaml")]


def test_the_recipe_for_other_services_ends_with_the_code_of_the_campaign(project: Path) -> None:
    page = (DOCS / "ci.md").read_text(encoding="utf-8")
    script = page.split("## Elsewhere")[1].split("```sh\n")[1].split("```")[0]
    # The rounds are done already, and quicker than by the command, which goes on from there.
    file = project / "assets" / "sweeps" / "my_sweep" / "defs.yaml"
    run_to_its_end(begin(file, Home(project / ".drysweep"), campaign="ci.17"))
    ended = _run(project, "sh", "-c", script, BUILD_NUMBER="17")
    assert ended.returncode == 6, ended.stderr
    assert "<testsuite" in (project / "drysweep.xml").read_text()


def test_a_search_that_was_cut_short_passes_only_where_the_build_says_so(project: Path) -> None:
    page = (DOCS / "ci.md").read_text(encoding="utf-8")
    line = next(each for each in page.splitlines() if each.startswith("drysweep run my_sweep") and "-eq 3" in each)
    short = line.replace("run my_sweep", "run my_sweep --rounds 1")
    passed = _run(project, "sh", "-x", "-c", short)
    assert passed.returncode == 0
    assert "+ [ 3 -eq 3 ]" in passed.stderr, "it was cut short, and the shell let it pass"

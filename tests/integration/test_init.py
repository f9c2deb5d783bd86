"""A new project works as it is: Dagster takes it, its own tests pass, and its sweep runs to its outcome."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from drysweep_pipeline.home import Home
from drysweep_pipeline.projects import Project, begin
from drysweep_pipeline.reports.summary import summary
from tests.sweeps import begin as begin_campaign
from tests.sweeps import run_to_its_end

TOOLS = Path(sys.executable).parent
CAME_TO = {
    "minimal": (
        [3, 3, 0, 0],
        "CONVERGED after 4 rounds (K=2): 6 findings seen, 5 confirmed, 1 rejected. These strategies find no more.",
    ),
    "config_registry": (
        [61, 19, 4, 0, 0],
        "CONVERGED after 5 rounds (K=2): 84 findings seen, 76 confirmed, 8 rejected. These strategies find no more.",
    ),
    "code_audit": (
        [2, 2, 1, 3, 1, 0, 0],
        "CONVERGED after 7 rounds (K=2): 9 findings seen, 6 confirmed, 3 rejected. These strategies find no more. "
        "2 of the 2 quiet rounds repeated earlier angles.",
    ),
}


def in_project(project: Project, *command: str) -> str:
    """Run one of the tools as a user would, in the project and with nothing of this repository on the path."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "DRYSWEEP_HOME")}
    environment = {**kept, "DAGSTER_DISABLE_TELEMETRY": "yes", "DAGSTER_HOME": ""}
    whole = [str(TOOLS / command[0]), *command[1:]]
    done = subprocess.run(whole, cwd=project.folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def swept(project: Project) -> dict[str, Any]:
    """Sweep it by the engine, without Dagster, where the command would; the tutorial is run with the command."""
    path, home = project.folder / "assets" / "sweeps" / project.sweep / "defs.yaml", Home(project.folder / ".drysweep")
    campaign = run_to_its_end(begin_campaign(path, home))
    return summary(home, project.sweep, campaign.id)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return begin(tmp_path_factory.mktemp("made") / "it's new")


def test_dagster_takes_the_declaration_and_the_definitions_of_a_new_project(project: Project) -> None:
    said = in_project(project, "dg", "check", "defs")
    assert "All component YAML validated successfully." in said
    assert "All definitions loaded successfully." in said


def test_the_tests_of_a_new_project_pass_without_a_warning(project: Project) -> None:
    said = in_project(project, "pytest", "-q", "-p", "no:cacheprovider")
    assert "4 passed" in said
    assert "warning" not in said


def test_the_first_sweep_of_a_new_project_comes_to_what_its_readme_says(project: Project) -> None:
    told = swept(project)
    assert (told["new"], told["verdict"]) == CAME_TO["minimal"]
    assert told["verdict"] in (project.folder / "README.md").read_text(encoding="utf-8")
    assert told["repeats"] == 0


def test_the_tests_of_a_new_project_fail_where_its_declaration_or_what_it_finds_is_wrong(tmp_path: Path) -> None:
    made = begin(tmp_path / "made")
    sweep = made.folder / "assets" / "sweeps" / "services"
    (sweep / "left_out.sql").write_text("select 1 as service from nowhere")
    run = [str(TOOLS / "pytest"), "-q", "-p", "no:cacheprovider", "-k", "declaration or left_out"]
    done = subprocess.run(run, cwd=made.folder, capture_output=True, text=True)
    assert "2 failed" in done.stdout


@pytest.mark.soak
def test_the_registry_of_four_hundred_services_is_swept_in_a_new_project_too(tmp_path: Path) -> None:
    made = begin(tmp_path / "made", "config_registry", "endpoints")
    assert "All definitions loaded successfully." in in_project(made, "dg", "check", "defs")
    assert "3 passed" in in_project(made, "pytest", "-q", "-p", "no:cacheprovider")
    told = swept(made)
    assert (told["new"], told["verdict"]) == CAME_TO["config_registry"]
    assert told["verdict"] in (made.folder / "README.md").read_text(encoding="utf-8")


@pytest.mark.soak
def test_an_audit_of_code_works_in_a_new_project_too(tmp_path: Path) -> None:
    made = begin(tmp_path / "made", "code_audit", "my_audit")
    assert "All definitions loaded successfully." in in_project(made, "dg", "check", "defs")
    assert "4 passed" in in_project(made, "pytest", "-q", "-p", "no:cacheprovider")
    told = swept(made)
    assert (told["new"], told["verdict"]) == CAME_TO["code_audit"]
    assert told["verdict"] in " ".join((made.folder / "README.md").read_text(encoding="utf-8").split())

"""The page on the history: what stands on it in shell, Python and SQL can be copied as it is."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from drysweep_pipeline.home import Home
from tests.publishing import Sweeping, one_campaign

PAGE = (Path(__file__).parents[2] / "docs" / "history.md").read_text(encoding="utf-8")
BIN = Path(sys.prefix) / "bin"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a home in it, as somebody has it who copies from the page."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "pyproject.toml").touch()
    one_campaign(Sweeping(Home(folder / ".drysweep")))
    return folder


def done(place: Path, *command: str | Path) -> str:
    environment = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    environment.pop("DRYSWEEP_HOME", None)
    run = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.parametrize("line", [line for block in blocks("sh") for line in block.splitlines()])
def test_every_command_of_the_page_answers(place: Path, line: str) -> None:
    expected = {
        "from campaigns": "converged",
        "open_findings": "api/no_owner",
        "published()": "c1",
        "duckdb_columns": "fp",
    }
    told = done(place, "sh", "-c", line)
    assert all(answer in told for question, answer in expected.items() if question in line)
    assert len(told.splitlines()) > 1


@pytest.mark.parametrize("code", blocks("python"))
def test_every_piece_of_python_on_the_page_runs(place: Path, code: str) -> None:
    assert "registry" in done(place, sys.executable, "-c", code)


@pytest.mark.parametrize("query", blocks("sql"))
def test_every_query_on_the_page_answers(place: Path, query: str) -> None:
    assert done(place, "duckdb", "-csv", "-noheader", ":memory:", query).splitlines() == [
        "registry,c1,one,2,converged",
        "registry,c1,two,2,converged",
    ]

"""The walk-through of the document review, followed to the letter: its commands, and what it says they print."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from drysweep_pipeline.history import history
from drysweep_pipeline.home import Home
from drysweep_pipeline.values import Outcome

ROOT = Path(__file__).parents[2]
README = ROOT / "examples" / "document_review" / "README.md"
SWEEP = "document_review"
_BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Step:
    """A block of commands as it was run, and the lines that the walk-through promises of it."""

    commands: str
    code: int
    printed: str
    promised: tuple[str, ...]


def blocks() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield every block of commands with the lines that the block after it shows."""
    found = _BLOCK.findall(README.read_text(encoding="utf-8"))
    for index, (kind, text) in enumerate(found):
        if kind == "sh":
            after = found[index + 1] if index + 1 < len(found) else ("", "")
            yield text, tuple(after[1].splitlines()) if after[0] == "text" else ()


def copied(folder: Path) -> Path:
    shutil.copy(ROOT / "pyproject.toml", folder)
    for part in (Path("assets/sweeps") / SWEEP, Path("examples") / SWEEP):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("proposal"))
    return folder


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied(tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="module")
def steps(project: Path) -> list[Step]:
    """Every block, in order."""
    return follow(project, list(blocks()))


def follow(project: Path, these: list[tuple[str, tuple[str, ...]]]) -> list[Step]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("DRYSWEEP_", "DAGSTER_"))}
    followed = []
    for commands, promised in these:
        run = subprocess.run(
            ["bash", "-ec", commands],
            cwd=project,
            env={**environment, "PATH": path},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        followed.append(Step(commands, run.returncode, run.stdout + run.stderr, promised))
    return followed


def test_the_walk_through_begins_as_it_says(tmp_path: Path) -> None:
    """Follow it as far as its first round; the whole of it is a soak test, for each turn is a process of its own."""
    listed = list(blocks())
    first = next(index for index, (commands, _) in enumerate(listed) if "drysweep run" in commands)
    followed = follow(copied(tmp_path), listed[: first + 1])
    for step in followed:
        assert step.code == 0, step.printed
        for line in step.promised:
            assert line in step.printed, step.printed


@pytest.mark.soak
@pytest.mark.timeout(900)
def test_every_command_of_the_walk_through_works(steps: list[Step]) -> None:
    assert len(steps) >= 5
    assert [(step.commands, step.printed) for step in steps if step.code != 0] == []


@pytest.mark.soak
def test_the_walk_through_shows_what_its_commands_print(steps: list[Step]) -> None:
    for step in steps:
        for line in step.promised:
            assert line in step.printed, step.printed


@pytest.mark.soak
def test_the_review_converged_with_a_contest_a_fix_that_did_not_hold_and_nits(steps: list[Step], project: Path) -> None:
    with history(Home(project / ".drysweep")) as connection:
        [(outcome, rounds, quiet, k)] = connection.execute("select outcome, rounds, quiet, k from campaigns").fetchall()
        states = dict(connection.execute("select label, state from findings").fetchall())
        happened = [name for (name,) in connection.execute("select name from events order by seq").fetchall()]
        read = connection.execute("select snapshot from rounds order by round").fetchall()
        [contest] = connection.execute(
            "select evidence, verified from events where name = 'finding_contested'"
        ).fetchall()
        revisions = connection.execute(
            "select revision from published.lives where state = 'fixed' order by ord"
        ).fetchall()
    assert (outcome, rounds, quiet, k) == (Outcome.CONVERGED, 4, 2, 2)
    assert states == {
        "goal/unclear_claim": "fixed",
        "method/no_baseline": "contested",
        "title/capitals": "declined",
        "cost/passive_voice": "open",
    }
    assert happened.index("finding_fixed") < happened.index("finding_reopened")
    assert happened.count("finding_fixed") == 2
    assert contest == ("proposal.md:11", True)
    # A new snapshot after each change of the document, and the same one where nothing changed.
    assert [len({digest for (digest,) in read[:n]}) for n in (1, 2, 3, 4)] == [1, 2, 3, 3]
    # Nobody said which commit a fix is in; the checkout did.
    log = subprocess.run(
        ["git", "log", "--format=%H", "--reverse"],
        cwd=project / "examples" / SWEEP / "proposal",
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert [revision for (revision,) in revisions] == log[1:]

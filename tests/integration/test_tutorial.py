"""The tutorial works as it is written: each block is run by a shell, in order, and prints what the page shows.

Its first part, to the first campaign and the first question, is run each time; the whole page in the long tests.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(960)
PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"
_BLOCK = re.compile(r"^```sh\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)
_INSTALLS = "pip install"
_FIRST_PART = "drysweep sql "


def _blocks() -> Iterator[tuple[str, str]]:
    """Yield what each block runs and what the page says that it prints; installing is the set-up's business."""
    for commands, shown in _BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        if _INSTALLS not in commands:
            yield commands, shown


def _as_one(blocks: list[tuple[str, str]]) -> str:
    return "set -e\n" + "\n".join(f"{commands}\necho '<end {nth}>'" for nth, (commands, _) in enumerate(blocks))


def _first_part() -> list[tuple[str, str]]:
    blocks = list(_blocks())
    return blocks[: 1 + next(nth for nth, (commands, _) in enumerate(blocks) if commands.startswith(_FIRST_PART))]


def _printed(blocks: list[tuple[str, str]], folder: Path) -> list[str]:
    """Return what each block printed, on stdout and stderr."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DRYSWEEP")}
    ran = subprocess.run(
        ["bash", "-c", _as_one(blocks)],
        cwd=folder,
        env={**environment, "PATH": path},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=900,
    )
    assert ran.returncode == 0, ran.stdout[-3000:]
    return re.split(r"<end \d+>\n", ran.stdout)


def _in_order(line: str) -> str:
    """Return a pattern for the words of a line as the page shows it: what differs from run to run is left out of it."""
    return r".*".join(r"\s+".join(re.escape(word) for word in part.split()) for part in line.split("…"))


def _is_as_shown(blocks: list[tuple[str, str]], printed: list[str]) -> None:
    for (commands, shown), said in zip(blocks, printed, strict=False):
        for line in shown.splitlines():
            assert re.search(_in_order(line), said), f"{commands}\n{line}\n{said}"


def test_the_first_part_of_the_tutorial_prints_what_the_page_shows(tmp_path: Path) -> None:
    blocks = _first_part()
    assert {commands.split()[1] for commands, _ in blocks} >= {"init", "plan", "run", "findings", "sql"}
    _is_as_shown(blocks, _printed(blocks, tmp_path))
    assert (tmp_path / "my_sweeps" / ".drysweep" / "sweeps" / "services").is_dir()


@pytest.mark.soak
def test_each_block_of_the_tutorial_prints_what_the_page_shows(tmp_path: Path) -> None:
    blocks = list(_blocks())
    _is_as_shown(blocks, _printed(blocks, tmp_path))


def test_what_the_rest_of_the_tutorial_declares_is_taken(tmp_path: Path) -> None:
    """Run all that neither begins a campaign nor needs one."""
    needs_one = re.compile(r"^(?:drysweep (?:run|plan|findings|sql)|fp=).*\n", re.MULTILINE)
    blocks = [(needs_one.sub("", commands), "") for commands, _ in _blocks()]
    assert "drysweep validate leftovers" in blocks[-1][0]
    _printed(blocks, tmp_path)


def test_the_tutorial_shows_what_its_first_campaign_comes_to() -> None:
    assert any("CONVERGED after" in shown for _, shown in _blocks())

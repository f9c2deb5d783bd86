"""The tutorial works as it is written: each block is run by a shell, in order, and prints what the page shows."""

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


def _blocks() -> Iterator[tuple[str, str]]:
    """Yield what each block runs and what the page says that it prints; installing is the set-up's business."""
    for commands, shown in _BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        if _INSTALLS not in commands:
            yield commands, shown


def _as_one(blocks: list[tuple[str, str]]) -> str:
    return "set -e\n" + "\n".join(f"{commands}\necho '<end {nth}>'" for nth, (commands, _) in enumerate(blocks))


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What each block of the page printed, on stdout and stderr."""
    blocks = list(_blocks())
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DRYSWEEP")}
    ran = subprocess.run(
        ["bash", "-c", _as_one(blocks)],
        cwd=tmp_path_factory.mktemp("tutorial"),
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


@pytest.mark.parametrize("nth", range(len(list(_blocks()))))
def test_each_block_of_the_tutorial_prints_what_the_page_shows(printed: list[str], nth: int) -> None:
    commands, shown = list(_blocks())[nth]
    for line in shown.splitlines():
        assert re.search(_in_order(line), printed[nth]), f"{commands}\n{line}\n{printed[nth]}"


def test_the_tutorial_shows_what_its_first_campaign_comes_to() -> None:
    assert any("CONVERGED after" in shown for _, shown in _blocks())

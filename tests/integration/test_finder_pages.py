"""Each kind of finder has a page, and the example on it can be copied as it is."""

import random
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from drysweep_pipeline.home import Home
from drysweep_pipeline.reports.summary import summary
from tests.sweeps import begin, run_to_its_end

DOCS = Path(__file__).parents[2] / "docs" / "finders"
_BLOCK = re.compile(r"^`(?P<file>[\w.]+)`[^\n]*:\n\n```\w+\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ("sql.md", ["a.py/too_long", "c.md/too_long"]),
        ("command.md", ["a.py/todo", "b.md/todo"]),
        ("python.md", ["a.py/long", "c.md/long"]),
    ],
)
def test_the_example_of_a_page_finds_what_it_says(tmp_path: Path, page: str, found: list[str]) -> None:
    assert states(tmp_path, copied(tmp_path, page)) == dict.fromkeys(found, "open")


def test_the_example_of_the_page_on_services_finds_and_judges_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEFT_OVER_TOKEN", "any that both know")
    path = copied(tmp_path, "http.md")
    with served(tmp_path / "service.py") as port:
        path.write_text(path.read_text().replace("127.0.0.1:8400", f"127.0.0.1:{port}"))
        assert states(tmp_path, path) == {"a.py/left_over": "open", "b.md/left_over": "rejected"}


@contextmanager
def served(program: Path) -> Iterator[int]:
    """Run a service until the block is left; yield its port."""
    port = free_port()
    with subprocess.Popen([sys.executable, str(program), str(port)], stderr=subprocess.DEVNULL) as running:
        try:
            until = time.monotonic() + 120
            while running.poll() is None and not answers(port) and time.monotonic() < until:
                time.sleep(0.05)
            assert running.poll() is None
            yield port
        finally:
            running.kill()


def free_port() -> int:
    """Return a port that nobody listens on, of those that a system gives to nobody who asks for any."""
    for port in random.sample(range(20_000, 28_000), 100):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("a hundred ports are taken")


def answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def copied(folder: Path, page: str) -> Path:
    """Write what a page shows as files, and what they look at; return the sweep."""
    (folder / "notes").mkdir()
    for name, text in {"a.py": "# TODO x\n" * 100, "b.md": "TODO\n", "c.md": "x\n" * 1000}.items():
        (folder / "notes" / name).write_text(text)
    blocks = {match["file"]: match["text"] for match in _BLOCK.finditer((DOCS / page).read_text(encoding="utf-8"))}
    for name, text in blocks.items():
        (folder / name).write_text(text)
    [name] = [name for name in blocks if name.endswith(".yaml")]
    return folder / name


def states(folder: Path, path: Path) -> dict[str, str]:
    """Run a sweep to its outcome; return what became of what it found."""
    home = Home(folder / "home")
    campaign = run_to_its_end(begin(path, home))
    sweep = YAML(typ="safe").load(path.read_text())["attributes"]["name"]
    told = summary(home, sweep, campaign.id)
    assert (told["outcome"], told["events"]) == ("converged", [])
    found: dict[str, str] = told["states"]
    return found

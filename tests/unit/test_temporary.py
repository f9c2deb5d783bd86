"""Temporary folders are gone after their use, and those of killed processes after the next one's."""

import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from drysweep_pipeline import temporary
from drysweep_pipeline.temporary import temporary_folder

HOLDS = """
import sys
from drysweep_pipeline.temporary import temporary_folder
with temporary_folder() as folder:
    inside = folder / "material"
    inside.mkdir()
    (inside / "a.txt").write_text("what was searched")
    inside.chmod(0o500)
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder for temporary files, in which nothing is too young to be looked at."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(temporary, "_YOUNG_SECONDS", -1.0)
    temporary._clear_once.cache_clear()
    yield tmp_path
    temporary._clear_once.cache_clear()


def holder() -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen([sys.executable, "-c", HOLDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_what_a_killed_process_left_goes_with_the_next_use_and_what_a_living_one_holds_stays(place: Path) -> None:
    dead, left = holder()
    dead.send_signal(signal.SIGKILL)
    dead.communicate()
    living, held = holder()
    (place / "drysweep.held.link").symlink_to(held)
    (place / "drysweep.older").mkdir()
    with temporary_folder() as mine:
        assert mine.parent == place
        assert not left.exists()
        assert (held / "material" / "a.txt").read_text() == "what was searched"
    assert living.communicate("")[0] == ""
    assert sorted(path.name for path in place.iterdir()) == ["drysweep.held.link", "drysweep.older"]


def test_a_folder_that_was_made_a_moment_ago_may_not_be_locked_yet_and_stays(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(temporary, "_YOUNG_SECONDS", 60.0)
    (place / "drysweep.held.new").mkdir()
    with temporary_folder():
        pass
    assert [path.name for path in place.iterdir()] == ["drysweep.held.new"]

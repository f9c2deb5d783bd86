"""What the operating system refuses is told for what it is, whoever says it, and is no fault of drysweep's."""

import errno
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from drysweep_pipeline import system
from drysweep_pipeline.engine.journal import standing
from drysweep_pipeline.home import Home
from drysweep_pipeline.ledger import locked_to_look
from drysweep_pipeline.values import Outcome
from tests.sweeps import NO_OWNER, begin, declare, registry, run_to_its_end

PART = "/home/history/.history.duckdb.7.part"
FULL = f'Could not write file "{PART}": {os.strerror(errno.ENOSPC)}'


def wrapped(error: Exception) -> Exception:
    try:
        try:
            raise error
        except Exception as inner:
            raise RuntimeError("the step failed") from inner
    except RuntimeError as outer:
        return outer


@pytest.mark.parametrize(
    ("error", "what", "file"),
    [
        (OSError(errno.ENOSPC, "whatever", "/home/x"), "No space left on device", "/home/x"),
        (OSError(errno.EROFS, "whatever", b"/home/x"), "Read-only file system", "/home/x"),
        (OSError(errno.EMFILE, "whatever"), "Too many open files", None),
        (duckdb.IOException(FULL), "No space left on device", PART),
        (
            duckdb.FatalException(f"FATAL Error: {FULL}"),
            "No space left on device",
            "/home/history/.history.duckdb.7.part",
        ),
        (sqlite3.OperationalError("database or disk is full"), "No space left on device", None),
        (wrapped(PermissionError(errno.EACCES, "whatever", "/home/x")), "Permission denied", "/home/x"),
        (wrapped(sqlite3.OperationalError("attempt to write a readonly database")), "Read-only file system", None),
    ],
)
def test_a_refusal_of_the_system_is_told_with_its_file_and_what_helps(
    error: Exception, what: str, file: str | None
) -> None:
    said = system.refusal(error)
    assert said is not None
    assert (said.what, said.file, said.code, said.exit_code) == (what, file, "system", 1)
    assert said.help


@pytest.mark.parametrize(
    "error",
    [
        ValueError("No space left on device"),
        OSError(errno.ENOENT, "no such file", "/home/x"),
        duckdb.IOException("Could not set lock on file"),
        duckdb.FatalException("the database has been invalidated"),
    ],
)
def test_what_the_system_did_not_refuse_is_not_blamed_on_it(error: Exception) -> None:
    assert system.refusal(error) is None


# No file may grow beyond this many bytes, as on a disk that is full; the history is larger.
CRAMPED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
from drysweep_pipeline.cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_a_disk_that_is_full_is_no_damage_to_the_ledger_and_the_run_goes_on_with_room(tmp_path: Path) -> None:
    registry(tmp_path / "registry", {"api": None})
    run = ["run", str(declare(tmp_path, {"labels": NO_OWNER})), "--home", str(tmp_path / "home"), "--campaign", "c"]
    again = [*run, "--as-of", "2026-01-01"]
    done = subprocess.run([sys.executable, "-c", CRAMPED, *again], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("error[system]: File too large\n"), done.stderr
    assert "history.duckdb" in done.stderr
    assert "MB are free there: make room" in done.stderr
    assert "rebuild" not in done.stderr
    campaign = run_to_its_end(begin(tmp_path / "sweep.yaml", Home(tmp_path / "home"), campaign="c"))
    assert standing(campaign).outcome is Outcome.CONVERGED


def test_where_nothing_can_be_written_a_ledger_is_looked_at_without_holding_it() -> None:
    # Not even root makes a file there.
    with locked_to_look(Path("/sys/ledger.duckdb")):
        pass

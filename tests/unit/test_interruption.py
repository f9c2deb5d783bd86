"""An interruption is not lost, whoever held the signal back, and what DuckDB makes of it is one as well."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import duckdb
import pytest

from drysweep_pipeline import interruption
from drysweep_pipeline.cli import app, main, refusing


@pytest.fixture
def swallowed() -> Iterator[None]:
    """Have somebody hold signals back, as Dagster does while it starts a run."""
    before = signal.signal(signal.SIGINT, lambda *_: None)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("swallowed")
def test_a_signal_that_somebody_held_back_interrupts_at_the_next_look_and_once() -> None:
    with interruption.noting():
        interruption.check()
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            interruption.check()
        interruption.check()
    interruption.check()


def test_an_interruption_that_nobody_can_catch_where_it_is_raised_is_not_shown_as_a_fault(
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Interrupted:
        def __del__(self) -> None:
            os.kill(os.getpid(), signal.SIGINT)

    class Faulty:
        def __del__(self) -> None:
            raise ValueError("a fault")

    shown: list[str] = []
    before, sys.unraisablehook = sys.unraisablehook, lambda lost: shown.append(str(lost.exc_value))
    try:
        with interruption.noting():
            Interrupted()
            with pytest.raises(KeyboardInterrupt):
                interruption.check()
            Faulty()
    finally:
        sys.unraisablehook = before
    assert shown == ["a fault"]


# Has a library log each of these errors, as one does that is interrupted while it closes what it has open.
LOGGED = """
import logging
from drysweep_pipeline import interruption

with interruption.noting():
    for error in (KeyboardInterrupt, ValueError):
        try:
            raise error
        except BaseException:
            logging.getLogger("library").error("at %s", error.__name__, exc_info=True)
try:
    raise KeyboardInterrupt
except KeyboardInterrupt:
    logging.getLogger("library").exception("afterwards")
"""


def test_an_interruption_that_a_library_logs_is_not_shown_as_a_fault_and_other_errors_are() -> None:
    # In a process where nobody else has seen to what is logged.
    told = subprocess.run([sys.executable, "-c", LOGGED], capture_output=True, text=True, check=True).stderr
    assert "at KeyboardInterrupt" not in told
    assert ("at ValueError" in told, "afterwards" in told) == (True, True)


@pytest.mark.usefixtures("swallowed")
def test_what_came_before_signals_were_noted_interrupts_nothing() -> None:
    with interruption.noting():
        os.kill(os.getpid(), signal.SIGINT)
    with interruption.noting():
        interruption.check()


@pytest.mark.parametrize("error", [RuntimeError("Query interrupted"), duckdb.InterruptException("INTERRUPT Error: x")])
def test_what_duckdb_makes_of_an_interruption_is_said_as_one(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(app, "app", interrupted)
    assert main(["run", "x", "--json"]) == refusing.INTERRUPTED
    printed = capsys.readouterr()
    assert '"code": "interrupted"' in printed.out
    assert printed.err.startswith("interrupted; ")


def test_another_error_of_the_same_kind_is_none() -> None:
    assert not interruption.is_one(RuntimeError("no query was interrupted"))
    assert not interruption.is_one(duckdb.IOException("IO Error: x"))


# Makes another error of a signal, as a library does that calls back into Python; the last two words say which.
TURNED = """
import os, signal, sys
from drysweep_pipeline import errors
from drysweep_pipeline.cli import doctor, main

name, kind = sys.argv.pop(), sys.argv.pop()

def asked(*_):
    try:
        os.kill(os.getpid(), getattr(signal, name))
    except KeyboardInterrupt as interrupted:
        raise {"its own": ValueError, "ours": errors.IntegrityError}[kind]("it failed: KeyboardInterrupt") from None

doctor.home_of = asked
sys.exit(main())
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("kind", ["its own", "ours"])
def test_an_error_that_somebody_made_of_an_interruption_is_said_as_one(kind: str, name: str) -> None:
    command = [sys.executable, "-c", TURNED, "doctor", kind, name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (refusing.INTERRUPTED, 1), done.stderr
    assert done.stderr.startswith("interrupted; ")


# Signals itself while Python takes itself apart, when it has no handlers of ours any more.
LATE = """
import os, signal, sys
from drysweep_pipeline.cli import main

class Late:
    def __del__(self, kill=os.kill, own=os.getpid(), number=getattr(signal, sys.argv.pop())):
        kill(own, number)

late = Late()
sys.exit(main())
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_command_that_has_told_its_outcome_ends_with_the_code_of_it_whoever_signals_it_then(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LATE, "run", "--no-such-option", name], capture_output=True, check=False
    )
    assert done.returncode == refusing.USAGE, done.stderr

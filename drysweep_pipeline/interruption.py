"""Interruptions that get lost: by who is at work when somebody presses Ctrl-C, and what an engine makes of it.

Dagster holds signals back while it starts a run, and drops those that come then; some libraries swallow what is raised
in them. So whoever drives a campaign has the signals noted as they come, and looks before anything is asked.
"""

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_STOPS = frozenset((signal.SIGINT, signal.SIGTERM))
_noted: list[int] = []
_came: list[int] = []


@contextmanager
def noting() -> Iterator[None]:
    """Note the signals that ask this process to stop, until the block is left; in its main thread only."""
    if threading.current_thread() is not threading.main_thread() or _noted:
        yield
        return
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    # Python writes the number of every signal there, whatever handler it has at that moment.
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    _noted.append(reading)
    shown = sys.unraisablehook
    sys.unraisablehook = lambda lost: None if _is_noted(lost.exc_value) else shown(lost)
    # Where a library tells, with a traceback, that it was interrupted while it put something away.
    told = logging.lastResort or logging.NullHandler()
    told.addFilter(_is_a_fault)
    try:
        yield
    finally:
        told.removeFilter(_is_a_fault)
        sys.unraisablehook = shown
        _noted.clear()
        _came.clear()
        signal.set_wakeup_fd(before)
        os.close(reading)
        os.close(writing)


def check() -> None:
    """Raise ``KeyboardInterrupt`` where this process was asked to stop since signals are noted, and went on."""
    if threading.current_thread() is threading.main_thread() and _looked():
        raise KeyboardInterrupt


def came() -> bool:
    """Tell whether this process was asked to stop since signals are noted, whatever was made of it."""
    _looked()
    return bool(_came)


def _looked() -> bool:
    """Take in the signals that are noted, and tell whether one that asks to stop is among them."""
    try:
        new = [number for number in os.read(_noted[0], 4096) if number in _STOPS] if _noted else []
    except BlockingIOError:
        return False
    _came.extend(new)
    return bool(new)


def _is_noted(error: BaseException | None) -> bool:
    """Tell whether what was raised where nobody can catch it is an interruption, which was noted as it came."""
    return isinstance(error, KeyboardInterrupt) or type(error).__name__ == "DagsterExecutionInterruptedError"


def _is_a_fault(said: logging.LogRecord) -> bool:
    """Tell whether what somebody logs is anything else than an interruption, which was noted as it came."""
    return not (said.exc_info and _is_noted(said.exc_info[1]))


def is_one(error: BaseException) -> bool:
    """Tell whether an error is what DuckDB makes of an interruption while it works on a query of ours."""
    name, said = type(error).__name__, str(error)
    return (name == "InterruptException") or (isinstance(error, RuntimeError) and "Query interrupted" in said)

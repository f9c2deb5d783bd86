"""Progress for whoever watches: on a terminal a board that changes in place, elsewhere a line for each event.

Both go to stderr, so that stdout keeps to what was asked for. With ``--quiet`` there is neither.
"""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import IO

from drysweep_pipeline.engine.tidings import (
    Decided,
    Freezing,
    Judged,
    Judging,
    Searching,
    StrategyBegan,
    StrategyEnded,
    TakenIn,
    Tiding,
    listening,
)
from drysweep_pipeline.redaction import hidden
from drysweep_pipeline.reports.text import safe_text
from drysweep_pipeline.wording import count

# While a slow judge is asked, a log is told how far it is so often, in seconds.
_JUDGING_EVERY = 10.0
_DUMB = ("dumb", "unknown")


@contextmanager
def watching(*, quiet: bool) -> Iterator[None]:
    """Show what a campaign tells while the block runs, in the way that stderr can show it."""
    if quiet:
        yield
    elif has_a_terminal():
        from drysweep_pipeline.cli.board import Board

        with _stderr() as stream, Board(stream) as board, listening(board):
            yield
    else:
        with _stderr() as stream, listening(Lines(stream)):
            yield


@contextmanager
def _stderr() -> Iterator[IO[str]]:
    """Yield stderr as it is now: while a step of a round runs Dagster turns it into a file, to keep what is said."""
    try:
        descriptor = os.dup(sys.stderr.fileno())
    except (OSError, ValueError):  # what stands for stderr is no file
        yield sys.stderr
        return
    with open(descriptor, "w", encoding="utf-8", errors="replace", buffering=1) as stream:  # noqa: PTH123 - no path
        yield stream


def has_a_terminal() -> bool:
    """Tell whether stderr is a terminal on which lines can be written over."""
    return sys.stderr.isatty() and os.environ.get("TERM", "dumb") not in _DUMB


class Lines:
    """A line of a log for each event: when, which campaign, what."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._judging_told = 0.0

    def __call__(self, tiding: Tiding) -> None:
        """Write what happened, where it is worth a line."""
        with self._lock:
            if (said := self._said(tiding)) is not None:
                line = f"{datetime.now(UTC):%H:%M:%SZ} {tiding.campaign} round {tiding.round}: {said}"
                self._stream.write(safe_text(hidden(line)) + "\n")

    def _said(self, tiding: Tiding) -> str | None:
        if isinstance(tiding, Judging):
            now = time.monotonic()
            if tiding.answered and now - self._judging_told < _JUDGING_EVERY:
                return None
            self._judging_told = now
        return sentence(tiding)


def sentence(tiding: Tiding) -> str | None:
    """Return what happened in a few words; None for what is said by what comes before or after it."""
    match tiding:
        case Freezing():
            return "reads the material"
        case Searching(strategies=names):
            who = "1 strategy searches" if len(names) == 1 else f"{len(names)} strategies search"
            return f"{who}: {', '.join(names)}"
        case StrategyBegan(strategy=name, attempt=attempt):
            return f"{name} looks once more" if attempt > 1 else None
        case StrategyEnded():
            return f"{tiding.strategy} {ended(tiding)}"
        case TakenIn():
            back = f", {tiding.reopened} reopened" if tiding.reopened else ""
            return f"{tiding.fresh} fresh{back}, of {count(tiding.distinct, 'distinct finding')}"
        case Judging(answered=answered, asked=asked):
            return (
                f"the judge has answered {answered} of {asked}"
                if answered
                else f"the judge is asked {count(asked, 'time')}"
            )
        case Judged():
            return f"judged: {verdicts(tiding)}" + (f"; {tiding.failed}" if tiding.failed else "")
        case Decided():
            return f"decided: {stand(tiding)}"
    return None


def ended(tiding: StrategyEnded) -> str:
    """Return how a strategy ended, and after how long."""
    if tiding.ran:
        return f"ran, {count(tiding.rows, 'row')}, {tiding.seconds:.1f} s"
    kept = f", {count(tiding.rows, 'row')} kept" if tiding.rows else ""
    return f"not_run{kept}, {tiding.seconds:.1f} s: {tiding.reason}"


def verdicts(tiding: Judged) -> str:
    """Return how many findings were judged, by verdict, without those verdicts that none got."""
    counted = {name: getattr(tiding, name) for name in ("confirmed", "rejected", "undecided", "unjudged")}
    return ", ".join(f"{number} {name}" for name, number in counted.items() if number) or "nothing"


def stand(tiding: Decided) -> str:
    """Return where a campaign stands after a round."""
    of = f" of {tiding.calls_ceiling}" if tiding.calls_ceiling is not None else ""
    why = f" ({tiding.reason})" if tiding.reason else ""
    outcome = "" if tiding.outcome == "running" else f"{tiding.outcome}{why}, "
    still = ", angles still to come" if tiding.uncovered else ""
    return f"{outcome}quiet {tiding.quiet} of {tiding.k}{still}, {tiding.calls}{of} calls"

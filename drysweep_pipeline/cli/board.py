"""The board on a terminal while a campaign runs: the round under way, a line a strategy, decided rounds above it."""

import threading
import time
from dataclasses import dataclass, field
from types import TracebackType
from typing import IO, Self

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from drysweep_pipeline.cli.watching import ended, stand, verdicts
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
)
from drysweep_pipeline.redaction import hidden
from drysweep_pipeline.reports.text import safe_text

_PER_SECOND = 4
_STYLES = {"waiting": "dim", "running": "cyan", "ran": "green", "not_run": "yellow"}


@dataclass(slots=True)
class _Part:
    """What is known of one strategy in the round under way."""

    status: str = "waiting"
    began: float = 0.0
    attempt: int = 0
    end: StrategyEnded | None = None


@dataclass(slots=True)
class _Round:
    """What is known of the round under way."""

    campaign: str = ""
    number: int = 0
    doing: str = "starts"
    began: float = field(default_factory=time.monotonic)
    parts: dict[str, _Part] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)


class Board:
    """A listener that draws what it hears on a terminal, in place; the terminal is as it was when the block is left."""

    def __init__(self, stream: IO[str]) -> None:
        self._lock = threading.Lock()
        self._round = _Round()
        self._console = Console(file=stream, highlight=False)
        self._live = Live(
            get_renderable=self._drawn,
            console=self._console,
            refresh_per_second=_PER_SECOND,
            transient=True,
            redirect_stdout=False,
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def __call__(self, tiding: Tiding) -> None:
        """Take in what happened; a decided round leaves its line for good."""
        line = None
        with self._lock:
            if (tiding.campaign, tiding.round) != (self._round.campaign, self._round.number):
                self._round = _Round(tiding.campaign, tiding.round)
            line = self._heard(tiding)
        if line is not None:
            self._live.console.print(line, soft_wrap=True)

    def _heard(self, tiding: Tiding) -> Text | None:
        now = self._round
        match tiding:
            case Freezing():
                now.doing = "reads the material"
            case Searching(strategies=names):
                now.doing, now.parts = "searches", {name: _Part() for name in names}
            case StrategyBegan(strategy=name, attempt=attempt):
                part = now.parts.setdefault(name, _Part())
                part.status, part.attempt, part.began = "running", attempt, part.began or time.monotonic()
            case StrategyEnded(strategy=name, ran=ran):
                part = now.parts.setdefault(name, _Part())
                part.status, part.end = "ran" if ran else "not_run", tiding
            case TakenIn():
                now.doing = "takes in"
                now.told.append(f"{tiding.fresh} fresh" + (f", {tiding.reopened} reopened" if tiding.reopened else ""))
            case Judging(answered=answered, asked=asked):
                now.doing = f"judges, {answered} of {asked} answered"
            case Judged():
                now.doing = "decides"
                now.told.append(verdicts(tiding))
            case Decided():
                return self._line(tiding)
        return None

    def _line(self, tiding: Decided) -> Text:
        """Return what stays of a decided round."""
        now = self._round
        ran = sum(part.status == "ran" for part in now.parts.values())
        searched = [f"{ran} of {len(now.parts)} ran"] if now.parts else []
        told = [*now.told, *searched, stand(tiding), f"{time.monotonic() - now.began:.1f} s"]
        line = Text(f"round {tiding.round}: ", style="bold")
        line.append(_shown("; ".join(told)), style="not bold")
        for name, part in now.parts.items():
            if part.end is not None and not part.end.ran:
                line.append(Text("\n  " + _shown(f"{name} {ended(part.end)}"), style="not bold yellow"))
        # Whatever is decided next is another round.
        self._round = _Round(now.campaign, now.number, "goes on" if tiding.outcome == "running" else "ends")
        return line

    def _drawn(self) -> Group:
        with self._lock:
            now, at = self._round, time.monotonic()
            title = _one_line(f"{now.campaign} round {now.number}  " if now.campaign else "", "bold")
            title.append(_shown(f"{now.doing}, {_clock(at - now.began)}"), style="not bold")
            table = Table.grid(padding=(0, 2))
            for name, part in now.parts.items():
                table.add_row(_one_line(f"  {name}"), _status(part, at))
        return Group(title, table)


def _status(part: _Part, at: float) -> Text:
    if part.end is not None:
        return _one_line(ended(part.end), _STYLES[part.status])
    attempt = f", attempt {part.attempt}" if part.attempt > 1 else ""
    elapsed = f" {_clock(at - part.began)}{attempt}" if part.began else ""
    return _one_line(f"{part.status}{elapsed}", _STYLES[part.status])


def _one_line(text: str, style: str = "") -> Text:
    """Return a text that is cut where the terminal is too narrow, so that each strategy keeps to its line."""
    return Text(_shown(text), style=style, no_wrap=True, overflow="ellipsis")


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def _shown(text: str) -> str:
    return safe_text(hidden(text))

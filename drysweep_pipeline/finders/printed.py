"""What the finders in child processes have in common: what they are told, and keeping what came before a failure."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from drysweep_pipeline import candidates
from drysweep_pipeline.errors import FinderError
from drysweep_pipeline.finders.jsonl import Lines, Row
from drysweep_pipeline.finders.request import Found, Request
from drysweep_pipeline.finders.whole import Whole


def taken(rows: Iterable[Row], fields: tuple[str, ...]) -> Found:
    """Return what a child printed: what it said before it failed, and why it did, where that is so."""
    failures: list[FinderError] = []

    def kept() -> Iterator[Row]:
        try:
            yield from rows
        except FinderError as error:
            failures.append(error)

    prepared = candidates.prepare(kept(), fields)
    end = rows.end if isinstance(rows, Lines | Whole) else None
    return Found(prepared=prepared, usage=end.usage if end else None, failure=failures[0] if failures else None)


def variables(request: Request) -> dict[str, str]:
    """Return what a child is told in its environment; values with parts are JSON."""
    return {f"DRYSWEEP_{name.upper()}": said for name, said in texts(request).items()}


def told(request: Request) -> dict[str, Any]:
    """Return what a child is told about its task."""
    look = request.look
    return {
        "sweep": request.sweep,
        "campaign": request.campaign,
        "round": request.round,
        "strategy": look.strategy,
        "angle": look.angle,
        "seed": look.seed,
    }


def texts(request: Request) -> dict[str, str]:
    """Return the same as texts."""
    return {name: text(said) for name, said in told(request).items()}


def text(said: Any) -> str:
    """Return a value as one word of argv: text as it is, all else as JSON writes it."""
    return said if isinstance(said, str) else json.dumps(said)


def angle_words(angle: Mapping[str, Any]) -> dict[str, str]:
    """Return the values of an angle by the placeholders that stand for them."""
    return {f"angle.{name}": text(said) for name, said in angle.items()}

"""The HTTP finder: one POST a look, with the task and what is sent of the material; JSON back, whole or not at all."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from drysweep_pipeline.declaration.model import HttpStrategy
from drysweep_pipeline.errors import FinderError
from drysweep_pipeline.finders.jsonl import Lines, truncated
from drysweep_pipeline.finders.printed import taken, told
from drysweep_pipeline.finders.request import Found, Request
from drysweep_pipeline.finders.sent import as_json, sent
from drysweep_pipeline.finders.whole import Whole
from drysweep_pipeline.posting import JSON, Answer, Postbox
from drysweep_pipeline.values import Usage

LINES = ("application/x-ndjson", "application/ndjson", "application/jsonl")
MAX_BYTES = 64 << 20
MAX_LINE_BYTES = 4 << 20


def search(request: Request) -> Found:
    """Ask the strategy's service once, and return what it answered; what was tried before counts at its worst.

    Raises ``FinderError`` where no answer came that could be looked at.
    """
    strategy = request.strategy
    assert isinstance(strategy, HttpStrategy)
    box = Postbox(strategy, request.base, strategy.timeout_s, MAX_BYTES, (JSON, *LINES))
    try:
        rows = _rows(request, strategy)
    except FinderError as error:
        # Nobody was asked, so that nothing was used.
        return Found(usage=Usage(), failure=error)
    question = as_json({**told(request), "rows": rows}).encode()
    answer = box.post(question, request.meter.more, request.children)
    found = taken(_findings(answer, strategy.max_rows), request.fields)
    if rows == [] and strategy.send is not None:
        found = replace(found, note=f"{strategy.send.query.file} gives no rows: no row was sent")
    if found.usage is None:
        return found
    return replace(found, usage=found.usage + strategy.worst.times(answer.tries - 1))


def _rows(request: Request, strategy: HttpStrategy) -> list[dict[str, Any]] | None:
    """Return the rows that are sent; None where none are declared."""
    if strategy.send is None:
        return None
    offered = {**request.look.angle, "seed": request.look.seed, "round": request.round}
    return sent(strategy.send, request.database, offered, strategy.timeout_s, request.children, request.planted).rows


def _findings(answer: Answer, max_rows: int) -> Lines | Whole:
    return Whole(answer.body, max_rows) if answer.media == JSON else Lines(_lines(answer.body), max_rows)


def _lines(body: bytes) -> Iterator[bytes]:
    for line in body.split(b"\n"):
        if len(line) > MAX_LINE_BYTES:
            raise truncated(f"a line of more than {MAX_LINE_BYTES} bytes")
        yield line

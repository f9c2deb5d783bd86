"""Findings as a service answers them: one JSON object with all of them, and the mark that they are all."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from drysweep_pipeline.candidates import Unfit
from drysweep_pipeline.errors import FinderError
from drysweep_pipeline.exact import shown
from drysweep_pipeline.finders.jsonl import MARK, End, Row, end_of, truncated, value

_KEYS = ("findings", "end", "usage")
_HELP = 'a whole answer is {"findings": [...], "end": true}'


class Whole:
    """The findings in an answer that is one JSON object.

    Raises ``FinderError`` where it is no such object, where it is over a cap, and at its end where it is not complete.
    """

    def __init__(self, body: bytes, max_rows: int) -> None:
        self.end: End | None = None
        self._body = body
        self._max_rows = max_rows

    def __iter__(self) -> Iterator[Row]:
        said = _object(self._body)
        findings = said.get("findings")
        if not isinstance(findings, list):
            raise FinderError(f"the answer's findings are {shown(findings)}, which is no list", help=_HELP)
        for number, finding in enumerate(findings, 1):
            if number > self._max_rows:
                raise truncated(f"more than {self._max_rows} rows", "raise max_rows")
            yield _row(finding, number)
        self.end = _end(said, len(findings))


def _row(finding: Any, number: int) -> Row:
    if not isinstance(finding, dict):
        return Unfit(f"finding {number}: {shown(finding)} is no JSON object")
    return Unfit(f"finding {number}: {MARK!r} is not accepted from a finder") if MARK in finding else finding


def _end(said: Mapping[str, Any], count: int) -> End:
    """Return the mark of the end. Raises ``FinderError`` where there is none, or not for as many findings."""
    end = said.get("end", False)
    if end is False or end is None:
        raise FinderError("answered without the mark of a complete answer", help=_HELP)
    marked = end_of({MARK: "end", "count": count if end is True else end, "usage": said.get("usage", {})})
    if marked.count != count:
        raise FinderError(f"the mark of the end counts {marked.count} findings, and there are {count}", help=_HELP)
    return marked


def _object(body: bytes) -> dict[str, Any]:
    if not body.strip():
        raise FinderError("answered with nothing at all", help=_HELP)
    try:
        text = body.decode()
        said = value(text)
    except UnicodeDecodeError as error:
        raise FinderError(f"the answer is not UTF-8, at byte {error.start + 1}") from None
    except json.JSONDecodeError as error:
        at = f"line {error.lineno}, column {error.colno}"
        raise FinderError(f"the answer is not JSON, at {at}: {error.msg}", help=_HELP) from None
    except ValueError as error:
        raise FinderError(f"the answer is not JSON: {error}", help=_HELP) from None
    if not isinstance(said, dict):
        raise FinderError(f"the answer is {shown(said)}, which is no JSON object", help=_HELP)
    unknown = [key for key in said if key not in _KEYS]
    if unknown:
        raise FinderError(f"the answer has the key {shown(unknown[0])}", help=f"it has {', '.join(_KEYS)}")
    return said

"""Reading what a judge in a child process said: one JSON object, ``verdict`` and ``reason``; nothing else counts."""

import json
from typing import Any

from drysweep_pipeline.errors import FinderError
from drysweep_pipeline.finders.jsonl import usage_of
from drysweep_pipeline.judges.question import Call, Ruling, no_answer
from drysweep_pipeline.redaction import brief, hidden
from drysweep_pipeline.values import Verdict

VERDICTS = (Verdict.CONFIRMED, Verdict.REJECTED, Verdict.UNDECIDED)
REASON_CHARACTERS = 2000


def read(printed: bytes, call: Call) -> Ruling:
    """Return the ruling that was printed; undecided, with the reason, where that is not exactly one JSON object."""
    if not printed.strip():
        return no_answer(call, "the judge gave no answer")
    try:
        said = json.loads(printed.decode(), object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        return no_answer(call, f"the judge printed {_shown(printed)}, which is not one JSON object: {error}")
    return ruling(said, call)


def ruling(said: Any, call: Call) -> Ruling:
    """Return what a judge said as a ruling; undecided, with the reason, where it is no verdict on this finding."""
    if not isinstance(said, dict):
        return no_answer(call, "the judge's answer is no JSON object")
    if said.get("error"):
        # Whoever could not look has no verdict, whatever a default left in its place.
        return no_answer(call, f"the judge reports an error: {text(said['error'], 300)}")
    verdict = said.get("verdict")
    if verdict is None:
        return no_answer(call, "the judge gave no verdict")
    if not isinstance(verdict, str) or verdict not in VERDICTS:
        what = text(verdict, 60)
        return no_answer(call, f"the judge said {what!r}; a verdict is confirmed, rejected or undecided")
    if said.get("fp", str(call.fp)) != str(call.fp):
        return no_answer(call, f"the judge answered for another finding, {text(said['fp'], 60)!r}")
    try:
        usage = usage_of(said["usage"]) if "usage" in said else None
    except FinderError as error:
        return no_answer(call, f"the judge: {error}")
    reason = said.get("reason")
    told = None if reason is None else text(reason)
    return Ruling(call.fp, Verdict(verdict), told, call.member, usage=usage)


def text(value: Any, most: int = REASON_CHARACTERS) -> str:
    """Return a value of JSON as text that can be stored: no half characters, and not longer than allowed."""
    written = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return brief(written, most).encode("utf-8", "replace").decode().replace("\0", "?")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


def _shown(printed: bytes) -> str:
    text = hidden(printed.decode("utf-8", "replace"))
    return repr(text[:60]) + ("..." if len(text) > 60 else "")

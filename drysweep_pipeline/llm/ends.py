"""Whether a model ended its answer by itself, and whether the text that was made of the answer is all that it said.

A library reads an answer for what it knows: a reason for stopping that it does not know becomes none at all, and what
stands beside the text is left out. So an answer is looked at as it came, too.
"""

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from drysweep_pipeline.errors import FinderError
from drysweep_pipeline.llm.failures import final
from drysweep_pipeline.redaction import hidden

if TYPE_CHECKING:
    from drysweep_pipeline.llm.client import Heard

_SHOWN = 300
# What providers call an answer that was cut at its longest, beside what the library knows by that name.
_CUT = ("length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded")
_TEXT = ("text", "output_text", "reasoning_text", "thinking", "reasoning", "reference")
# So many bytes no tokenizer makes one token of, taken over a whole text; of less than so many that says too little.
_BYTES_A_TOKEN = 16
_ENOUGH_TO_TELL = 32 << 10
_ELSE = "garbled: the model answered with something else than text"


def text_of(response: Any, heard: "Heard") -> str:
    """Return the text of a response. Raises ``FinderError`` where the model did not end it, or said more than that."""
    from pydantic_ai.messages import TextPart, ThinkingPart

    details = response.provider_details or {}
    refused = details.get("refusal")
    if refused is not None:
        raise FinderError(f"refusal: the model refuses to answer: {_short(refused)}")
    if response.finish_reason == "content_filter":
        raise FinderError("content_filter: the provider filtered the answer")
    _check_stop(response.finish_reason, details.get("finish_reason"))
    if response.state != "complete":
        raise FinderError(f"unfinished: the model ended with {response.state}")
    if heard.status:
        _check_heard(response.finish_reason, heard)
    if not all(isinstance(part, TextPart | ThinkingPart) for part in response.parts):
        raise FinderError(_ELSE)
    return "".join(part.content for part in response.parts if isinstance(part, TextPart))


def check_read(usage: Any, sent: int) -> None:
    """Raise ``FinderError`` where a provider counts fewer tokens than ``sent`` bytes of data can have been.

    Some servers cut what is too long for their model, and answer as if nothing were missing.
    """
    if usage.unmeasured_requests or not usage.input_tokens or sent < _ENOUGH_TO_TELL:
        return
    if usage.input_tokens * _BYTES_A_TOKEN < sent:
        what = f"unread: the provider counts {usage.input_tokens} tokens, and was sent {sent} bytes of data"
        raise final(what, help="send less, or have the server read more: it may cut what it is sent")


def _check_stop(known: str | None, said: Any) -> None:
    """Raise ``FinderError`` where a model was stopped; ``known`` is what the library makes of what was ``said``.

    Servers that say nothing at all of why a model stopped are taken for saying that it did so by itself.
    """
    if known == "stop" or (known is None and not said):
        return
    if known == "length" or str(said).lower() in _CUT:
        help = "raise max_output_tokens, or send less"
        raise FinderError("truncated: the answer was cut at its longest", status="truncated", help=help)
    raise FinderError(f"unfinished: the model ended with {_short(said or known)}")


def _check_heard(known: str | None, heard: "Heard") -> None:
    """Raise ``FinderError`` where an answer, as it came, says that it is not all, or holds more than one text."""
    if heard.status != 200:
        raise FinderError(f"unfinished: the provider answered with status {heard.status}, which is not a whole answer")
    try:
        body = json.loads(heard.body)
    except (ValueError, RecursionError):
        # The library read something else, such as a stream of events.
        return
    if not isinstance(body, dict):
        return
    choices = [each for each in _list(body, "choices") if isinstance(each, dict)]
    for part in (body, *choices):
        if part.get("error"):
            raise FinderError(f"unfinished: the provider reports an error beside the answer: {_short(part['error'])}")
    several = max(len(choices), len(_list(body, "candidates")))
    if several > 1:
        raise FinderError(f"garbled: the provider gave {several} answers to one question")
    for choice in choices:
        _check_stop(known, choice.get("finish_reason"))
        message = choice.get("message") or {}
        if message.get("function_call") or message.get("tool_calls") or not all(_is_text(message)):
            raise FinderError(_ELSE)
    if body.get("object") == "response":
        _check_items(body)


def _check_items(body: Mapping[str, Any]) -> None:
    """Raise ``FinderError`` where what a model gave item by item is not all that it was to give."""
    _check_stop(None, (body.get("incomplete_details") or {}).get("reason"))
    for item in (body, *_list(body, "output")):
        status = item.get("status")
        if status not in (None, "completed"):
            raise FinderError(f"unfinished: a part of the answer is {_short(status)}")
        if item is not body and (item.get("type") not in ("message", "reasoning") or not all(_is_text(item))):
            raise FinderError(_ELSE)


def _is_text(message: Mapping[str, Any]) -> Iterator[bool]:
    """Tell of each part of a message whether it is text, where it has parts."""
    for part in _list(message, "content"):
        yield isinstance(part, str) or (isinstance(part, dict) and part.get("type") in _TEXT)


def _list(said: Mapping[str, Any], name: str) -> list[Any]:
    found = said.get(name)
    return found if isinstance(found, list) else []


def _short(said: Any) -> str:
    if isinstance(said, dict):
        said = said.get("message") or json.dumps(said)
    # Before it is cut, since half a secret is not known for one.
    return " ".join(hidden(str(said)).split())[:_SHOWN]

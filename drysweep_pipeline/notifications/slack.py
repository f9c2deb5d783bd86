"""A notice as Slack takes it: blocks within its limits, in which no text of others is a link, a mention or a command.

Slack reads ``<!channel>``, ``<@U1>`` and ``<https://...|text>`` wherever they stand in text. Writing ``&``, ``<`` and
``>`` as entities keeps that from happening, and ``verbatim`` that bare addresses and names become links.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from drysweep_pipeline.notifications.message import blocker, reasons
from drysweep_pipeline.reports.since import lines
from drysweep_pipeline.reports.text import safe_text
from drysweep_pipeline.wording import count

HEADER = 150
SECTION = 3000
"""How many characters Slack takes in a header and in a section; what is longer is refused with the whole message."""
_ENTITIES = (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"))


def blocks(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is posted to an incoming webhook of Slack; ``body`` is the notice as ``message`` puts it."""
    return {
        "text": _within(_first(body), SECTION),
        "unfurl_links": False,
        "unfurl_media": False,
        "blocks": list(_blocks(body)),
    }


def escaped(text: str) -> str:
    """Return a text of others as Slack shows it, and does nothing with it."""
    shown = safe_text(text)
    for character, entity in _ENTITIES:
        shown = shown.replace(character, entity)
    return shown


def _first(body: Mapping[str, Any]) -> list[str]:
    return [f"{body['sweep']} {lines(body['since'])[0]}", body["verdict"]]


def _blocks(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    title = f"{body['sweep']}: {body['outcome']}" + (f" ({body['reason']})" if body["reason"] else "")
    yield {"type": "header", "text": {"type": "plain_text", "text": safe_text(title)[:HEADER], "emoji": False}}
    yield _section(_within(map(str.strip, lines(body["since"])), SECTION))
    yield _section(_within([body["verdict"]], SECTION))
    if why := list(reasons(body)):
        yield _section(_within(why, SECTION))
    if body["new_blockers"]:
        number = len(body["new_blockers"]) + body["unnamed_blockers"]
        more = [f"and {body['unnamed_blockers']} more"] if body["unnamed_blockers"] else []
        named = [f"• {blocker(row)}" for row in body["new_blockers"]]
        yield _section(_within([f"{count(number, 'new blocker')}:", *named, *more], SECTION))
    if waiting := body["waits_for"]:
        yield _section(_within([f"{waiting['sentence']}:"], SECTION))
        yield _section(_code(waiting["commands"]))
    if steps := body["next"]:
        # One section: each command below what it is for, which is what makes it safe to paste.
        yield _section(_within(_steps(steps), SECTION))
    if body["report"]:
        yield {"type": "context", "elements": [_text(_within([f"report: {body['report']}"], SECTION))]}


def _steps(steps: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for step in steps:
        yield f"{step['text']}{':' if step['command'] else '.'}"
        if step["command"]:
            yield f"    {step['command']}"


def _section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": _text(text)}


def _text(text: str) -> dict[str, Any]:
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def _code(commands: Iterable[str]) -> str:
    """Return commands as they can be pasted; a backtick would end what is shown as it is."""
    fence = "```"
    return f"{fence}{_within((each.replace('`', chr(0x2BB)) for each in commands), SECTION - 2 * len(fence))}{fence}"


def _within(texts: Iterable[str], most: int) -> str:
    """Return texts, a line each, in no more than so many characters: an entity is never cut in two."""
    kept: list[str] = []
    left = most
    for line in texts:
        for character in safe_text(line) + "\n":
            written = character if character == "\n" else escaped(character)
            if left <= len(written):
                return "".join([*kept, "…"])
            kept.append(written)
            left -= len(written)
    return "".join(kept).rstrip("\n")

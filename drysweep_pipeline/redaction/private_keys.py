"""Private keys in texts: where they begin and end, whole or cut, and what makes one the same key as another.

Only what can be a line of a key is taken for one: a text goes on behind a key that has no end, and the line that begins
a key is no secret by itself.
"""

import re
from collections.abc import Iterator

from drysweep_pipeline.redaction.spans import Span

LOOSE = (r"PRIVATE KEY(?: BLOCK)? ?----", "PuTTY-User-Key-File-")
"""Patterns for RE2, one of which is found wherever there may be a key."""

_BASE64 = "[A-Za-z0-9+/]"
_SHORTEST_LINE = 16
# What stands between two lines of a key: line ends, also where JSON escaped them, and what YAML or a list put there.
_BETWEEN = r"""(?:\\[nrt]|[\s;,"'|>])"""
_LINE = rf"{_BASE64}{{{_SHORTEST_LINE},}}={{0,2}}"
_LAST = rf"(?:{_BETWEEN}+{_BASE64}{{1,{_SHORTEST_LINE}}}={{0,2}})?(?:{_BETWEEN}+={_BASE64}{{4}})?"
# Never given back: a value may hold what looks like the next header.
_TO_LINE_END = r"[^\n\r\\;]{0,200}+"
_HEADERS = rf"""(?:
    {_BETWEEN}*(?:
        Proc-Type:\ *\d,\ *[A-Z-]+ | DEK-Info:\ *[A-Z0-9-]+,\ *[0-9A-Fa-f]+
        | (?:Version|Comment|Hash|Charset|MessageID|Subject|x-[\w-]+):{_TO_LINE_END}
    ))*+"""
_LINES = rf"(?P<headers>{_HEADERS})(?P<lines>(?:{_BETWEEN}*{_LINE})(?:{_BETWEEN}+{_LINE})*)"
_WHOLE = re.compile(rf"{_LINES}{_LAST}{_BETWEEN}*", re.VERBOSE)
# Where nothing ends a key, a short line may be its last one only where the text ends with it.
_WITHOUT_END = re.compile(rf"{_LINES}(?:{_BETWEEN}+{_BASE64}{{1,{_SHORTEST_LINE}}}={{0,2}}\Z)?", re.VERBOSE)
# The same backwards, since that is how the lines are found that lead up to an end.
_BETWEEN_BACK = r"""(?:[nrt]\\|[\s;,"'|>])"""
_LINE_BACK = rf"={{0,2}}{_BASE64}{{{_SHORTEST_LINE},}}(?!\\)"
_WITHOUT_BEGINNING = re.compile(
    rf"{_BETWEEN_BACK}*(?:{_BASE64}{{4}}={_BETWEEN_BACK}+)?"
    rf"(?:={{0,2}}{_BASE64}{{1,{_SHORTEST_LINE}}}{_BETWEEN_BACK}+)?"
    rf"{_LINE_BACK}(?:{_BETWEEN_BACK}+{_LINE_BACK})*"
)
_EDGE = re.compile(r"-{4,5}\ ?(?:(?P<begin>BEGIN)|END)\ (?:[A-Z0-9]+\ )*PRIVATE\ KEY(?:\ BLOCK)?\ ?-{4,5}", re.VERBOSE)
_PUTTY_LINE = "(?:Encryption|Comment|Public-Lines|Private-Lines|Key-Derivation|Argon2-\\w+|Private-MAC):"
_PUTTY_BEGINS = re.compile(r"PuTTY-User-Key-File-\d")
_PUTTY = re.compile(
    rf"""PuTTY-User-Key-File-\d+:\ *[\w-]*
    (?:{_BETWEEN}+(?:
        (?!Private-MAC){_PUTTY_LINE}{_TO_LINE_END}
        | {_LINE} | {_BASE64}{{1,{_SHORTEST_LINE}}}={{0,2}}(?={_BETWEEN}+{_PUTTY_LINE}|\Z)
    ))*+
    (?:{_BETWEEN}+Private-MAC:\ *[0-9a-fA-F]+)?""",
    re.VERBOSE,
)
_LONG_RUN = re.compile(rf"{_BASE64}{{40,}}={{0,2}}")
_HAS_LINE = re.compile(_LINE)
_HEX = re.compile("[0-9A-Fa-f]+")
_LAYOUT = re.compile(_BETWEEN)
_LAYOUTS = re.compile(f"{_BETWEEN}+")


def private_keys(text: str) -> Iterator[Span]:
    """Yield private keys: whole, without their end, or without their beginning, as the last lines of an output are."""
    if "PuTTY-User-Key-File-" in text:
        # From each beginning, also one that stands in what another begins.
        for begin in _PUTTY_BEGINS.finditer(text):
            match = _PUTTY.match(text, begin.start())
            if match and _HAS_LINE.search(match[0]):
                yield *match.span(), _LAYOUTS.sub(" ", match[0])
    edges = list(_EDGE.finditer(text)) if "PRIVATE KEY" in text else []
    last_end = 0
    for number, edge in enumerate(edges):
        following = edges[number + 1] if number + 1 < len(edges) else None
        if edge["begin"] and following is not None and not following["begin"]:
            yield from _whole(text, edge, following)
        elif edge["begin"]:
            yield from _without_end(text, edge, following.start() if following else len(text))
        elif not (number and edges[number - 1]["begin"]):
            yield from _without_beginning(text, last_end, edge)
        last_end = edge.end()


def _whole(text: str, begin: re.Match[str], end: re.Match[str]) -> Iterator[Span]:
    """Yield what stands between two edges, where that may be a key."""
    inside = text[begin.end() : end.start()]
    match = _WHOLE.fullmatch(inside)
    if match:
        key = begin[0] + _without_layout(match["headers"], inside[match.start("lines") :]) + end[0]
        yield begin.start(), end.end(), key
    elif _HAS_LINE.search(inside):  # in a layout that is not known: told apart by all that is there
        yield begin.start(), end.end(), text[begin.start() : end.end()]


def _without_end(text: str, begin: re.Match[str], stop: int) -> Iterator[Span]:
    """Yield the lines of a key as far as they are there, and what else can be nothing but such a line."""
    match = _WITHOUT_END.match(text, begin.end(), stop)
    if match:
        key = begin[0] + _without_layout(match["headers"], text[match.start("lines") : match.end()])
        yield begin.start(), match.end(), key
    for run in _LONG_RUN.finditer(text, match.end() if match else begin.end(), stop):
        if not _HEX.fullmatch(run[0]) and run[0].lower() != run[0]:
            yield *run.span(), run[0]


def _without_beginning(text: str, start: int, end: re.Match[str]) -> Iterator[Span]:
    match = _WITHOUT_BEGINNING.match(text[start : end.start()][::-1])
    if match:
        first = end.start() - match.end()
        yield first, end.end(), _LAYOUT.sub("", text[first : end.start()]) + end[0]


def _without_layout(headers: str, lines: str) -> str:
    """Return a key as it is the same whether its lines end with a line end, an escaped one, or a blank."""
    return _LAYOUTS.sub(" ", headers).strip() + _LAYOUT.sub("", lines)

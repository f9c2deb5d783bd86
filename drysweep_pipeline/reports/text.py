"""Text that others wrote, made safe to show: control and direction characters visible, Markdown's own escaped."""

import html
import json
import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from drysweep_pipeline.wording import angle_text, count, cut

# Direction overrides and other characters that change how their neighbours look, and are not seen themselves.
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
# An underscore inside a word is only an underscore; escaped, it would be harder to read where nobody renders it.
_MARKDOWN = re.compile(r"([\\`*\[\]|~]|(?<!\w)_|_(?!\w))")
_UNUSUAL = re.compile(r"[^\n\x20-\x7e]")
# What GitHub, Azure and TeamCity take for a command where it begins a line of a log.
_COMMAND = re.compile(r"\s*(::|##)")
_CELL = 160
_PROSE = 2000


def safe_text(text: str) -> str:
    """Return a text with every character that could drive a terminal or reorder a line made visible."""
    # What Python calls printable has none of them.
    return text if text.isprintable() else "".join(_visible(character) for character in text)


def cell(value: object, limit: int = _CELL) -> str:
    """Return a value as the content of a Markdown table cell, cut at ``limit`` characters."""
    if value is None or value == "":
        return "-"
    shown = cut(safe_text(str(value)), limit)
    return html.escape(_MARKDOWN.sub(r"\\\1", shown), quote=False)


def code(text: str) -> str:
    """Return a text as a Markdown code span, which shows it as it is, to be pasted."""
    shown = safe_text(text)
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    blank = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{'`' * (longest + 1)}{blank}{shown}{blank}{'`' * (longest + 1)}"


def prose(text: str, command: str | None) -> str:
    """Return a sentence as Markdown, with the command that it quotes in backticks as a code span."""
    before, quoted, after = text.partition(f"`{command}`") if command else (text, "", "")
    if not command or not quoted:
        return cell(text, _PROSE)
    return "".join((cell(before, _PROSE) if before else "", code(command), cell(after, _PROSE) if after else ""))


def shortened(text: str, limit: int) -> str:
    """Return a text of at most ``limit`` characters and, where it was longer, how many were left out."""
    return text if len(text) <= limit else f"{text[:limit]}… ({count(len(text) - limit, 'character')} more)"


def no_command(text: str) -> str:
    """Return a text with an apostrophe before it where what runs CI would take a line that it begins for a command."""
    return f"'{text}" if _COMMAND.match(text) else text


def safe_line(text: str) -> str:
    """Return a text as ``safe_text`` does, as a line of a log that is no command to what runs CI."""
    return no_command(safe_text(text))


def safe_lines(text: str) -> str:
    """Return a text as ``safe_text`` does, but with its line ends, as line feeds.

    Where a line would begin as a command to what runs CI, the line end before it is made visible like the others.
    """
    first, *others = text.replace("\r\n", "\n").split("\n")
    ends = ("\u240a" if _COMMAND.match(line) else "\n" for line in others)
    return safe_text(first) + "".join(end + safe_text(line) for end, line in zip(ends, others, strict=True))


def json_text(data: Any, indent: int | None = None) -> str:
    """Return data as JSON in which every character that could drive a terminal or reorder a line is escaped.

    Raises ``ValueError`` for a number that JSON lacks.
    """
    # Outside its strings JSON has no such character but the line feeds of an indent.
    text = json.dumps(data, ensure_ascii=False, indent=indent, allow_nan=False)
    return _UNUSUAL.sub(lambda match: _escaped(match[0]), text)


def at_angle(row: Mapping[str, Any]) -> str:
    """Return at which angle a strategy was not run, a blank before it; empty where it has no other."""
    return f" at {angle_text(row['angle'])}" if "angle" in row else ""


def _escaped(character: str) -> str:
    hidden = unicodedata.category(character) in _HIDDEN
    return json.dumps(character)[1:-1] if hidden else character


def _visible(character: str) -> str:
    point = ord(character)
    if point < 0x20:
        return chr(0x2400 + point)
    if point == 0x7F:
        return "\u2421"
    if unicodedata.category(character) in _HIDDEN:
        return f"<U+{point:04X}>"
    return character

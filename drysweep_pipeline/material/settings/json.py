"""JSON as leaves, strictly: the standard library checks the grammar, one pass over the tokens finds the leaves.

Refused beyond the grammar: a key written twice, NaN and infinities, lone surrogates, excessive depth.
"""

import json
import re
from dataclasses import dataclass, field, replace

from drysweep_pipeline.material.settings.leaf import MAX_DEPTH, Leaf, Unreadable

_LEXEME = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{},]|[-+.\w]+')
_WORDS = {"true": "boolean", "false": "boolean", "null": "null"}
_FORBIDDEN = ("NaN", "Infinity", "-Infinity")


@dataclass(slots=True)
class _Open:
    """An object or list whose end has not come yet; ``at`` is the name or position of the present child."""

    is_object: bool
    line: int
    at: str | int | None
    seen: dict[str, int] = field(default_factory=dict)
    is_empty: bool = True


def leaves(text: str) -> list[Leaf]:
    """Return the leaves of one JSON value. Raises ``Unreadable`` with the line where it is not strict JSON."""
    try:
        json.loads(text, parse_int=str, parse_float=str)
    except json.JSONDecodeError as error:
        raise Unreadable(f"not JSON: {error.msg}", error.lineno) from error
    except RecursionError as error:
        raise Unreadable(f"nested deeper than {MAX_DEPTH} levels") from error
    return _Leaves(text).found


def lines_leaves(text: str) -> list[Leaf]:
    """Return the leaves of JSON Lines, one document a line; blank lines are skipped."""
    found: list[Leaf] = []
    document = 0
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            found += _line_leaves(line, number, document)
            document += 1
    return found


def _line_leaves(text: str, line: int, document: int) -> list[Leaf]:
    try:
        return [replace(leaf, line=line, document=document) for leaf in leaves(text)]
    except Unreadable as error:
        raise Unreadable(re.sub(r"^line \d+: ", "", str(error)), line) from error


class _Leaves:
    """One pass over the tokens of a text that the grammar check let through."""

    def __init__(self, text: str) -> None:
        self.found: list[Leaf] = []
        self._open: list[_Open] = []
        line, last = 1, 0
        for match in _LEXEME.finditer(text):
            line += text.count("\n", last, match.start())
            last = match.start()
            self._take(match[0], line)

    def _take(self, lexeme: str, line: int) -> None:
        if lexeme in "{[":
            self._begin(lexeme == "{", line)
        elif lexeme in "}]":
            self._end(lexeme)
        elif lexeme == ",":
            inner = self._open[-1]
            inner.at = None if isinstance(inner.at, str) else (inner.at or 0) + 1
        elif self._open and self._open[-1].is_object and self._open[-1].at is None:
            self._name(lexeme, line)
        else:
            self._leaf(*_spelled(lexeme, line), line)

    def _begin(self, is_object: bool, line: int) -> None:
        if len(self._open) >= MAX_DEPTH:
            raise Unreadable(f"nested deeper than {MAX_DEPTH} levels", line)
        self._fill()
        self._open.append(_Open(is_object, line, None if is_object else 0))

    def _end(self, lexeme: str) -> None:
        ended = self._open.pop()
        if ended.is_empty:
            value, kind = ("{}", "empty_map") if lexeme == "}" else ("[]", "empty_list")
            self._leaf(value, kind, ended.line)

    def _name(self, lexeme: str, line: int) -> None:
        inner = self._open[-1]
        name = _string(lexeme, line)
        if name in inner.seen:
            raise Unreadable(f"duplicate key {name!r} on lines {inner.seen[name]} and {line}")
        inner.seen[name] = line
        inner.at = name

    def _leaf(self, value: str, kind: str, line: int) -> None:
        self._fill()
        path = tuple(part.at for part in self._open if part.at is not None)
        self.found.append(Leaf(path, value, kind, line))

    def _fill(self) -> None:
        if self._open:
            self._open[-1].is_empty = False


def _spelled(lexeme: str, line: int) -> tuple[str, str]:
    if lexeme.startswith('"'):
        return _string(lexeme, line), "string"
    if lexeme in _FORBIDDEN:
        raise Unreadable(f"{lexeme} is not JSON", line)
    return lexeme, _WORDS.get(lexeme) or ("number" if re.search("[.eE]", lexeme) else "integer")


def _string(lexeme: str, line: int) -> str:
    if "\\" not in lexeme:
        return lexeme[1:-1]
    value = str(json.loads(lexeme))
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise Unreadable("half of a surrogate pair, which is not text", line) from error
    return value

"""A leaf of a settings file: where it stands, what it says, of what type it is."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

MAX_DEPTH = 50
_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?", re.ASCII)

Path = tuple[str | int, ...]


class Unreadable(ValueError):
    """A file cannot be taken as the settings it claims to be; the text is the reason that people see."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason if line is None else f"line {line}: {reason}")


@dataclass(frozen=True, slots=True)
class Leaf:
    """One leaf: its path (names are text, positions in lists are numbers), value as text, type and line.

    ``type`` is string, integer, number, boolean, null, empty_list or empty_map; ``line`` counts from 1, None
    where it is unknown; ``document`` counts the documents of the file from 0.
    """

    path: Path
    value: str
    type: str
    line: int | None = None
    document: int = 0

    @property
    def pointer(self) -> str:
        """The RFC 6901 JSON pointer of the leaf."""
        return pointer(self.path)

    @property
    def key(self) -> str:
        """The last segment of the pointer, unescaped."""
        return str(self.path[-1]) if self.path else ""


class Number(str):
    """A number with a fraction or an exponent, kept as it is written."""

    __slots__ = ()


def pointer(path: Path) -> str:
    """Return the RFC 6901 JSON pointer of a path."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def segments(text: str) -> tuple[str, ...]:
    """Return the unescaped segments of a JSON pointer; the leading slash may be missing."""
    if not text:
        return ()
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in text.removeprefix("/").split("/"))


def spelled_number(text: str) -> str:
    """Return a number with a fraction or exponent as JSON spells it; infinities and NaN as ``inf`` and ``nan``."""
    bare = text.replace("_", "").removeprefix("+")
    if _JSON_NUMBER.fullmatch(bare):
        return bare  # as it is written: 1.10 is not 1.1 to the person who wrote a version
    return repr(float(re.sub(r"\.(inf|nan)$", r"\1", bare.lower())))


def leaves_of(tree: Any, path: Path = ()) -> Iterator[Leaf]:
    """Yield the leaves of nested dicts and lists, without lines. Raises ``Unreadable`` past the depth limit."""
    if len(path) > MAX_DEPTH:
        raise Unreadable(f"nested deeper than {MAX_DEPTH} levels")
    if isinstance(tree, dict | list) and tree:
        for name, child in tree.items() if isinstance(tree, dict) else enumerate(tree):
            yield from leaves_of(child, (*path, name))
    else:
        value, kind = _spelled(tree)
        yield Leaf(path, value, kind)


def _spelled(value: Any) -> tuple[str, str]:
    if isinstance(value, dict | list):
        return ("{}", "empty_map") if isinstance(value, dict) else ("[]", "empty_list")
    if isinstance(value, Number):
        return spelled_number(value), "number"
    if value is None or isinstance(value, bool):
        return {None: ("null", "null"), True: ("true", "boolean"), False: ("false", "boolean")}[value]
    if isinstance(value, int):
        return str(value), "integer"
    return (value, "string") if isinstance(value, str) else (value.isoformat(), "string")

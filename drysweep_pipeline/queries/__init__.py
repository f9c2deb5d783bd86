"""Named queries: one file of SQL each, whose head says what it asks, with which parameters, and how to read the answer.

    -- title: Fresh findings a round
    -- question: Is the search going quiet?
    -- parameter sweep = only: the sweep
    -- parameter campaign = latest: its campaign
    -- reading: what the columns say
    -- caution: what they do not say
    -- example: -p campaign=c1
    select ...

A line that begins with two dashes and three blanks goes on with the one before it. A parameter without a default has
to be given; ``only``, ``latest`` and ``previous`` are looked up in the history (see ``values``), anything else is JSON.
"""

import difflib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drysweep_pipeline.errors import DeclarationError, NotFound

LOOKED_UP = ("only", "latest", "previous")
_FIELDS = ("title", "question", "reading", "caution", "example")
_REQUIRED = ("title", "question", "reading", "caution")
_HEAD = re.compile(r"-- (?:(?P<field>[a-z]+)|parameter (?P<name>[a-z_]+)(?: = (?P<default>[^:]+))?): (?P<text>.+)")
_MORE = re.compile(r"--   +(?P<text>.+)")
_NAME = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value that a query takes; ``default`` is one of ``LOOKED_UP`` or JSON, None where it has to be given."""

    name: str
    default: str | None
    meaning: str

    @property
    def literal(self) -> Any:
        """The default as a value, where it is written down as one; None where it is not."""
        return None if self.default is None or self.default in LOOKED_UP else json.loads(self.default)


@dataclass(frozen=True, slots=True)
class NamedQuery:
    """A question to the history: its SQL, what it takes, and what its answer says and does not say."""

    name: str
    path: Path
    text: str
    title: str
    question: str
    reading: str
    caution: str
    example: str
    parameters: tuple[Parameter, ...]

    @property
    def sql(self) -> str:
        """The query without its head."""
        lines = self.text.splitlines()
        head = next((n for n, line in enumerate(lines) if not line.startswith("--")), len(lines))
        return "\n".join(lines[head:]).strip()


def catalogue(*folders: Path) -> dict[str, NamedQuery]:
    """Return the named queries by name: those that drysweep brings along, and those of ``folders``.

    A file of such a folder is taken where it begins with a title. Raises ``DeclarationError`` where a head is wrong,
    or a name is taken.
    """
    found: dict[str, NamedQuery] = {}
    for folder in (Path(__file__).parent, *folders):
        for path in sorted(folder.glob("*.sql")):
            text = path.read_text(encoding="utf-8")
            if not text.startswith("-- title: "):
                continue
            if path.stem in found:
                help = f"{found[path.stem].path} has it; call the file something else"
                raise DeclarationError(f"there is a named query {path.stem} already", file=path, help=help)
            found[path.stem] = read_named_query(path, text)
    return found


def find(name: str, known: dict[str, NamedQuery]) -> NamedQuery:
    """Return the named query of a name. Raises ``NotFound``, with the nearest there are."""
    if name not in known:
        close = difflib.get_close_matches(name, known, 3, 0.5)
        raise NotFound("named query", name, close or sorted(known))
    return known[name]


def read_named_query(path: Path, text: str) -> NamedQuery:
    """Return the query that a file holds. Raises ``DeclarationError`` with the line, where its head is wrong."""
    if not _NAME.fullmatch(path.stem):
        raise DeclarationError(f"{path.stem!r} is no name of a query", file=path, help="write it like fresh_per_round")
    fields = dict.fromkeys(_FIELDS, "")
    parameters = []
    for line, name, default, field, said in _entries(path, text):
        if name:
            parameters.append(_parameter(path, line, name, default, said))
        elif field in fields:
            fields[field] = said
        else:
            raise DeclarationError(f"unknown {field!r}", file=path, line=line, help=f"there is {', '.join(_FIELDS)}")
    for field in _REQUIRED:
        if not fields[field]:
            raise DeclarationError(f"the head has no {field}", file=path, key=field, help=f"write -- {field}: ...")
    return NamedQuery(path.stem, path, text, **fields, parameters=tuple(parameters))


def _entries(path: Path, text: str) -> Iterator[tuple[int, str, str | None, str, str]]:
    """Yield line, name and default of a parameter or the name of a field, and its text, for each entry of a head."""
    entries: list[tuple[int, str, str | None, str, str]] = []
    for line, written in enumerate(text.splitlines(), start=1):
        if not written.startswith("--"):
            break
        if (more := _MORE.fullmatch(written)) and entries:
            *first, said = entries.pop()
            # As many words as before, which mypy cannot count.
            entries.append((*first, f"{said} {more['text']}"))  # type: ignore[arg-type]
        elif head := _HEAD.fullmatch(written):
            entries.append((line, head["name"] or "", head["default"], head["field"] or "", head["text"]))
        else:
            help = "write -- title: ..., or -- parameter NAME = DEFAULT: ..."
            raise DeclarationError("not a line of a head", file=path, line=line, help=help)
    yield from entries


def _parameter(path: Path, line: int, name: str, default: str | None, meaning: str) -> Parameter:
    parameter = Parameter(name, default, meaning)
    try:
        _ = parameter.literal
    except ValueError:
        help = f"write {', '.join(LOOKED_UP)}, or JSON such as 3, null or a text in double quotes"
        raise DeclarationError(f"the default {default} is neither", file=path, line=line, key=name, help=help) from None
    return parameter

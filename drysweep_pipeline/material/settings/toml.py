"""TOML as leaves; the standard library reads it, lines are found beside it as well as the text allows."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import replace

from drysweep_pipeline.material.settings.leaf import Leaf, Number, Path, Unreadable, leaves_of

_NAME = r"""(?:[\w-]+|"[^"]*"|'[^']*')"""
_NAMES = rf"{_NAME}(?:\s*\.\s*{_NAME})*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_NAMES})\s*\]\]?\s*(?:#.*)?")
_SETTING = re.compile(rf"\s*({_NAMES})\s*=")
_FENCE = re.compile('"""|' + "'''")
# tomllib takes quadratic time over a dotted key; no file needs one this long.
_LONG_KEY = re.compile(
    r"""(?:(?<![\w-])[\w-]++|"[^"\n]*+"|'[^'\n]*+')(?:[ \t]*+\.[ \t]*+(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')){200}"""
)
_AT = re.compile(r" \(at line (\d+), column \d+\)$")


def leaves(text: str) -> list[Leaf]:
    """Return the leaves of a TOML text. Raises ``Unreadable`` where the standard library refuses it."""
    if long := _LONG_KEY.search(text):
        raise Unreadable("a dotted key of more than 200 names", text.count("\n", 0, long.start()) + 1)
    try:
        tree = tomllib.loads(text, parse_float=Number)
    except (tomllib.TOMLDecodeError, ValueError) as error:
        at = _AT.search(str(error))
        raise Unreadable(f"not TOML: {_AT.sub('', str(error))}", int(at[1]) if at else None) from error
    except RecursionError as error:
        raise Unreadable("nested too deeply") from error
    lines = dict(_lines(text))
    return [] if not tree else [replace(leaf, line=_line(leaf.path, lines)) for leaf in leaves_of(tree)]


def _line(path: Path, lines: dict[Path, int]) -> int | None:
    """Return the line on which the setting that holds a leaf begins."""
    return next((lines[path[:end]] for end in range(len(path), 0, -1) if path[:end] in lines), None)


def _lines(text: str) -> Iterator[tuple[Path, int]]:
    """Yield (path, line) of every setting that is written with a plain ``name =``."""
    table: Path = ()
    counts: dict[Path, int] = {}
    for number, line in _outside_long_strings(text):
        if header := _HEADER.fullmatch(line):
            table = _table(header, counts)
        elif setting := _SETTING.match(line):
            yield (*table, *_split(setting[1])), number


def _outside_long_strings(text: str) -> Iterator[tuple[int, str]]:
    fence = ""
    for number, line in enumerate(text.split("\n"), start=1):
        if not fence:
            yield number, line.rstrip("\r")
        for match in _FENCE.finditer(line):
            fence = match[0] if not fence else ("" if fence == match[0] else fence)


def _table(header: re.Match[str], counts: dict[Path, int]) -> Path:
    """Return the path of a table's header; every name of a list of tables is followed by its present position."""
    path: Path = ()
    names = _split(header[2])
    for name in names[:-1]:
        path = _current((*path, name), counts)
    path = (*path, names[-1])
    if header[1] == "[[":
        counts[path] = counts.get(path, 0) + 1
    return _current(path, counts)


def _current(path: Path, counts: dict[Path, int]) -> Path:
    return (*path, counts[path] - 1) if path in counts else path


def _split(names: str) -> list[str]:
    return [name.strip("\"'") for name in re.findall(_NAME, names)]

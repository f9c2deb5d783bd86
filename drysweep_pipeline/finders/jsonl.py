"""Findings as children print them: one JSON object a line, and the mark of a complete output as the last one.

Read with the standard library, because faster readers keep the last of two equal keys and round large numbers. What
a line says is taken or refused as a whole; nothing is mended.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

from drysweep_pipeline import exact
from drysweep_pipeline.candidates import Unfit
from drysweep_pipeline.errors import FinderError
from drysweep_pipeline.exact import shown
from drysweep_pipeline.values import MOST_USED, Usage

MARK = "drysweep"
_HELP = 'a complete output ends with {"drysweep": "end", "count": N}'
_MOST = asdict(MOST_USED)


@dataclass(frozen=True, slots=True)
class End:
    """The mark of a complete output: how many findings came before it, and what finding them took."""

    count: int
    usage: Usage


Row: TypeAlias = Mapping[str, Any] | Unfit
Marks: TypeAlias = Callable[[Mapping[str, Any]], End | Unfit]


class Lines:
    """The findings on the lines of an output, as they come.

    ``copy`` is the folder of the material's copy: values that begin with it are taken relative to it. Raises
    ``FinderError`` where the output is over a cap, and at its end where it is not complete.
    """

    def __init__(
        self, lines: Iterable[bytes], max_rows: int, copy: str | None = None, marks: Marks | None = None
    ) -> None:
        self.end: End | None = None
        self._lines = lines
        self._max_rows = max_rows
        self._copy = copy
        self._marks = marks or end_of

    def __iter__(self) -> Iterator[Row]:
        count = 0
        for number, line in enumerate(self._lines, 1):
            said = self._said(line, number)
            if said is None:
                continue
            count += 1
            if count > self._max_rows:
                raise truncated(f"more than {self._max_rows} rows", "raise max_rows")
            yield said
        if self.end is None:
            raise FinderError("ended without the mark of a complete output", help=_HELP)
        if self.end.count != count:
            what = f"the mark of the end counts {self.end.count} findings, and {count} were printed"
            raise FinderError(what, help=_HELP)

    def _said(self, line: bytes, number: int) -> Row | None:
        """Return what a line reports; None where that is nothing."""
        if not line.strip():
            return None
        if self.end is not None:
            raise FinderError(f"line {number} follows the mark of the end", help=_HELP)
        said = _object(line, number)
        if isinstance(said, dict) and MARK in said:
            marked = self._marks(said)
            if isinstance(marked, Unfit):
                return marked
            self.end = marked
            return None
        return said if isinstance(said, Unfit) or self._copy is None else relative(said, self._copy)


def relative(row: Mapping[str, Any], copy: str) -> dict[str, Any]:
    """Return a row whose values name files of the material as the snapshot does, not where the copy of it lies."""
    start = copy + "/"
    return {
        key: value[len(start) :] if isinstance(value, str) and value.startswith(start) else value
        for key, value in row.items()
    }


def end_of(said: Mapping[str, Any]) -> End:
    """Return the mark of the end. Raises ``FinderError`` where it is not one."""
    if said.get(MARK) != "end" or set(said) - {MARK, "count", "usage"}:
        raise FinderError(f"{shown(said)} is no mark of the end", help=_HELP)
    if not _is_number(said.get("count"), int) or said["count"] < 0:
        raise FinderError(f"the mark of the end counts {shown(said.get('count'))}", help=_HELP)
    return End(said["count"], usage_of(said.get("usage", {})))


def value(text: str) -> Any:
    """Return a JSON value. Raises ``ValueError`` where it is not exactly one, ``FinderError`` where it is too deep."""
    try:
        return exact.value(text)
    except exact.TooDeep as error:
        raise truncated(str(error)) from None


def truncated(what: str, help: str | None = None) -> FinderError:
    """Return the error of an output that is over a cap."""
    return FinderError(f"truncated: {what}", status="truncated", help=help)


def _object(line: bytes, number: int) -> dict[str, Any] | Unfit:
    """Return the object on a line, or why there is none."""
    try:
        text = line.decode()
        if text.startswith("\ufeff"):
            return Unfit(f"line {number}: begins with a byte order mark")
        said = value(text)
    except UnicodeDecodeError as error:
        return Unfit(f"line {number}, byte {error.start + 1}: not UTF-8")
    except json.JSONDecodeError as error:
        at = len(error.doc[: error.pos].encode()) + 1
        return Unfit(f"line {number}, column {error.colno} (byte {at}): not JSON: {error.msg}")
    except ValueError as error:
        return Unfit(f"line {number}: {error}")
    return said if isinstance(said, dict) else Unfit(f"line {number}: {shown(said)} is no JSON object")


def _is_number(said: Any, kind: type | tuple[type, ...]) -> bool:
    return isinstance(said, kind) and not isinstance(said, bool)


def usage_of(said: Any) -> Usage:
    """Return what somebody says was used: ``calls``, ``tokens`` and ``cost_usd``. Raises ``FinderError``."""
    if not isinstance(said, dict) or set(said) - set(_MOST):
        raise FinderError(f"the usage {shown(said)} is not one", help=f"it has {', '.join(_MOST)}")
    for name, number in said.items():
        kinds = (int, float) if name == "cost_usd" else (int,)
        least = 1 if name == "calls" else 0
        if not _is_number(number, kinds) or not least <= number <= _MOST[name]:
            raise FinderError(f"the usage of {shown(number)} {name} cannot be", help=f"{least} to {_MOST[name]:.0f}")
    return Usage(said.get("calls", 1), said.get("tokens", 0), float(said.get("cost_usd", 0.0)))

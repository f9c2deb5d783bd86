"""What commands print: one JSON object on stdout, or text; notes on stderr."""

import json
import math
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.cells import cell_len

from drysweep_pipeline.reports.text import safe_line

_EXIT = {
    "converged": 0,
    "budget_exceeded": 3,
    "stopped": 3,
    "accepted": 3,
    "needs_decision": 4,
    "returned": 4,
    "failed": 5,
    "running": 1,
}
PROSE = 120
"""How wide a line of prose may be where no terminal says so."""
_GAP = "  "


def exit_code(outcome: str) -> int:
    """Return the exit code of an outcome; a search that was cut short is never 0."""
    return _EXIT[outcome]


def put_json(data: dict[str, Any]) -> None:
    """Print one JSON object on a line of stdout; a number that JSON lacks is null."""
    sys.stdout.write(json.dumps(finite(data), ensure_ascii=False, default=str, allow_nan=False) + "\n")
    sys.stdout.flush()


def put(text: str) -> None:
    """Print a line on stdout; no text can steer the terminal, be taken for two lines or for a command to CI."""
    sys.stdout.write(safe_line(text) + "\n")


def put_document(text: str) -> None:
    """Print a text of many lines on stdout as it is: JSON, or what was made safe when it was written."""
    sys.stdout.write(text + "\n")


def note(text: str) -> None:
    """Print a line on stderr, secrets masked; no text can do what none can on stdout."""
    from drysweep_pipeline.redaction import hidden

    sys.stderr.write(safe_line(hidden(text)) + "\n")


def progress(text: str) -> None:
    """Print a line on stderr, if somebody watches."""
    if sys.stderr.isatty():
        note(text)


def table_width() -> int:
    """Return how wide a row may be: the terminal's width; elsewhere as wide as it is, so that each row is a line."""
    return shutil.get_terminal_size((PROSE, 24)).columns if sys.stdout.isatty() else sys.maxsize


def put_table(columns: list[str], rows: list[list[Any]], *, right: frozenset[int] = frozenset()) -> None:
    """Print rows on stdout, whole, as a table or, where that would be too wide, a record after the other.

    What they hold cannot steer the terminal. ``right``: columns, by place, that a table sets to the right.
    """
    # Any cell may begin a line: one that is wide is a record of lines, and those left of another may be empty.
    names = [safe_line(name) for name in columns]
    shown = [["" if value is None else safe_line(str(value)) for value in row] for row in rows]
    for line in lines_of(names, shown, table_width(), right):
        put(line)


def lines_of(
    columns: list[str], rows: list[list[str]], width: int, right: frozenset[int] = frozenset()
) -> Iterator[str]:
    """Yield rows as the lines of a table, or as records of a line a column where a table is wider than ``width``."""
    table = [columns, *rows]
    widths = [max(cell_len(value) for value in column) for column in zip(*table, strict=True)]
    if not rows or sum(widths) + len(_GAP) * (len(widths) - 1) <= width:
        yield from (_line(row, widths, right) for row in table)
        return
    left = [max(cell_len(name) for name in columns)]
    for number, row in enumerate(rows):
        if number:
            yield ""
        yield from (_line([name, value], [*left, 0]) for name, value in zip(columns, row, strict=True))


def program() -> str:
    """Return how this program was called, quoted for a shell: the path of ``drysweep``, else its name."""
    called = Path(sys.argv[0])
    return shlex.quote(sys.argv[0]) if called.name == "drysweep" and called.parent != Path() else "drysweep"


def _line(values: list[str], widths: list[int], right: frozenset[int] = frozenset()) -> str:
    """Return values in columns of some widths, without blanks after the last one that says anything."""
    blanks = [" " * (width - cell_len(value)) for value, width in zip(values, widths, strict=True)]
    pairs = enumerate(zip(values, blanks, strict=True))
    return _GAP.join(blank + value if index in right else value + blank for index, (value, blank) in pairs).rstrip()


def finite(value: Any) -> Any:
    """Return a value with None for each number in it that JSON has no way to write."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: finite(each) for key, each in value.items()}
    return [finite(each) for each in value] if isinstance(value, list | tuple) else value

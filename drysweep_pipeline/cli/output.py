"""What commands print: one JSON object on stdout, or text; progress on a terminal only."""

import json
import sys
from typing import Any

from rich.console import Console
from rich.table import Table

from drysweep_pipeline.reports.text import safe_text

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


def exit_code(outcome: str) -> int:
    """Return the exit code of an outcome; a search that was cut short is never 0."""
    return _EXIT[outcome]


def put_json(data: dict[str, Any]) -> None:
    """Print one JSON object on a line of stdout."""
    sys.stdout.write(json.dumps(data, ensure_ascii=False, default=str) + "\n")
    sys.stdout.flush()


def put(text: str) -> None:
    """Print a line on stdout."""
    sys.stdout.write(text + "\n")


def note(text: str) -> None:
    """Print a line on stderr."""
    sys.stderr.write(text + "\n")


def progress(text: str) -> None:
    """Print a line on stderr, if somebody watches."""
    if sys.stderr.isatty():
        sys.stderr.write(text + "\n")


def put_table(columns: list[str], rows: list[list[Any]]) -> None:
    """Print a table on stdout; what it holds cannot steer the terminal."""
    table = Table(*columns, header_style="bold", box=None, pad_edge=False)
    for row in rows:
        table.add_row(*("" if value is None else safe_text(str(value)) for value in row))
    Console(markup=False, highlight=False, width=None if sys.stdout.isatty() else 240).print(table)

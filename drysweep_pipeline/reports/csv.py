"""The findings for a spreadsheet: a table as RFC 4180 has it, in UTF-8, a row a finding and the outcome in each.

What others wrote is no formula in it and drives no terminal, unless cells are asked for raw.
"""

import csv
import io
import json
from collections.abc import Callable, Mapping
from typing import Any

from drysweep_pipeline.reports.contents import Contents
from drysweep_pipeline.reports.flat import COLUMNS, campaign_of, rows_of
from drysweep_pipeline.reports.formulas import guarded
from drysweep_pipeline.reports.text import safe_lines, shortened

# Excel takes 32,767 characters a cell; this leaves room for apostrophes, and for what says how much was cut.
_LONGEST = 32_000


def render(said: Contents) -> str:
    """Return a header and a row a finding; where there is none, a row that tells the outcome and no finding."""
    cell = _plain if said.asked.raw else _guarded
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    # A header alone would read as "nothing is there", also of a search that a ceiling cut short.
    for row in list(rows_of(said)) or [campaign_of(said)]:
        writer.writerow(_cells(row, cell))
    return text.getvalue()


def _cells(row: Mapping[str, Any], cell: Callable[[Any], str]) -> list[str]:
    return [cell(row.get(name)) for name in COLUMNS]


def _guarded(value: Any) -> str:
    # Longer ones are cut by some spreadsheets without a word, and spill into the next rows of others.
    return guarded(shortened(safe_lines(_plain(value)), _LONGEST))


def _plain(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    # No reader of a CSV can be told what a NUL stands for, and some stop at it.
    return str(value).replace("\0", "\u2400")

"""Delimited text: a row as a line of CSV, a null told apart from an empty text, and no text that does anything."""

import json
from collections.abc import Iterable
from typing import Any

from drysweep_pipeline.reports.formulas import guarded
from drysweep_pipeline.reports.text import no_command, safe_lines

_QUOTED = frozenset(',"\r\n')


def line(values: Iterable[Any], *, raw: bool = False) -> str:
    """Return values as a line of CSV, its end included.

    A null is nothing and an empty text a pair of quotes; what is nested is JSON. ``raw`` leaves in what a spreadsheet
    would compute, a terminal obey, and a CI log take for a command.
    """
    return ",".join(_field(value, raw) for value in values) + "\n"


def _field(value: Any, raw: bool) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        # A number is no formula, also where it begins with a sign.
        return (
            str(value) if isinstance(value, int | float) and not isinstance(value, bool) else _field(_text(value), raw)
        )
    text = value if raw else guarded(no_command(safe_lines(value)))
    quoted = not text or text != text.strip() or not _QUOTED.isdisjoint(text)
    return '"' + text.replace('"', '""') + '"' if quoted else text


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, bool | list | dict) else str(value)

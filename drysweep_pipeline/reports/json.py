"""The report for programs: summary, rounds, strategies, findings and unread files, as one JSON object."""

import json
import math
from typing import Any

from drysweep_pipeline.history.campaign import Row
from drysweep_pipeline.reports.contents import Contents


def render(said: Contents) -> str:
    """Return the report of a campaign; rejected findings are counted and in ``states``, and listed where asked for."""
    report: dict[str, Any] = {
        **said.told,
        "findings": [_finding(row) for row in said.findings],
        "figures": said.figures.as_json,
        "looked_at_nothing": said.looked_at_nothing,
        "merging": said.merging,
        "denied": said.denied,
        "provenance": said.provenance.as_json,
        "redaction": said.redaction,
        "rounds_detail": said.rounds,
        "runs": said.runs,
        "strategy_yield": said.strategies,
        "unread": [{"file": file, "reason": reason} for file, reason in said.unread],
    }
    return json.dumps(report, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _finding(row: Row) -> Row:
    return {**row, "attributes": _read(row["attributes"]) if row["attributes"] else {}}


def _read(text: str) -> Any:
    """Return what JSON text says, with the text of each number that could not be written as JSON again."""
    return json.loads(text, parse_constant=str, parse_float=_number)


def _number(text: str) -> float | str:
    number = float(text)
    return number if math.isfinite(number) else text

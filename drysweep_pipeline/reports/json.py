"""The report for programs: summary, rounds, strategies, findings and unread files, as one JSON object."""

import json
import math
from typing import Any

from drysweep_pipeline.history import history
from drysweep_pipeline.history.campaign import Past, Row
from drysweep_pipeline.home import Home
from drysweep_pipeline.reports.asked import PLAIN, Asked
from drysweep_pipeline.reports.beside import denied, looked_at_nothing, merging, redaction, unread
from drysweep_pipeline.reports.summary import told_of


def render(home: Home, sweep: str, campaign: str, asked: Asked = PLAIN) -> str:
    """Return the report of a campaign; rejected findings are counted and in ``states``, and listed where asked for."""
    with history(home) as connection:
        past = Past(connection, sweep, campaign)
        rounds = past.rounds()
        report: dict[str, Any] = {
            **told_of(past, home),
            "findings": [_finding(row) for row in past.findings() if asked.rejected or row["verdict"] != "rejected"],
            "looked_at_nothing": looked_at_nothing(home, sweep, campaign, len(rounds)),
            "merging": merging(home, sweep, campaign, len(rounds)),
            "denied": denied(home, sweep, campaign, len(rounds)),
            "redaction": redaction(home, sweep, campaign),
            "rounds_detail": rounds,
            "strategy_yield": past.strategies(),
            "unread": [{"file": file, "reason": reason} for file, reason in unread(home, sweep, campaign, rounds)],
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

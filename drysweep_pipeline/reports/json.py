"""The report for programs: summary, rounds, strategies, findings and unread files, as one JSON object."""

from typing import Any

from drysweep_pipeline.history.reading import Row
from drysweep_pipeline.reports.beyond import missed_by_k
from drysweep_pipeline.reports.contents import Contents
from drysweep_pipeline.reports.flat import attributes_of, is_lower_bound
from drysweep_pipeline.reports.text import json_text


def render(said: Contents) -> str:
    """Return the report of a campaign; rejected findings are counted and in ``states``, and listed where asked for."""
    report: dict[str, Any] = {
        **said.told,
        "findings": [_finding(row) for row in said.findings],
        "figures": said.figures.as_json,
        "known_at": said.known_at,
        "looked_at_nothing": said.looked_at_nothing,
        "lower_bound": is_lower_bound(said),
        "merging": said.merging,
        "missed_by_k": missed_by_k(said.told),
        "denied": said.denied,
        "provenance": said.provenance.as_json,
        "redaction": said.redaction,
        "rounds_detail": said.rounds,
        "runs": said.runs,
        "strategy_yield": said.strategies,
        "unread": [{"file": file, "reason": reason} for file, reason in said.unread],
    }
    return json_text(report, indent=1) + "\n"


def _finding(row: Row) -> Row:
    return {**row, "attributes": attributes_of(row["attributes"])}

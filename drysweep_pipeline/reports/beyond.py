"""What the rounds beyond convergence brought: how many findings K quiet rounds had missed."""

from collections.abc import Mapping
from typing import Any

from drysweep_pipeline.convergence import CONVERGED_AT
from drysweep_pipeline.history import looks
from drysweep_pipeline.history.campaign import Past
from drysweep_pipeline.reports.text import count


def beyond(past: Past, told: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what a campaign's rounds beyond its convergence brought, from its events and fresh findings a round.

    ``converged_at`` is the round that converged, ``seen_by_then`` how many findings the campaign had seen when it did,
    ``rounds`` how many were looked on so far, ``missed`` what was fresh in them, ``cut_short`` why they were not all
    that was asked for. None where the campaign has not converged, or looked no further.
    """
    reached = next((event["round"] for event in told["events"] if event["name"] == CONVERGED_AT), None)
    if reached is None:
        return None
    cut = next((event["reason"] for event in told["events"] if event["name"] == "beyond_cut_short"), None)
    fresh = told["new"][reached:]
    seen = sum(row["findings"] for row in looks.arrivals(past) if row["round"] <= reached)
    counts = {"seen_by_then": seen, "rounds": len(fresh), "missed": sum(fresh)}
    return {"converged_at": reached, **counts, "cut_short": cut}


def missed_by_k(told: Mapping[str, Any]) -> int | None:
    """Return how many findings K quiet rounds had missed, from a summary; None where nobody looked beyond them."""
    return told["past"]["missed"] if told.get("past") else None


def said_beyond(past: Mapping[str, Any], k: int) -> str:
    """Return in a sentence what the rounds beyond convergence brought."""
    if past["rounds"] == 0:
        return f"No round was looked beyond it ({past['cut_short']})."
    cut = f" ({past['cut_short']} cut them short)" if past["cut_short"] else ""
    rounds = count(past["rounds"], "round")
    if past["missed"]:
        return f"{rounds} beyond it{cut} brought {count(past['missed'], 'finding')} that K={k} missed."
    return f"{rounds} beyond it{cut} brought nothing that K={k} missed."

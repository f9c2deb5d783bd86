"""What the rounds beyond convergence brought: how many findings K quiet rounds had missed."""

from collections.abc import Mapping
from typing import Any

from drysweep_pipeline.convergence import CONVERGED_AT
from drysweep_pipeline.reports.text import count


def beyond(told: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what a campaign's rounds beyond its convergence brought, from its events and fresh findings a round.

    ``converged_at`` is the round that converged, ``rounds`` how many were looked on so far, ``missed`` what was fresh
    in them, ``cut_short`` why they were not all that was asked for. None where the campaign has not converged, or
    looked no further.
    """
    reached = next((event["round"] for event in told["events"] if event["name"] == CONVERGED_AT), None)
    if reached is None:
        return None
    cut = next((event["reason"] for event in told["events"] if event["name"] == "beyond_cut_short"), None)
    fresh = told["new"][reached:]
    return {"converged_at": reached, "rounds": len(fresh), "missed": sum(fresh), "cut_short": cut}


def said_beyond(past: Mapping[str, Any], k: int) -> str:
    """Return in a sentence what the rounds beyond convergence brought."""
    if past["rounds"] == 0:
        return f"No round was looked beyond it ({past['cut_short']})."
    cut = f" ({past['cut_short']} cut them short)" if past["cut_short"] else ""
    rounds = count(past["rounds"], "round")
    if past["missed"]:
        return f"{rounds} beyond it{cut} brought {count(past['missed'], 'finding')} that K={k} missed."
    return f"{rounds} beyond it{cut} brought nothing that K={k} missed."

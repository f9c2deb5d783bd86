"""What the rounds beyond convergence brought: how many findings K quiet rounds had missed."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from drysweep_pipeline.convergence import CONVERGED_AT, SCHEDULE, SUPERSEDED
from drysweep_pipeline.history import looks
from drysweep_pipeline.history.campaign import Past
from drysweep_pipeline.wording import count


def beyond(past: Past, told: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what a campaign's rounds beyond its convergence brought, from its events and fresh findings a round.

    ``converged_at`` is the round that converged, ``seen_by_then`` how many findings the campaign had seen when it did,
    ``rounds`` how many were looked on so far, ``incomplete`` in how many of those not every strategy ran, ``missed``
    what was fresh in them, ``cut_short`` why they were not all that was asked for. None where the campaign has not
    converged, or looked no further.
    """
    names = [event["name"] for event in told["events"]]
    if CONVERGED_AT not in names:
        return None
    since = told["events"][names.index(CONVERGED_AT) :]
    reached = since[0]["round"]
    fresh = told["new"][reached:]
    seen = sum(row["findings"] for row in looks.arrivals(past) if row["round"] <= reached)
    incomplete = len({row["round"] for row in told["not_run"] if row["round"] > reached})
    counts = {"seen_by_then": seen, "rounds": len(fresh), "incomplete": incomplete, "missed": sum(fresh)}
    return {"converged_at": reached, **counts, "cut_short": next(_cut_short(since), None)}


def _cut_short(events: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield why the rounds beyond were not all that was asked for."""
    for event in events:
        if event["name"] == "beyond_cut_short":
            yield event["reason"]
        elif event["name"] == "campaign_stopped":
            yield stopped_by(event)


def stopped_by(event: Mapping[str, Any]) -> str:
    """Return who stopped a campaign, by the event that says so: a person, or the schedule that began the next one."""
    return "the schedule" if (event.get("actor"), event.get("reason")) == (SCHEDULE, SUPERSEDED) else "a person"


def missed_by_k(told: Mapping[str, Any]) -> int | None:
    """Return how many findings K quiet rounds had missed, from a summary; None where nobody looked beyond them."""
    return told["past"]["missed"] if told.get("past") else None


def said_beyond(past: Mapping[str, Any], k: int) -> str:
    """Return in a sentence what the rounds beyond convergence brought, and in how many of them who was to look did."""
    if past["rounds"] == 0:
        return f"No round was looked beyond it ({past['cut_short']})."
    cut = f" ({past['cut_short']} cut them short)" if past["cut_short"] else ""
    rounds = count(past["rounds"], "round")
    if past["missed"]:
        return f"{rounds} beyond it{cut}{_lost(past)} brought {count(past['missed'], 'finding')} that K={k} missed."
    return f"{rounds} beyond it{cut}{_lost(past)} brought nothing that K={k} missed."


def _lost(past: Mapping[str, Any]) -> str:
    """Return how many of the rounds are no silence, since a strategy did not run in them; empty where none is."""
    if not past["incomplete"]:
        return ""
    which = "" if past["rounds"] == 1 else f"{past['incomplete']} of them "
    return f", {which}without every strategy,"

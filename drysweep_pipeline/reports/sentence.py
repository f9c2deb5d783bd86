"""The verdict in a sentence: why the search stopped, what it saw, and what its silence is worth."""

from collections.abc import Callable, Mapping
from typing import Any

from drysweep_pipeline.convergence import NOT_RUN_LIMIT
from drysweep_pipeline.reports.beyond import said_beyond, stopped_by
from drysweep_pipeline.reports.text import safe_text
from drysweep_pipeline.values import Outcome
from drysweep_pipeline.wording import count

Summary = Mapping[str, Any]


def sentence(summary: Summary) -> str:
    """Return the verdict on a campaign, from its summary; one line."""
    parts = [_head(summary), *_clean(summary), *_caveats(summary)]
    return safe_text(" ".join(parts))


def _head(told: Summary) -> str:
    outcome = Outcome(told["outcome"])
    if outcome is Outcome.CONVERGED:
        return _converged(told)
    reason = f" ({told['reason']})" if told["reason"] else ""
    return f"NOT CONVERGED, {outcome}{reason} at round {told['rounds']}: {_STOPPED[outcome](told)}."


def _converged(told: Summary) -> str:
    end = "find no more that blocks and is unsettled" if told["rule"] == "clean" else "find no more"
    past = told.get("past")
    rounds = past["converged_at"] if past else told["rounds"]
    head = f"CONVERGED after {count(rounds, 'round')} (K={told['k']}): {_seen_by_then(told)}."
    # Who looked on and found more does not say that there is no more.
    ends = f" These strategies {end}." if not past or not past["missed"] else ""
    return f"{head}{ends}" + (f" {said_beyond(past, told['k'])}" if past else "")


def _seen(told: Summary) -> str:
    return ", ".join([f"{count(told['seen'], 'finding')} seen", *_verdicts(told)])


def _verdicts(told: Summary) -> list[str]:
    return [f"{told['confirmed']} confirmed", f"{told['rejected']} rejected", *_open_verdicts(told)]


def _seen_by_then(told: Summary) -> str:
    """Return what a campaign that converged saw, what it met only in rounds beyond that told apart."""
    past = told.get("past")
    if not past or told["seen"] == past["seen_by_then"]:
        return _seen(told)
    beyond = told["seen"] - past["seen_by_then"]
    met = f"{count(past['seen_by_then'], 'finding')} seen by then, {beyond} more in the rounds beyond it"
    return f"{met}; of all, {', '.join(_verdicts(told))}"


def _open_verdicts(told: Summary) -> list[str]:
    return [f"{told[name]} {name}" for name in ("undecided", "unjudged") if told[name]]


def _arriving(told: Summary) -> str:
    if past := told.get("past"):
        quiet = f"quiet for {told['quiet']} rounds at round {past['converged_at']}"
        return f"{_seen_by_then(told)}; {quiet}, looking beyond it"
    fresh = told["new"][-1] if told["new"] else 0
    if told["rule"] == "dry" and fresh:
        return ", ".join([f"{count(fresh, 'finding')} still arriving", *_open_verdicts(told)])
    if told["quiet"] >= told["k"]:
        # Only a search that is to use every angle goes on from here.
        return f"{_seen(told)}, quiet for {told['quiet']} rounds and not every angle was used"
    return f"{_seen(told)}, quiet for {told['quiet']} of {told['k']} rounds"


def _failed(told: Summary) -> str:
    lost = {(row["strategy"], row["round"]) for row in told["not_run"]}
    last = range(told["rounds"] - NOT_RUN_LIMIT + 1, told["rounds"] + 1)
    down = sorted(name for name in {name for name, _ in lost} if all((name, round) in lost for round in last))
    who = f"{', '.join(down)} did not run three times in a row; " if down else ""
    return f"{_seen(told)}; {who}a lower bound"


def _waiting(told: Summary) -> str:
    what = "the next round waits for a go-ahead" if told["reason"] == "turn" else "a person has to decide"
    return f"{_arriving(told)}; {what}"


def _stopper(told: Summary) -> str:
    stops = [event for event in told.get("events", ()) if event["name"] == "campaign_stopped"]
    return stopped_by(stops[-1]) if stops else "a person"


_STOPPED: Mapping[Outcome, Callable[[Summary], str]] = {
    Outcome.BUDGET_EXCEEDED: lambda told: f"{_arriving(told)}; a lower bound",
    Outcome.NEEDS_DECISION: _waiting,
    Outcome.ACCEPTED: lambda told: f"{_arriving(told)}; a person accepted it as it stands, a lower bound",
    Outcome.RETURNED: lambda told: f"{_arriving(told)}; a person sent it back to be redrafted, a lower bound",
    Outcome.STOPPED: lambda told: f"{_arriving(told)}; {_stopper(told)} stopped it, a lower bound",
    Outcome.FAILED: _failed,
    Outcome.RUNNING: lambda told: f"{_arriving(told)}; it has not ended",
}


def _clean(told: Summary) -> list[str]:
    """Under the clean rule: what blocks, and what does not any more, and why."""
    if told["rule"] != "clean":
        return []
    blocking = told["blocking"]
    unverified = blocking["contested_unverified"]
    doubted = f" ({unverified} with evidence that the material does not have)" if unverified else ""
    parts = (
        f"{blocking['raised']} unsettled that the last round raised",
        f"{blocking['contested']} contested{doubted}",
        f"{blocking['accepted']} accepted",
        f"{blocking['rejected']} rejected",
        f"{blocking['open']} open that nobody raised again",
    )
    return [f"Blocking findings: {', '.join(parts)}."]


def _caveats(told: Summary) -> list[str]:
    caveats = []
    if again := told.get("looked_again"):
        who = ", ".join(again["strategies"])
        caveats.append(f"Partial: it looked again with {who} only, at the snapshot of {again['at']}.")
    if told["repeats"]:
        many = f"{told['repeats']} of the {told['quiet']} quiet rounds"
        caveats.append(f"{'The quiet round' if told['quiet'] == 1 else many} repeated earlier angles.")
    if told["not_searched"]:
        caveats.append(f"{count(told['not_searched'], 'file')} not searched.")
    if empty := told.get("empty_sources"):
        caveats.append(f"Empty in the material: {', '.join(empty)}.")
    return caveats

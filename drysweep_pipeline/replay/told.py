"""What a replay of recorded rounds tells beside its decisions, in the words of a run: findings, states, events."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from drysweep_pipeline.convergence import CONVERGED_AT
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.fingerprint import told_apart
from drysweep_pipeline.history import history, reached
from drysweep_pipeline.history.campaign import Past
from drysweep_pipeline.history.reading import Row
from drysweep_pipeline.values import Event, Verdict

_COUNTED = (Verdict.CONFIRMED, Verdict.REJECTED, Verdict.UNDECIDED, Verdict.UNJUDGED)
_DECISIONS = (
    *("campaign_failed", "churn_detected", CONVERGED_AT, "beyond_cut_short", "budget_exceeded"),
    *("campaign_stopped", "campaign_resumed"),
)


def told(campaign: Campaign, rounds: int, decided: Iterable[Event]) -> dict[str, Any]:
    """Return what the first ``rounds`` rounds of a campaign saw, as it stood then, and what happened in them.

    Of what was decided only ``decided`` is told. Raises ``NotFound`` where the campaign was not published.
    """
    with history(campaign.home.home) as connection:
        past = Past(connection, campaign.home.name, campaign.id)
        past.head()
        findings, seen = reached.sighted(past, rounds), reached.seen(past, rounds)
        not_searched = [row["not_searched"] for row in past.rounds() if row["round"] == rounds]
        recorded = [event for event in past.events() if event["round"] <= rounds]
    verdicts = Counter(row["verdict"] for row in findings)
    names = told_apart((row["label"], row["fp"]) for row in findings)
    return {
        "seen": len(findings),
        **{verdict.value: verdicts[verdict.value] for verdict in _COUNTED},
        "ledger_seen": seen,
        "states": {name: row["status"] for name, row in zip(names, findings, strict=True)},
        "events": list(_events(recorded, list(decided))),
        "not_searched": not_searched[0] if not_searched else 0,
        # The one that is there tells of the recorded end.
        "report": None,
    }


def _events(recorded: list[Row], decided: list[Event]) -> Iterator[dict[str, Any]]:
    """Yield what happened, round by round in the order of the ledger, with these decisions in place of the recorded."""
    times = {_key(event): event for event in recorded}
    ours = [times.get(_key(plain), plain) for plain in map(_plain, decided)]
    theirs = [event for event in recorded if not _is_decision(event["name"])]
    if ours == [event for event in recorded if _is_decision(event["name"])]:
        yield from recorded
        return
    for round in sorted({event["round"] for event in (*ours, *theirs)}):
        yield from (event for event in (*theirs, *ours) if event["round"] == round)


def _is_decision(name: str) -> bool:
    return name in _DECISIONS or name.startswith("decision_")


def _key(event: Row) -> tuple[Any, ...]:
    return tuple(event.get(name) for name in ("name", "round", "actor", "reason"))


def _plain(event: Event) -> dict[str, Any]:
    said = {"name": event.name, "round": event.round, "actor": event.actor, "reason": event.reason}
    return {name: value for name, value in said.items() if value is not None}

"""What a replay answers: one object a campaign, the same keys as a run's, and whether it is what was expected."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from drysweep_pipeline.convergence import Standing
from drysweep_pipeline.errors import DrysweepError
from drysweep_pipeline.instants import zulu
from drysweep_pipeline.replay.scenario import Scenario
from drysweep_pipeline.values import Event, Verdict

SCHEMA_VERSION = 1
COMPARED = ("matches", "differs")


@dataclass(frozen=True, slots=True)
class Told:
    """What one replayed campaign came to; ``verdicts`` and ``states`` are of the findings it sighted."""

    campaign: str
    as_of: datetime
    standing: Standing
    k: int
    new: list[int]
    verdicts: list[Verdict]
    states: dict[str, str]
    ledger_seen: int
    events: list[Event]


def answer(sweep: str, told: Told) -> dict[str, Any]:
    """Return what a run of this campaign would print with ``--json``."""
    standing, by_verdict = told.standing, Counter(told.verdicts)
    counted = (Verdict.CONFIRMED, Verdict.REJECTED, Verdict.UNDECIDED, Verdict.UNJUDGED)
    return {
        "schema_version": SCHEMA_VERSION,
        "sweep": sweep,
        "campaign": told.campaign,
        "as_of": zulu(told.as_of),
        "outcome": standing.outcome.value,
        "reason": standing.reason,
        "k": told.k,
        "rounds": standing.rounds,
        "quiet": standing.quiet,
        "new": told.new,
        "seen": len(told.verdicts),
        **{verdict.value: by_verdict[verdict] for verdict in counted},
        "ledger_seen": told.ledger_seen,
        "calls": standing.spent.calls,
        "states": dict(sorted(told.states.items())),
        "events": [_event(event) for event in told.events],
        "not_searched": 0,
        "report": None,
    }


def compared(answer: dict[str, Any], expect: dict[str, Any]) -> dict[str, Any]:
    """Return the answer with ``matches`` and ``differs``: whether, and in which keys, it is not what was expected."""
    differs = [key for key, wanted in expect.items() if not _agrees(key, answer.get(key), wanted)]
    return {**answer, "matches": not differs, "differs": differs}


def of_file(scenario: Scenario, answers: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what is printed for a scenario file, from the answers of its campaigns in order."""
    if scenario.is_list:
        return {"schema_version": SCHEMA_VERSION, "file": str(scenario.path), "campaigns": answers}
    return {"file": str(scenario.path), **answers[0]}


def refused(path: Path, error: DrysweepError) -> dict[str, Any]:
    """Return what is printed for a scenario file that was refused, when it was read or while it was played."""
    told = {
        "schema_version": SCHEMA_VERSION,
        "file": str(path),
        "error": str(error),
        **_place(error),
        "code": error.code,
    }
    each = [{"error": one.what, **_place(one)} for one in error.each]
    return {**told, "problems": each} if each else told


def _place(error: DrysweepError) -> dict[str, Any]:
    return {"line": error.line, "key": error.key, "help": error.help}


def _event(event: Event) -> dict[str, Any]:
    details = {"fp": event.fp, "actor": event.actor, "reason": event.reason, "evidence": event.evidence}
    return {"name": event.name, "round": event.round, **{k: v for k, v in details.items() if v is not None}}


def _agrees(key: str, found: Any, wanted: Any) -> bool:
    if key == "events":
        logged = iter([event["name"] for event in found])
        # Each search goes on where the last one stopped, so this asks for the order and lets others lie between.
        return all(name in logged for name in wanted)
    if key == "states":
        return all(found.get(label) == status for label, status in wanted.items())
    return bool(found == wanted)

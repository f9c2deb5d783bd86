"""Why a campaign does not go quiet, from the published history and the declaration that the campaign froze.

Only the facts are gathered here; what follows from them is decided in ``diagnosis``.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from drysweep_pipeline.declaration.model import Sweep
from drysweep_pipeline.diagnosis import Diagnosis, Facts, Failure, diagnose, late_from, speaks
from drysweep_pipeline.doubles import Finding
from drysweep_pipeline.history.campaign import Past
from drysweep_pipeline.history.reading import Row
from drysweep_pipeline.home import Home
from drysweep_pipeline.outlook import Round
from drysweep_pipeline.reports.beside import declared, home_option, silent
from drysweep_pipeline.reports.waiting import Stand, resume_command
from drysweep_pipeline.values import Outcome, Rule
from drysweep_pipeline.wording import angle_text

_FORERUNNERS = 20
_FRESH = 2000
_KNOWN = 5000
_CHURN = ("churn_detected", "churn_suspected")
_SETTLED = ("contested", "accepted_risk")


def why(past: Past, home: Home, told: Mapping[str, Any], rounds: Sequence[Row], stand: Stand) -> Diagnosis | None:
    """Return why the campaign of a summary does not go quiet, or None where there is nothing to explain.

    ``rounds`` are the campaign's decided rounds, ``stand`` is where it stands.
    """
    forerunners = tuple(past.forerunners(_FORERUNNERS))
    if not speaks(Outcome(told["outcome"]), told["reason"], len(rounds), forerunners):
        return None
    return diagnose(_facts(past, home, told, rounds, forerunners, stand))


def _facts(
    past: Past,
    home: Home,
    told: Mapping[str, Any],
    rounds: Sequence[Row],
    forerunners: tuple[int, ...],
    stand: Stand,
) -> Facts:
    sweep, blocking, last = declared(home, past.sweep, past.campaign), past.blocking(), rounds[-1]["round"]
    fields = tuple(sweep.fingerprint.fields) if sweep else ()
    used = past.angles()
    hidden = past.rejected()
    angles, unused = _angles(sweep, used) if sweep else (None, None)
    return Facts(
        name=f"{past.sweep}/{past.campaign}",
        outcome=Outcome(told["outcome"]),
        reason=told["reason"],
        rule=Rule(told["rule"]),
        k=told["k"],
        quiet=told["quiet"],
        outlook=stand.outlook,
        rounds=tuple(_round(row) for row in rounds),
        forerunners=forerunners,
        failures=tuple(_failure(row) for row in told["not_run"]),
        churn=tuple(_churned(told["events"], hidden)),
        reopened=tuple((_named(row, hidden), row["times"]) for row in past.reopened(late_from(len(rounds)))),
        fields=fields,
        fresh=tuple(_finding(row, fields, blocking) for row in past.fresh(_FRESH)),
        known=tuple(_finding(row, fields, blocking) for row in past.known(_KNOWN)) if fields else (),
        raised=tuple((row["label"], row["rounds"]) for row in past.raised(last) if _blocks(row, blocking)),
        angles=angles,
        unused=unused,
        used=tuple(sorted(used)),
        seen=told["seen"],
        silent=silent(home, past.sweep, past.campaign, last),
        resume=resume_command(stand, home_option(home)),
        ceilings=stand.standing.ceilings,
    )


def _round(row: Row) -> Round:
    return Round(row["round"], row["fresh"], row["reopened"], row["blocking"] or 0, row["complete"])


def _failure(row: Row) -> Failure:
    angle = angle_text(row["angle"]) if "angle" in row else None
    return Failure(row["round"], row["strategy"], row["reason"] or "", angle)


def _churned(events: Iterable[Row], hidden: frozenset[str]) -> Iterable[tuple[int, str | None]]:
    return ((event["round"], _named(event, hidden)) for event in events if event["name"] in _CHURN)


def _named(row: Row, hidden: frozenset[str]) -> str | None:
    """Return what a finding is called, unless it is one of the ``hidden`` ones."""
    return None if row.get("fp") in hidden else row.get("label")


def _blocks(row: Row, blocking: set[str]) -> bool:
    return row["severity"] in blocking and row["state"] not in _SETTLED and row["verdict"] != "rejected"


def _finding(row: Row, fields: tuple[str, ...], blocking: set[str]) -> Finding:
    attributes = json.loads(row["attributes"]) if row["attributes"] else {}
    return Finding(
        label=row["label"],
        values=tuple(str(attributes.get(field, row.get(field))) for field in fields),
        round=row.get("round", 0),
        rejected=row.get("verdict") == "rejected",
        blocks=row["severity"] in blocking,
        strategies=tuple(row.get("strategies", ())),
        subject=row["subject"],
        path=row["path"],
        line=row["line"],
    )


def _angles(sweep: Sweep, used: set[tuple[str, str]]) -> tuple[int, int]:
    """Return how many angles are declared, and how many are not used yet."""
    unused = [
        sum((strategy.name, angle_text(angle)) not in used for angle in mine)
        for strategy in sweep.strategies
        if (mine := [dict(angle) for angle in strategy.angles])
    ]
    return sum(len(strategy.angles) for strategy in sweep.strategies), sum(unused)

"""The summary of a campaign: what ``run``, ``status`` and ``replay`` print as JSON, from the history alone."""

from typing import Any

from drysweep_pipeline.fingerprint import told_apart
from drysweep_pipeline.history import history
from drysweep_pipeline.history.campaign import Past
from drysweep_pipeline.history.reading import Row
from drysweep_pipeline.home import Home
from drysweep_pipeline.lifecycle import OPEN, SETTLED
from drysweep_pipeline.reports.beside import calls, empty_sources, home_option, notices, stand
from drysweep_pipeline.reports.beyond import beyond
from drysweep_pipeline.reports.sentence import sentence
from drysweep_pipeline.reports.since import since
from drysweep_pipeline.reports.waiting import waits_for
from drysweep_pipeline.reports.why import why

SCHEMA_VERSION = 1
# The report that a person is sent to first.
_SUFFIXES = (".html", ".md", ".json")
_COPIED = ("outcome", "reason", "rule", "k", "rounds", "quiet", "repeats")
_COUNTED = ("seen", "confirmed", "rejected", "undecided", "unjudged")


def summary(home: Home, sweep: str, campaign: str) -> dict[str, Any]:
    """Return where a campaign stands and what it saw. Raises ``NotFound`` where it was not published."""
    with history(home) as connection:
        return told_of(Past(connection, sweep, campaign), home)


def told_of(past: Past, home: Home) -> dict[str, Any]:
    """Return the summary of a campaign in an open history."""
    head, rounds, findings = past.head(), past.rounds(), past.states()
    standing = stand(home, past.sweep, past.campaign, head)
    waiting = waits_for(standing, home_option(home))
    told = {
        "schema_version": SCHEMA_VERSION,
        "sweep": past.sweep,
        "campaign": past.campaign,
        "as_of": head["as_of"],
        **{name: head[name] for name in _COPIED},
        "looked_again": _looked_again(head),
        "since": since(past, home, head),
        "new": [row["fresh"] for row in rounds],
        "past": None,
        **{name: head[name] for name in _COUNTED},
        "ledger_seen": past.ledger_seen(),
        "calls": calls(home, past.sweep, past.campaign, head),
        "states": _states(findings),
        "events": past.events(),
        "not_run": past.not_run(),
        "not_searched": head["not_searched"],
        "empty_sources": empty_sources(home, past.sweep, past.campaign, head),
        "blocking": _blocking(past, findings, head["rounds"]),
        "report": _report(home, past.sweep, past.campaign),
        "notifications": notices(home, past.sweep, past.campaign),
        "waits_for": waiting.as_json if waiting else None,
    }
    told["past"] = beyond(past, told)
    diagnosis = why(past, home, told, rounds, standing)
    return {**told, "why": diagnosis.as_json if diagnosis else None, "verdict": sentence(told)}


def _looked_again(head: Row) -> dict[str, Any] | None:
    """Return at whose stored snapshot a campaign looked again, and with which strategies; None for all others."""
    return {"at": head["looked_again"], "strategies": head["strategies"]} if head["looked_again"] else None


def _states(findings: list[Row]) -> dict[str, str]:
    """Return the status of each finding by its label, with the fingerprint behind a label that is another's already."""
    names = told_apart((row["label"], row["fp"]) for row in findings)
    return {name: row["status"] for name, row in zip(names, findings, strict=True)}


def _blocking(past: Past, findings: list[Row], rounds: int) -> dict[str, int]:
    """Count blocking findings: the unsettled ones that the latest round raised, those that something settled, by what.

    Of the contested ones those too whose evidence the material does not have, and the open ones that the latest round
    did not raise.
    """
    severities = past.blocking()
    blocking = [row for row in findings if row["severity"] in severities]
    parted: dict[bool, list[Row]] = {True: [], False: []}
    for row in blocking:
        # By this campaign: what later ones raised is theirs to tell.
        parted[row["raised_last"] == rounds].append(row)
    raised, others = parted[True], parted[False]
    contested = {row["fp"] for row in blocking if row["state"] == "contested"}
    return {
        "raised": sum(row["state"] not in SETTLED and row["verdict"] != "rejected" for row in raised),
        "contested": len(contested),
        "contested_unverified": len(contested & past.unverified()),
        "accepted": sum(row["state"] == "accepted_risk" for row in blocking),
        "rejected": sum(row["status"] == "rejected" for row in blocking),
        "open": sum(row["state"] in OPEN and row["status"] != "rejected" for row in others),
    }


def _report(home: Home, sweep: str, campaign: str) -> str | None:
    paths = (home.sweep(sweep).report(campaign, suffix) for suffix in _SUFFIXES)
    return next((str(path) for path in paths if path.exists()), None)

"""Driving a campaign from the command line to where it stops, and showing where that is."""

from typing import Any

from drysweep_pipeline.cli.output import exit_code, note, progress, put, put_json
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.journal import standing
from drysweep_pipeline.engine.repair import repair
from drysweep_pipeline.engine.state import drop_lease, take_lease
from drysweep_pipeline.home import Home
from drysweep_pipeline.ledger import open_ledger
from drysweep_pipeline.reports.summary import summary
from drysweep_pipeline.reports.text import safe_text

FINDINGS = 6


def drive(home: Home, campaign: Campaign) -> None:
    """Run the rounds of a campaign in this process until none is due, then write its report."""
    from drysweep_pipeline.orchestration.inprocess import in_process

    take_lease(campaign.state_path, driver="cli")
    try:
        with open_ledger(campaign.home.ledger) as ledger:
            repair(ledger, campaign)
        with in_process(campaign.declaration, home) as jobs:
            jobs.bury(campaign)
            while (due := standing(campaign).due) is not None:
                progress(f"{campaign.home.name}/{campaign.id}: round {due} ...")
                jobs.round(campaign, due)
            jobs.report(campaign)
    finally:
        drop_lease(campaign.state_path)


def show(home: Home, campaign: Campaign, *, as_json: bool, fail_on: str | None = None) -> int:
    """Print where a campaign stands, its verdict last, and return the exit code."""
    facts = summary(home, campaign.home.name, campaign.id)
    code = exit_code(facts["outcome"])
    if code == 0 and fail_on is not None and _found(home, campaign, fail_on):
        code = FINDINGS
    if as_json:
        put_json(facts)
        note(facts["verdict"])
        return code
    put(f"{campaign.home.name}/{campaign.id}, as of {facts['as_of']}")
    put("fresh findings a round: " + ", ".join(str(n) for n in facts["new"]))
    for line in _failures(facts):
        put(line)
    if facts["report"]:
        put(f"report: {facts['report']}")
    put(facts["verdict"])
    return code


def _failures(facts: dict[str, Any]) -> list[str]:
    """Return a line for everything that failed in the same way, with its rounds."""
    failed = [(f"{each['strategy']} counts as not run", each["reason"], each["round"]) for each in facts["not_run"]]
    judged = [event for event in facts["events"] if event["name"] == "judge_failed"]
    failed += [("the judge failed", event["reason"], event["round"]) for event in judged]
    rounds: dict[tuple[str, str], list[int]] = {}
    for who, why, round in failed:
        rounds.setdefault((who, why), []).append(round)
    return [f"{_rounds(found)}: {who}: {safe_text(why)}" for (who, why), found in rounds.items()]


def _rounds(found: list[int]) -> str:
    return f"round{'s' if len(found) > 1 else ''} {', '.join(map(str, found))}"


def _found(home: Home, campaign: Campaign, fail_on: str) -> bool:
    from drysweep_pipeline.reports.threshold import found

    return found(home, campaign.home.name, campaign.id, fail_on)

"""What did not run in a campaign and why, a line for everything that failed in the same way."""

from collections.abc import Mapping
from typing import Any

from drysweep_pipeline.reports.text import at_angle, safe_text


def failures(told: Mapping[str, Any]) -> list[str]:
    """Return the failures of a campaign's strategies and judge with their rounds; ``told`` is its summary."""
    failed = [
        (f"{each['strategy']} counts as not run{at_angle(each)}", each["reason"], each["round"])
        for each in told["not_run"]
    ]
    judged = [event for event in told["events"] if event["name"] == "judge_failed"]
    failed += [("the judge failed", event["reason"], event["round"]) for event in judged]
    rounds: dict[tuple[str, str], list[int]] = {}
    for who, why, round in failed:
        rounds.setdefault((who, why), []).append(round)
    return [f"{_rounds(found)}: {who}: {safe_text(why)}" for (who, why), found in rounds.items()]


def _rounds(found: list[int]) -> str:
    return f"round{'s' if len(found) > 1 else ''} {', '.join(map(str, found))}"

"""Asset checks: is a round complete, is nothing seen twice, are fingerprints good, is nobody asked, did it go quiet.

Specs and results only; what they look at comes from the engine's reports. None is blocking.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from drysweep_pipeline.engine.judging import JudgeReport
from drysweep_pipeline.engine.quality import Merged
from drysweep_pipeline.engine.rounds import BudgetReport, IntakeReport
from drysweep_pipeline.engine.state import State
from drysweep_pipeline.landing import StrategyRun
from drysweep_pipeline.notifications.record import Notice
from drysweep_pipeline.reports.text import safe_text
from drysweep_pipeline.reports.waiting import Waiting
from drysweep_pipeline.values import Outcome

_WARN = dg.AssetCheckSeverity.WARN
_ERROR = dg.AssetCheckSeverity.ERROR


def ran_to_its_end(key: dg.AssetKey) -> dg.AssetCheckSpec:
    """Return the spec of the check that a strategy ran and gave its mark of complete output."""
    return dg.AssetCheckSpec("ran_to_its_end", asset=key, description="The strategy ran; failure is not silence.")


def of_run(key: dg.AssetKey, run: StrategyRun) -> dg.AssetCheckResult:
    """Return whether a strategy ran to its end."""
    return dg.AssetCheckResult(
        asset_key=key,
        check_name="ran_to_its_end",
        passed=run.status == "ok",
        severity=_ERROR,
        description=_safe(run.reason),
        metadata={"status": run.status, "attempts": len(run.attempts), "rows_refused": run.refused, **_recall(run)},
    )


def _recall(run: StrategyRun) -> dict[str, int]:
    """Return how many canaries a strategy was to report, and did, where that is known."""
    recall = run.canaries
    return {} if recall is None else {"canaries_expected": recall.expected, "canaries_seen": recall.seen}


def of_intake(key: dg.AssetKey) -> list[dg.AssetCheckSpec]:
    """Return the specs of the checks on intake."""
    return [
        dg.AssetCheckSpec("round_complete", asset=key, description="Every strategy ran, so the round can be quiet."),
        dg.AssetCheckSpec("seen_once", asset=key, description="No fingerprint of this round is twice in seen."),
        dg.AssetCheckSpec("fingerprint_quality", asset=key, description="No fingerprint merges distinct findings."),
    ]


def intake_results(report: IntakeReport, merged: Merged) -> list[dg.AssetCheckResult]:
    """Return the results of the checks on intake."""
    missing = ", ".join(f"{name}: {why}" for name, why in sorted(report.not_run.items()))
    return [
        dg.AssetCheckResult(
            check_name="round_complete", passed=report.complete, severity=_WARN, description=_safe(missing or None)
        ),
        dg.AssetCheckResult(
            check_name="seen_once", passed=not report.twice, severity=_ERROR, metadata={"twice": list(report.twice[:5])}
        ),
        dg.AssetCheckResult(
            check_name="fingerprint_quality",
            passed=not merged.fingerprints,
            severity=_WARN,
            description=_safe(merged.sentence),
            metadata={"merging_fingerprints": merged.fingerprints},
        ),
    ]


def judge_ran(key: dg.AssetKey) -> dg.AssetCheckSpec:
    """Return the spec of the check that the judge gave its answers."""
    return dg.AssetCheckSpec("judge_ran", asset=key, description="The judge ran; no answer is undecided.")


def judge_result(report: JudgeReport) -> dg.AssetCheckResult:
    """Return whether the judge ran."""
    return dg.AssetCheckResult(
        check_name="judge_ran", passed=report.failed is None, severity=_ERROR, description=_safe(report.failed)
    )


def within_ceilings(key: dg.AssetKey) -> dg.AssetCheckSpec:
    """Return the spec of the check that no ceiling tripped."""
    return dg.AssetCheckSpec("within_ceilings", asset=key, description="No ceiling tripped during the round.")


def budget_result(report: BudgetReport) -> dg.AssetCheckResult:
    """Return whether a round stayed under its ceilings."""
    return dg.AssetCheckResult(
        check_name="within_ceilings",
        passed=report.tripped is None,
        severity=_WARN,
        description=f"the ceiling on {report.tripped} tripped" if report.tripped else None,
    )


def nobody_asked(key: dg.AssetKey) -> dg.AssetCheckSpec:
    """Return the spec of the check that the campaign waits for no person."""
    return dg.AssetCheckSpec("nobody_is_asked", asset=key, description="No person is asked to decide or to say go.")


def waiting_result(waiting: Waiting | None) -> dg.AssetCheckResult:
    """Return whether a campaign goes on, or has ended, without anybody being asked."""
    return dg.AssetCheckResult(
        check_name="nobody_is_asked",
        passed=waiting is None,
        severity=_WARN,
        description=_asked(waiting) if waiting else None,
        metadata=waiting_metadata(waiting),
    )


def answer_seen(instance: dg.DagsterInstance, key: dg.AssetKey, campaign: str, states: Sequence[State]) -> None:
    """Have the check pass again, outside a round, once a campaign was answered and no other one of the sweep waits."""
    if any(state.outcome is Outcome.NEEDS_DECISION for state in states):
        return
    instance.report_runless_asset_event(
        dg.AssetCheckEvaluation(
            asset_key=key,
            check_name="nobody_is_asked",
            passed=True,
            severity=_WARN,
            description=f"{campaign} was answered",
            metadata={},
        )
    )


def went_quiet(key: dg.AssetKey) -> dg.AssetCheckSpec:
    """Return the spec of the check that a campaign converged, so that no page shows one that was cut short as green."""
    return dg.AssetCheckSpec(
        "search_went_quiet", asset=key, description="The campaign converged; else what it saw is a lower bound."
    )


def outcome_result(facts: Mapping[str, Any]) -> dg.AssetCheckResult:
    """Return whether a campaign converged, with its verdict; one that failed is an error, one cut short a warning."""
    outcome = Outcome(facts["outcome"])
    return dg.AssetCheckResult(
        check_name="search_went_quiet",
        passed=outcome is Outcome.CONVERGED,
        severity=_ERROR if outcome is Outcome.FAILED else _WARN,
        description=facts["verdict"],
        metadata={"outcome": outcome.value, "k": facts["k"], "rounds": facts["rounds"]},
    )


def receivers_told(key: dg.AssetKey) -> dg.AssetCheckSpec:
    """Return the spec of the check that everybody under ``notify`` took what there was to tell."""
    return dg.AssetCheckSpec("receivers_told", asset=key, description="Everybody under notify took what was told.")


def told_result(untold: Sequence[Notice]) -> dg.AssetCheckResult:
    """Return whether everybody took what there was to tell; who did not, and why, else."""
    said = "; ".join(f"{each.to}: {each.why}" for each in untold)
    return dg.AssetCheckResult(
        check_name="receivers_told", passed=not untold, severity=_WARN, description=_safe(said or None)
    )


def waiting_metadata(waiting: Waiting | None) -> dict[str, str]:
    """Return what an asset shows of what its campaign waits for; nothing where it waits for nothing."""
    return {"waits_for": _asked(waiting)} if waiting else {}


def _safe(text: str | None) -> str | None:
    """Return what others wrote as it may be shown, if there is any."""
    return None if text is None else safe_text(text)


def _asked(waiting: Waiting) -> str:
    return f"{waiting.sentence}: " + "; ".join(f"`{each.command}` {each.does}" for each in waiting.choices)

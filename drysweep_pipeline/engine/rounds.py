"""The steps of a round after its wave: intake, judging, the decision. Each is done once and is safe to ask for again.

Order matters (R1, R6, R8): what was found is taken in before anybody judges it, and the round is decided on its own
results before anything is fixed. A step that was done returns what it did.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

from drysweep_pipeline import landing
from drysweep_pipeline.budget import Budget, Spent
from drysweep_pipeline.convergence import RoundResult, Standing, after_round, is_quiet
from drysweep_pipeline.engine import actions, behind, churn, closings, journal, judging, moves, standing
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.journal import budget_of
from drysweep_pipeline.engine.planning import check_due
from drysweep_pipeline.engine.repeats import all_angles_used, repeats
from drysweep_pipeline.engine.state import check_lease
from drysweep_pipeline.engine.tidings import Decided, TakenIn, Teller
from drysweep_pipeline.errors import IntegrityError, RoundGap
from drysweep_pipeline.landing import Manifest
from drysweep_pipeline.ledger import Ledger, intake, lives, open_ledger
from drysweep_pipeline.ledger import journal as ledger_journal
from drysweep_pipeline.lifecycle import SETTLED
from drysweep_pipeline.values import Event, Rule, Severity, Usage


@dataclass(frozen=True, slots=True)
class IntakeReport:
    """What a round brought; ``twice`` are fingerprints that seen holds more than once, of which there must be none."""

    rows: int
    distinct: int
    fresh: int
    reopened: int
    complete: bool
    not_run: dict[str, str]
    twice: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BudgetReport:
    """What a round used, and what the campaign has spent of its ceilings."""

    calls: int
    lost: int
    spent: int
    ceiling: int | None
    rounds: int
    rounds_ceiling: int
    tripped: str | None


def take_in(campaign: Campaign, round: int) -> IntakeReport:
    """Take a landed wave into the ledger, or return what that brought where it was done before."""
    manifest = _manifest(campaign, round)
    with open_ledger(campaign.home.ledger) as ledger:
        done = ledger_journal.round_row(ledger, campaign.id, round)
        if done is not None:
            return _reported(manifest, done)
        # A campaign that was stopped meanwhile takes nothing in that it would never decide.
        check_due(campaign, round)
        behind.check_before(ledger, campaign, round)
        with ledger.transaction():
            actions.take_in_deeds(ledger, campaign)
            landed = journal.read_landed(campaign, round)
            report = commit_intake(ledger, campaign, round, landed)
            if landed is not None:
                again = replace(landed, again_at=datetime.now(UTC).isoformat())
                journal.write_landed(campaign, round, again)
        twice = tuple(intake.seen_twice(ledger))
    Teller(campaign.name, round)(TakenIn, report.distinct, report.fresh, report.reopened)
    return replace(report, twice=twice)


def commit_intake(ledger: Ledger, campaign: Campaign, round: int, landed: journal.Landed | None) -> IntakeReport:
    """Take a landed wave into the ledger, in the caller's transaction, as its first intake did where that landed."""
    wave = _manifest(campaign, round)
    manifest, files = _verified(campaign, wave, (landed.spoilt if landed else None) or {})
    now = datetime.now(UTC) if landed is None else datetime.fromisoformat(landed.taken_at)
    counts = intake.take_in(ledger, campaign.id, campaign.place(round), files, landed.fresh if landed else None)
    moved = moves.move(ledger, campaign, round, _reasons(manifest), now, landed)
    complete = bool(manifest.runs) and not manifest.not_run
    ledger_journal.record_round(ledger, manifest, counts, len(moved.reopened), complete, now)
    if landed is None:
        fresh, spoilt = tuple(intake.fresh_of(ledger)), _spoilt(wave, manifest)
        # Landed before the commit: a crash in between finds the same answer here, and commits it.
        found = journal.Landed(fresh, moved.reopened, now.isoformat(), moved.expired, moved.lapsed, spoilt)
        journal.write_landed(campaign, round, found)
    return IntakeReport(counts.rows, counts.distinct, counts.fresh, len(moved.reopened), complete, _reasons(manifest))


def judge(campaign: Campaign, round: int) -> judging.JudgeReport:
    """Judge what the campaign found and nobody judged yet, then test it for churn; done once a round."""
    _manifest(campaign, round)
    report = judging.judge(campaign, round)
    churn.look(campaign, round)
    return report


def settle(campaign: Campaign, round: int) -> BudgetReport:
    """Return what the round used against the campaign's ceilings; looks only."""
    budget = budget_of(campaign, round)
    before = journal.standing_before(campaign, round)
    spent = before.spent.plus(budget.used)
    ceilings = before.ceilings
    tripped = _tripped(campaign, _manifest(campaign, round))
    used, lost = budget.used.calls, budget.lost.calls
    return BudgetReport(used, lost, spent.calls, ceilings.calls, round, ceilings.rounds, tripped)


def decide(campaign: Campaign, round: int) -> Standing:
    """Decide a round on its own results, record it, and return where the campaign stands after all its rounds."""
    manifest = _manifest(campaign, round)
    with open_ledger(campaign.home.ledger) as ledger:
        # Another round than this one may be what a dead process left: what is published must be in the ledger.
        commit_landed(ledger, campaign)
        actions.take_in_landed(ledger, campaign)
        row = ledger_journal.round_row(ledger, campaign.id, round)
        if row is None or not row.judged:
            raise RoundGap(campaign.id, round, journal.standing(campaign).due)
        if row.outcome is None:
            _decide(ledger, campaign, round, manifest, row)
        closings.close(ledger, campaign)
        now = standing.publish(ledger, campaign)
    _tell(campaign, round, now)
    return now


def _tell(campaign: Campaign, round: int, now: Standing) -> None:
    """Tell whoever watches where the campaign stands."""
    ceilings, k = now.ceilings, campaign.policy.k
    tell = Teller(campaign.name, round)
    # Nothing but an angle that is still to come lets a campaign go on that was quiet for long enough.
    uncovered = now.due is not None and now.quiet >= k and now.converged_at is None
    said = (now.outcome.value, now.reason, now.quiet, k, now.spent.calls, ceilings.calls, ceilings.rounds)
    tell(Decided, *said, uncovered)


def recommit(ledger: Ledger, campaign: Campaign) -> None:
    """Take landed decisions into the ledger that a process did not live to commit."""
    if commit_landed(ledger, campaign):
        closings.close(ledger, campaign)
        standing.publish(ledger, campaign)


def commit_landed(ledger: Ledger, campaign: Campaign) -> bool:
    """Decide in the ledger what was decided in landing only, and tell whether there was anything."""
    mended = False
    round = 1
    while journal.read_result(campaign, round) is not None:
        row = ledger_journal.round_row(ledger, campaign.id, round)
        if row is not None and row.outcome is None:
            _decide(ledger, campaign, round, _manifest(campaign, round), row)
            mended = True
        round += 1
    return mended


def finish(campaign: Campaign) -> None:
    """Judge and decide a round that was taken in and left there, so that nothing it found is lost to the history.

    Raises ``Busy`` where a living process is in the middle of it.
    """
    due = journal.standing(campaign).due
    if due is None:
        return
    with open_ledger(campaign.home.ledger) as ledger:
        taken_in = ledger_journal.round_row(ledger, campaign.id, due) is not None
    if taken_in:
        check_lease(campaign.state_path)
        judge(campaign, due)
        decide(campaign, due)


def _decide(ledger: Ledger, campaign: Campaign, round: int, manifest: Manifest, row: ledger_journal.RoundRow) -> None:
    landed = journal.read_result(campaign, round)
    result = landed or _result(ledger, campaign, round, manifest, row)
    before = journal.standing_before(campaign, round)
    now = journal.decided_at(campaign, round) or datetime.now(UTC)
    with ledger.transaction():
        after = commit_decision(ledger, campaign, result, before, now)
        if landed is None:
            journal.write_decision(campaign, result, after, now)


def commit_decision(
    ledger: Ledger, campaign: Campaign, result: RoundResult, before: Standing, at: datetime
) -> Standing:
    """Record a round's decision, in the caller's transaction, and return where the campaign stands after it."""
    after, events = after_round(before, campaign.policy, result)
    _record(ledger, campaign, result, before, after, at)
    found_out = [*_spoilt_since(ledger, campaign, result), *churn.events(campaign, result.round)]
    ledger_journal.log(ledger, campaign.id, at, [*_lost(campaign, result.round), *found_out, *events])
    return after


def _result(
    ledger: Ledger, campaign: Campaign, round: int, manifest: Manifest, row: ledger_journal.RoundRow
) -> RoundResult:
    """Gather what the decision looks at."""
    sweep = campaign.declaration.sweep
    budget = budget_of(campaign, round)
    before = journal.standing_before(campaign, round)
    tested = churn.read(campaign, round)
    if tested is None or not tested.done:
        raise RoundGap(campaign.id, round, before.due)
    seconds = manifest.seconds + judging.seconds(campaign, round) + tested.seconds
    verified, files = _verified(campaign, manifest)
    # A file that went bad since intake cannot vouch for what it did not raise.
    not_run = frozenset(ledger_journal.not_run(ledger, campaign.id, round)) | verified.not_run
    blocking = _blocking(ledger, campaign, files) if sweep.convergence.rule is Rule.CLEAN else 0
    return RoundResult(
        round=round,
        asked=manifest.asked,
        not_run=not_run,
        fresh=row.fresh,
        reopened=row.reopened,
        blocking=blocking,
        spent=before.spent.plus(budget.used, seconds),
        price=sum(strategy.worst.calls for strategy in sweep.strategies if strategy.name in manifest.asked),
        churn=tested.churn,
        suspected=tested.suspected,
        tripped=_tripped(campaign, manifest),
        repeat=repeats(campaign, round),
        covered=all_angles_used(campaign, round, not_run),
    )


def _tripped(campaign: Campaign, manifest: Manifest) -> str | None:
    """Return the first ceiling that tripped inside a round: while it searched, was judged, or was tested for churn."""
    tested = churn.read(campaign, manifest.round)
    return manifest.tripped or judging.tripped(campaign, manifest.round) or (tested.tripped if tested else None)


def _record(
    ledger: Ledger, campaign: Campaign, result: RoundResult, before: Standing, after: Standing, now: datetime
) -> None:
    used = result.spent
    decision: list[object] = [
        result.complete,
        result.blocking,
        is_quiet(campaign.policy.rule, result),
        result.repeat and is_quiet(campaign.policy.rule, result),
        used.calls - before.spent.calls,
        used.tokens - before.spent.tokens,
        used.cost_usd - before.spent.cost_usd,
        (used.minutes - before.spent.minutes) * 60,
        result.tripped,
        after.outcome.value,
        after.reason,
        after.quiet,
        now,
    ]
    ledger_journal.record_decision(ledger, campaign.id, result.round, decision)


def _spoilt_since(ledger: Ledger, campaign: Campaign, result: RoundResult) -> list[Event]:
    """Return an event for each strategy whose landed file went bad between intake and decision."""
    known = set(ledger_journal.not_run(ledger, campaign.id, result.round))
    why = "corrupt_artifact: its landed file went bad after intake"
    return [Event("finder_not_run", result.round, actor=name, reason=why) for name in sorted(result.not_run - known)]


def _lost(campaign: Campaign, round: int) -> list[Event]:
    # What was lost is the same under any ceiling.
    budget = Budget(None, Spent(), campaign.folder(round) / journal.CALLS)
    if not budget.lost_for:
        return []
    told = f"{_spelled(budget.lost)} were under way when a process died, and count as spent: "
    return [Event("calls_lost", round, reason=told + ", ".join(budget.lost_for))]


def _spelled(usage: Usage) -> str:
    """Return what was used in words, without what is nothing."""
    parts = [f"{usage.calls} calls"]
    parts += [f"{usage.tokens} tokens"] if usage.tokens else []
    parts += [f"${usage.cost_usd:.4f}"] if usage.cost_usd else []
    return ", ".join(parts)


def blocking(ledger: Ledger, campaign: Campaign, round: int) -> int:
    """Count what a round raised at a blocking severity that nothing has settled, as the ledger stands.

    Raises ``IntegrityError`` where a landed file that was taken in is not what was landed.
    """
    manifest, landed = _manifest(campaign, round), journal.read_landed(campaign, round)
    spoilt = (landed.spoilt if landed else None) or {}
    runs = [run for run in manifest.runs if run.file and run.strategy not in spoilt]
    files = [landing.verify(campaign.folder(round), run.file) for run in runs if run.file]
    return _blocking(ledger, campaign, files)


def _blocking(ledger: Ledger, campaign: Campaign, files: list[Path]) -> int:
    ranks = [Severity(severity).rank for severity in campaign.declaration.sweep.convergence.blocking]
    return lives.unsettled(ledger, [str(file) for file in files], ranks, [state.value for state in SETTLED])


def _manifest(campaign: Campaign, round: int) -> Manifest:
    manifest = landing.read_manifest(campaign.folder(round))
    if manifest is None:
        raise RoundGap(campaign.id, round, journal.standing(campaign).due)
    return manifest


def _spoilt(wave: Manifest, verified: Manifest) -> dict[str, str]:
    """Return the strategies whose landed file was none when it was to be taken in, with why."""
    kept = {run.strategy for run in verified.runs if run.file}
    lost = {run.strategy for run in wave.runs if run.file} - kept
    return {run.strategy: run.reason or run.status for run in verified.runs if run.strategy in lost}


def _verified(
    campaign: Campaign, manifest: Manifest, spoilt: Mapping[str, str] = MappingProxyType({})
) -> tuple[Manifest, list[Path]]:
    """Return the files that are what was landed; a strategy whose file is not counts as not run.

    ``spoilt`` says of which strategies the file was not at intake, and why.
    """
    files, runs = [], []
    for run in manifest.runs:
        if run.strategy in spoilt:
            runs.append(landing.spoiled(run, spoilt[run.strategy]))
            continue
        if run.file is None:
            runs.append(run)
            continue
        try:
            files.append(landing.verify(campaign.folder(manifest.round), run.file))
            runs.append(run)
        except IntegrityError as error:
            runs.append(landing.spoiled(run, str(error)))
    return landing.with_runs(manifest, runs), files


def _reasons(manifest: Manifest) -> dict[str, str]:
    return {run.strategy: run.reason or run.status for run in manifest.runs if run.status == "not_run"}


def _reported(manifest: Manifest, row: ledger_journal.RoundRow) -> IntakeReport:
    return IntakeReport(row.rows, row.distinct, row.fresh, row.reopened, row.complete, _reasons(manifest))

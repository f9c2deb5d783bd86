"""The assets of a sweep: snapshot, candidates (one a strategy) and wave, intake, verdicts, budget, decision, report.

Three beats each: one engine function, metadata of its report, return. All checks are non-blocking: a check that fails
must never keep the decision from running, or the campaign would hang in silence.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypedDict

import dagster as dg

from drysweep_pipeline import interruption
from drysweep_pipeline.declaration import Declaration
from drysweep_pipeline.engine import rounds as engine
from drysweep_pipeline.engine.campaign import Campaign, load
from drysweep_pipeline.engine.planning import plan
from drysweep_pipeline.engine.quality import merged
from drysweep_pipeline.engine.repair import catch_up
from drysweep_pipeline.engine.starting import released
from drysweep_pipeline.engine.state import change_state, read_states, take_lease
from drysweep_pipeline.engine.wave import wave
from drysweep_pipeline.errors import Busy
from drysweep_pipeline.home import Home
from drysweep_pipeline.landing import StrategyRun
from drysweep_pipeline.notifications.record import Notice
from drysweep_pipeline.notifications.sending import notify
from drysweep_pipeline.orchestration import checks, showing
from drysweep_pipeline.orchestration.hiding import hiding
from drysweep_pipeline.orchestration.leaving import closed_with
from drysweep_pipeline.orchestration.partitions import campaigns_of, rounds_of
from drysweep_pipeline.orchestration.typing import Result
from drysweep_pipeline.reports import write_report
from drysweep_pipeline.reports.beside import home_option, stand_of
from drysweep_pipeline.reports.summary import summary
from drysweep_pipeline.reports.text import safe_text
from drysweep_pipeline.reports.waiting import waits_for
from drysweep_pipeline.values import RoundKey


def build_assets(declaration: Declaration) -> list[dg.AssetsDefinition]:
    """Return the assets of a declared sweep, in the order in which data flows."""
    return [
        _snapshot(declaration),
        _candidates(declaration),
        _intake(declaration),
        _verdicts(declaration),
        _budget(declaration),
        _decision(declaration),
        _report(declaration),
    ]


def _round(home: Home, sweep: str, partition_key: str) -> tuple[Campaign, int]:
    # Of each step's beginning, the first thing: what came while Dagster prepared it would be lost.
    interruption.check()
    key = RoundKey.parse(partition_key)
    return load(home, sweep, key.campaign), key.round


class _Owned(TypedDict):
    """What every asset of a sweep has."""

    group_name: str
    owners: list[str]


class _Common(_Owned):
    """What every asset of a round has."""

    partitions_def: dg.PartitionsDefinition[str]


def _owned(declaration: Declaration) -> _Owned:
    return {"group_name": declaration.sweep.name, "owners": list(declaration.sweep.owners)}


def _common(declaration: Declaration) -> _Common:
    return {"partitions_def": rounds_of(declaration.sweep.name), **_owned(declaration)}


def _snapshot(declaration: Declaration) -> dg.AssetsDefinition:
    sweep = declaration.sweep.name

    kinds = {declaration.sweep.material.kind, "parquet"}

    @dg.asset(key=[sweep, "snapshot"], kinds=kinds, **_common(declaration))
    def snapshot(context: dg.AssetExecutionContext, home: dg.ResourceParam[Home]) -> Result:
        """The material that a round reads, frozen; the rounds of a dry campaign share one, named by its digest."""
        with hiding(home, declaration):
            campaign, round = _round(home, sweep, context.partition_key)
            take_lease(campaign.state_path, holder=context.run.run_id)
            catch_up(campaign)
            planned = plan(released(campaign), round)
            return dg.MaterializeResult(
                metadata={
                    "digest": planned.snapshot,
                    "not_searched": planned.not_searched,
                    "as_of": str(campaign.as_of),
                },
                data_version=dg.DataVersion(planned.snapshot),
            )

    return snapshot


def _candidates(declaration: Declaration) -> dg.AssetsDefinition:
    sweep = declaration.sweep.name
    keys = {each.name: dg.AssetKey([sweep, "candidates", each.name]) for each in declaration.sweep.strategies}
    wave_key = dg.AssetKey([sweep, "wave"])

    @dg.multi_asset(
        name=f"{sweep}_candidates",
        specs=[*_of_strategies(declaration, keys), _of_wave(declaration, wave_key, keys.values())],
        check_specs=[checks.ran_to_its_end(key) for key in keys.values()],
        partitions_def=rounds_of(sweep),
        can_subset=True,
    )
    def candidates(
        context: dg.AssetExecutionContext, home: dg.ResourceParam[Home]
    ) -> Iterator[Result | dg.AssetCheckResult]:
        with hiding(home, declaration):
            campaign, round = _round(home, sweep, context.partition_key)
            runs = []
            # A wave is whole: all strategies run, whatever part of them was selected.
            for run in closed_with(context.run.run_id, wave(campaign, round)):
                runs.append(run)
                if keys.get(run.strategy) in context.selected_asset_keys:
                    yield from _reported(context, keys[run.strategy], run)
            if wave_key in context.selected_asset_keys:
                not_run = sorted(run.strategy for run in runs if run.status == "not_run")
                yield dg.MaterializeResult(asset_key=wave_key, metadata={"complete": not not_run, "not_run": not_run})

    return candidates


def _of_strategies(declaration: Declaration, keys: Mapping[str, dg.AssetKey]) -> Iterator[dg.AssetSpec]:
    for strategy in declaration.sweep.strategies:
        yield dg.AssetSpec(
            keys[strategy.name],
            deps=[dg.AssetKey([declaration.sweep.name, "snapshot"])],
            kinds={strategy.kind, "parquet"},
            description=(
                f"What the strategy {strategy.name} reported in a round, knowing nothing of what others find; a row is "
                "a candidate. A round in which it was not run is missing, and its check failed."
            ),
            metadata=showing.look(strategy),
            **_owned(declaration),
        )


def _of_wave(declaration: Declaration, key: dg.AssetKey, candidates: Iterable[dg.AssetKey]) -> dg.AssetSpec:
    # Always yielded: a step whose upstream output was not yielded is skipped, and the run ends green.
    return dg.AssetSpec(
        key,
        deps=list(candidates),
        kinds={"json"},
        description="The manifest of a round: every strategy with its status, files and hashes.",
        **_owned(declaration),
    )


def _reported(
    context: dg.AssetExecutionContext, key: dg.AssetKey, run: StrategyRun
) -> Iterator[Result | dg.AssetCheckResult]:
    """Yield a materialization where the strategy ran, and only a failed check where it did not."""
    check = checks.of_run(key, run)
    if run.status == "not_run":
        context.log.warning(f"{run.strategy} is not_run: {safe_text(run.reason or run.status)}")
        yield check
        return
    metadata: dict[str, Any] = {
        **showing.rows(run.file.rows if run.file else 0),
        "angle": run.angle,
        "seconds": run.seconds,
        "calls": run.usage.calls,
        "isolation": run.isolation or "",
        "sha256": run.file.sha256 if run.file else "",
    }
    yield dg.MaterializeResult(asset_key=key, metadata=metadata, check_results=[check])


def _intake(declaration: Declaration) -> dg.AssetsDefinition:
    sweep = declaration.sweep.name
    key = dg.AssetKey([sweep, "intake"])

    @dg.asset(
        key=key,
        deps=[dg.AssetKey([sweep, "wave"])],
        kinds={"duckdb"},
        check_specs=checks.of_intake(key),
        **_common(declaration),
    )
    def intake(context: dg.AssetExecutionContext, home: dg.ResourceParam[Home]) -> Result:
        """The round's candidates, deduplicated against everything ever seen; a row is a distinct finding."""
        with hiding(home, declaration):
            campaign, round = _round(home, sweep, context.partition_key)
            report = engine.take_in(campaign, round)
            return dg.MaterializeResult(
                metadata={
                    **showing.rows(report.distinct),
                    "candidates": report.rows,
                    "fresh": report.fresh,
                    "reopened": report.reopened,
                    "complete": report.complete,
                    "not_run": {name: safe_text(why) for name, why in report.not_run.items()},
                },
                check_results=checks.intake_results(report, merged(campaign, round)),
            )

    return intake


def _verdicts(declaration: Declaration) -> dg.AssetsDefinition:
    sweep = declaration.sweep.name
    key = dg.AssetKey([sweep, "verdicts"])

    @dg.asset(
        key=key,
        deps=[dg.AssetKey([sweep, "intake"])],
        kinds={"parquet"},
        check_specs=[checks.judge_ran(key)],
        **_common(declaration),
    )
    def verdicts(context: dg.AssetExecutionContext, home: dg.ResourceParam[Home]) -> Result:
        """What the judge said of findings that had no verdict; a row is a ruling."""
        with hiding(home, declaration):
            campaign, round = _round(home, sweep, context.partition_key)
            report = engine.judge(campaign, round)
            return dg.MaterializeResult(
                metadata={
                    **showing.rows(report.judged),
                    "confirmed": report.confirmed,
                    "rejected": report.rejected,
                    "undecided": report.undecided,
                    "unjudged": report.unjudged,
                    "calls": report.calls,
                },
                check_results=[checks.judge_result(report)],
            )

    return verdicts


def _budget(declaration: Declaration) -> dg.AssetsDefinition:
    sweep = declaration.sweep.name
    key = dg.AssetKey([sweep, "budget"])

    @dg.asset(
        key=key,
        deps=[dg.AssetKey([sweep, "verdicts"])],
        kinds={"json"},
        check_specs=[checks.within_ceilings(key)],
        **_common(declaration),
    )
    def budget(context: dg.AssetExecutionContext, home: dg.ResourceParam[Home]) -> Result:
        """What the round used, and what the campaign has spent of its ceilings."""
        with hiding(home, declaration):
            campaign, round = _round(home, sweep, context.partition_key)
            report = engine.settle(campaign, round)
            return dg.MaterializeResult(
                metadata={
                    "calls": report.calls,
                    "calls_lost": report.lost,
                    "calls_spent": report.spent,
                    "calls_ceiling": report.ceiling if report.ceiling is not None else "none",
                    "rounds": report.rounds,
                    "rounds_ceiling": report.rounds_ceiling,
                    "tripped": report.tripped or "",
                },
                check_results=[checks.budget_result(report)],
            )

    return budget


def _decision(declaration: Declaration) -> dg.AssetsDefinition:
    sweep = declaration.sweep.name
    key = dg.AssetKey([sweep, "decision"])

    @dg.asset(
        key=key,
        deps=[dg.AssetKey([sweep, "budget"])],
        kinds={"duckdb"},
        check_specs=[checks.nobody_asked(key)],
        **_common(declaration),
    )
    def decision(context: dg.AssetExecutionContext, home: dg.ResourceParam[Home]) -> Result:
        """Where the campaign stands after all its rounds: running, or its outcome and why."""
        with hiding(home, declaration):
            campaign, round = _round(home, sweep, context.partition_key)
            standing = engine.decide(campaign, round)
            stand = stand_of(campaign)
            waiting = waits_for(stand, home_option(home))
            return dg.MaterializeResult(
                metadata={
                    "outcome": standing.outcome.value,
                    **({"reason": standing.reason} if standing.reason else {}),
                    **checks.waiting_metadata(waiting),
                    "k": campaign.policy.k,
                    "quiet": standing.quiet,
                    "rounds": standing.rounds,
                    "fresh": showing.course(stand.course.rounds),
                },
                check_results=[checks.waiting_result(waiting)],
            )

    return decision


def _report(declaration: Declaration) -> dg.AssetsDefinition:
    sweep = declaration.sweep.name
    key = dg.AssetKey([sweep, "report"])

    @dg.asset(
        key=key,
        deps=[dg.AssetDep(dg.AssetKey([sweep, "decision"]), partition_mapping=dg.AllPartitionMapping())],
        kinds={"html", "json"},
        check_specs=[
            checks.went_quiet(key),
            *([checks.receivers_told(key)] if declaration.sweep.notify else []),
        ],
        partitions_def=campaigns_of(sweep),
        **_owned(declaration),
    )
    def report(context: dg.AssetExecutionContext, home: dg.ResourceParam[Home]) -> Result:
        """What a campaign found and why it stopped: a page for people, and the same for programs."""
        with hiding(home, declaration):
            campaign = load(home, sweep, context.partition_key)
            # So that the sensor knows a long report from one whose process is gone; others may be at work meanwhile.
            with suppress(Busy):
                take_lease(campaign.state_path, holder=context.run.run_id)
            files, untold = _written(campaign)
            change_state(campaign.state_path, reported=True)
            facts = summary(home, sweep, campaign.id)
            _see_answer(context, campaign, facts["events"])
            return dg.MaterializeResult(
                metadata={
                    "outcome": facts["outcome"],
                    "verdict": facts["verdict"],
                    **({"waits_for": facts["waits_for"]["sentence"]} if facts["waits_for"] else {}),
                    "k": facts["k"],
                    "rounds": facts["rounds"],
                    **showing.curve(home, sweep, campaign.id),
                    **showing.files(files, home),
                    "summary": showing.told(files),
                },
                check_results=[
                    checks.outcome_result(facts),
                    *([checks.told_result(untold)] if declaration.sweep.notify else []),
                ],
            )

    return report


def _written(campaign: Campaign) -> tuple[dict[str, Path], tuple[Notice, ...]]:
    """Write the report and tell receivers; where one could not be told, the report is written again, and says so."""
    files = write_report(campaign.home.home, campaign.home.name, campaign.id)
    untold = notify(campaign)
    return (write_report(campaign.home.home, campaign.home.name, campaign.id) if untold else files), untold


def _see_answer(context: dg.AssetExecutionContext, campaign: Campaign, events: Iterable[Mapping[str, Any]]) -> None:
    """Have the check that asked somebody pass, where a person was asked and has answered."""
    if any(event["name"] == "decision_requested" for event in events):
        states = read_states(campaign.home.root / "state")
        checks.answer_seen(context.instance, dg.AssetKey([campaign.home.name, "decision"]), campaign.id, states)

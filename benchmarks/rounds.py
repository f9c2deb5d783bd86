"""What a round costs beside its finders: five strategies that find nothing, against assets that do nothing.

The baseline is the least that Dagster can do with as many assets, in one process, on the same instance.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg

from benchmarks.figures import Figure, clocked, interleaved
from drysweep_pipeline.declaration import Declaration, read_declaration
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.journal import standing
from drysweep_pipeline.engine.starting import start
from drysweep_pipeline.home import Home
from drysweep_pipeline.orchestration.inprocess import InProcess, in_process
from drysweep_pipeline.orchestration.typing import Result

STRATEGIES = ("label", "pattern", "prefix", "window", "charter")
_BARE = "bare"
_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
_SWEEP = """\
type: drysweep_pipeline.Sweep
attributes:
  name: nothing
  material: {kind: registry, path: registry, map: {services: "*.yaml"}}
  fingerprint: {fields: [service, field]}
  strategies:
"""
_STRATEGY = """\
    - name: {name}
      kind: sql
      query: {{file: nothing.sql}}
      angles: [{{area: net}}, {{area: run}}]
"""
_REST = """\
  convergence: {rule: dry, k: 1000}
  budget: {rounds: 1000, calls: 100000}
"""
_QUERY = "select service, pointer as field from services join settings on path = file where $area = 'none'\n"


def measure(folder: Path, *, times: int = 9) -> list[Figure]:
    """Return what a round that finds nothing takes, against the bare job."""
    with nothing_swept(folder) as (jobs, campaign):
        bare_job = _bare_job(jobs.instance)
        ours, bare = interleaved(
            lambda: clocked(lambda: jobs.round(campaign, standing(campaign).due or 0)),
            lambda: clocked(bare_job),
            times,
        )
    return [
        Figure(
            "a round of 5 strategies that find nothing",
            ours.wall,
            bare.wall,
            2.0,
            "12 assets that do nothing, same instance",
            cpu_ours=ours.cpu,
            cpu_baseline=bare.cpu,
        )
    ]


@contextmanager
def nothing_swept(folder: Path) -> Iterator[tuple[InProcess, Campaign]]:
    """Yield the jobs of a sweep that finds nothing, and a campaign of it that goes on for long."""
    home, declaration = Home(folder / "home"), declare(folder)
    campaign = start(home, declaration, as_of=datetime(2026, 1, 1, tzinfo=UTC), driver="cli")
    with in_process(declaration, home) as jobs:
        yield jobs, campaign


def declare(folder: Path) -> Declaration:
    """Write a registry of one service and a sweep over it whose strategies find nothing; return the sweep."""
    (folder / "registry").mkdir(parents=True)
    (folder / "registry" / "api.yaml").write_text("net: {port: 80}\n", encoding="utf-8")
    (folder / "nothing.sql").write_text(_QUERY, encoding="utf-8")
    file = folder / "defs.yaml"
    strategies = "".join(_STRATEGY.format(name=name) for name in STRATEGIES)
    file.write_text(_SWEEP + strategies + _REST, encoding="utf-8")
    return read_declaration(file)


def _bare_job(instance: dg.DagsterInstance) -> Callable[[], object]:
    """Return a round of the barest job with the assets of a sweep."""
    rounds = dg.DynamicPartitionsDefinition(name=f"{_BARE}_rounds")
    definitions = dg.Definitions(
        assets=_bare_assets(rounds),
        jobs=[
            dg.define_asset_job(
                f"{_BARE}_round",
                selection=dg.AssetSelection.groups(_BARE),
                executor_def=dg.in_process_executor,
                partitions_def=rounds,
            )
        ],
    )
    job = definitions.resolve_job_def(f"{_BARE}_round")
    keys = iter(f"c-r{number:03d}" for number in range(1, 100_000))

    def run() -> object:
        key = next(keys)
        instance.add_dynamic_partitions(f"{_BARE}_rounds", [key])
        return job.execute_in_process(partition_key=key, instance=instance, run_config=_QUIET, raise_on_error=True)

    return run


def _bare_assets(rounds: dg.DynamicPartitionsDefinition) -> list[dg.AssetsDefinition]:
    snapshot = _nothing("snapshot", None, rounds)
    specs = [
        dg.AssetSpec([_BARE, "candidates", name], deps=[[_BARE, "snapshot"]], group_name=_BARE) for name in STRATEGIES
    ]
    wave = dg.AssetSpec([_BARE, "wave"], deps=[spec.key for spec in specs], group_name=_BARE)

    @dg.multi_asset(name="bare_candidates", specs=[*specs, wave], partitions_def=rounds, can_subset=True)
    def candidates() -> Iterator[Result]:
        for spec in (*specs, wave):
            yield dg.MaterializeResult(asset_key=spec.key)

    chain = [snapshot, candidates]
    above = "wave"
    for name in ("intake", "verdicts", "budget", "decision"):
        chain.append(_nothing(name, above, rounds))
        above = name
    return chain


def _nothing(name: str, above: str | None, rounds: dg.DynamicPartitionsDefinition) -> dg.AssetsDefinition:
    @dg.asset(
        key=[_BARE, name],
        deps=[dg.AssetKey([_BARE, above])] if above else [],
        partitions_def=rounds,
        group_name=_BARE,
    )
    def asset() -> Result:
        return dg.MaterializeResult()

    return asset

"""One wave: all strategies of a planned round side by side, blind to each other.

A strategy that does not run to its end is ``not_run``, with a reason; it never raises. A wave that landed is not run
again: its manifest is returned as it is. What the finders reported is taken in elsewhere.
"""

import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace

from drysweep_pipeline import interruption, landing, sandbox
from drysweep_pipeline.budget import Budget, Meter
from drysweep_pipeline.children.confinement import isolation_of
from drysweep_pipeline.declaration.model import Strategy
from drysweep_pipeline.durable import only_one
from drysweep_pipeline.engine.asking import Asking
from drysweep_pipeline.engine.attempts import Part, set_aside
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.journal import budget_of
from drysweep_pipeline.engine.planning import Plan, check_due, plan, snapshot_of
from drysweep_pipeline.engine.redacting import check_known, redactor_of
from drysweep_pipeline.engine.tidings import Searching, StrategyEnded, Teller
from drysweep_pipeline.engine.watch import Watch
from drysweep_pipeline.errors import IntegrityError
from drysweep_pipeline.finders import READ_FILES
from drysweep_pipeline.landing import Manifest, StrategyRun
from drysweep_pipeline.material import Snapshot
from drysweep_pipeline.material.copy import left_out
from drysweep_pipeline.material.globs import may_hide
from drysweep_pipeline.redaction import Redactor
from drysweep_pipeline.variation import Look

PARALLEL = 16
# How often the wait for strategies looks whether it is to be given up.
_LOOK_SECONDS = 0.5


def wave(campaign: Campaign, round: int) -> Generator[StrategyRun, None, None]:
    """Run all strategies of a planned round in parallel; yield each as it ends, then land the manifest.

    A wave that landed yields what it landed; no finder is called.
    """
    folder = campaign.folder(round)
    landed = landing.read_manifest(folder)
    if landed is not None:
        yield from landed.runs
        return
    check_due(campaign, round)
    planned = plan(campaign, round)
    with only_one(folder / ".searching.lock", f"round {campaign.key(round)} is being searched by another process"):
        yield from _searched(campaign, round, planned)


def _searched(campaign: Campaign, round: int, planned: Plan) -> Iterator[StrategyRun]:
    """Run the strategies of a planned round and land its manifest."""
    folder = campaign.folder(round)
    landed = landing.read_manifest(folder)
    if landed is not None:  # by the process that held the lock before
        yield from landed.runs
        return
    began = time.monotonic()
    search = _Search(campaign, planned, budget_of(campaign, round))
    search.tell(Searching, tuple(entry.strategy for entry in planned.looks))
    # In order and before any retry: a ceiling leaves out the same strategies every time, whichever thread is first.
    firsts = [search.first_call(entry) for entry in planned.looks]
    runs = []
    threads = min(len(planned.looks), PARALLEL) or 1
    with (
        _kept_open(search.snapshot),
        search.asking as asking,
        search.watch,
        ThreadPoolExecutor(threads) as pool,
        asking.children,
    ):
        started = [pool.submit(search.run, *each) for each in zip(planned.looks, firsts, strict=True)]
        for future in _as_they_end(started):
            runs.append(future.result())
            yield runs[-1]
    ordered = tuple(sorted(runs, key=lambda run: run.strategy))
    seconds = time.monotonic() - began
    landing.write_manifest(
        folder,
        Manifest(campaign.id, round, planned.snapshot, planned.not_searched, seconds, ordered, search.budget.tripped),
    )


def _as_they_end(started: Sequence[Future[StrategyRun]]) -> Iterator[Future[StrategyRun]]:
    """Yield strategies as they end; an interruption that somebody held back meanwhile ends the wait for the others."""
    left = set(started)
    while left:
        ended, left = wait(left, timeout=_LOOK_SECONDS, return_when=FIRST_COMPLETED)
        interruption.check()
        yield from ended


@contextmanager
def _kept_open(snapshot: Snapshot | None) -> Iterator[None]:
    """Hold a snapshot's database open, so that the SQL strategies of a wave share one engine."""
    with ExitStack() as stack:
        # One that cannot be opened is the failure of each strategy that opens it, never the round's.
        with suppress(IntegrityError):
            if snapshot is not None:
                stack.enter_context(sandbox.locked(snapshot.database))
        yield


class _Search:
    """The strategies of one wave, sharing a snapshot and a budget and nothing else."""

    def __init__(self, campaign: Campaign, planned: Plan, budget: Budget) -> None:
        self.campaign = campaign
        self.planned = planned
        self.budget = budget
        self.tell = Teller(campaign.name, planned.round)
        sweep = campaign.declaration.sweep
        # Whoever started the campaign may have known more than the process that goes on with it.
        check_known(campaign.declaration)
        self.redactor = redactor_of(campaign)
        self.fields = sweep.fingerprint.fields
        self.strategies = {strategy.name: strategy for strategy in sweep.strategies}
        self.isolation = {strategy.kind: isolation_of(strategy.kind) for strategy in sweep.strategies}
        self.snapshot = snapshot_of(campaign, planned.snapshot)
        self.asking = Asking(campaign, planned.round, self.snapshot)
        self.watch = Watch(self.asking, campaign, planned.round, self.snapshot)
        self.unreadable = dict(self.snapshot.unreadable()) if self.snapshot else {}
        self.files_of_no_text = _of_no_text(self.snapshot, self.strategies.values())

    def first_call(self, entry: Look) -> Meter | None:
        """Reserve the first call of a strategy; None where a ceiling forbids it, or where it will not be made."""
        strategy = self.strategies[entry.strategy]
        return None if self._needs_unreadable(strategy) is not None else set_aside(self.budget, strategy, 1)

    def run(self, entry: Look, first: Meter | None) -> StrategyRun:
        """Have a strategy search, on what was set aside for its first call; return what became of it."""
        strategy = self.strategies[entry.strategy]
        folder = self.campaign.folder(self.planned.round)
        part = Part(strategy, entry, self.fields, folder, self.watch, self.budget, self.tell)
        lacking = self._needs_unreadable(strategy)
        done = part.run(first) if lacking is None else part.left_out(lacking)
        cleaned = _without_secrets(self.watch.cleaned(done), self.redactor)
        rows = cleaned.file.rows if cleaned.file is not None else 0
        self.tell(StrategyEnded, cleaned.strategy, cleaned.status == "ok", rows, cleaned.seconds, cleaned.reason)
        return replace(cleaned, isolation=self.isolation[strategy.kind]) if done.attempts else cleaned

    def _needs_unreadable(self, strategy: Strategy) -> str | None:
        """Return what a strategy needs and nobody could read, or None."""
        unread = {file: f"unreadable: {why}" for file, why in self.unreadable.items()}
        if strategy.kind in READ_FILES:
            unread = {**self.files_of_no_text, **unread}
        for glob in strategy.needs:
            for file in sorted(unread):
                if may_hide(file, glob):
                    return f"needs {file}, which is {unread[file]}"
        return None


def _without_secrets(run: StrategyRun, redactor: Redactor) -> StrategyRun:
    """Return what became of a strategy with the secrets masked in all that says why."""
    return replace(
        run,
        reason=redactor.maybe(run.reason),
        complaint=redactor.maybe(run.complaint),
        attempts=tuple(replace(each, reason=redactor.maybe(each.reason)) for each in run.attempts),
        first_refused=tuple(replace(each, reason=redactor.text(each.reason)) for each in run.first_refused),
    )


def _of_no_text(snapshot: Snapshot | None, strategies: Iterable[Strategy]) -> dict[str, str]:
    """Return the files of a snapshot that who reads its files is not given, and why, where anybody needs some."""
    if snapshot is None or not any(each.needs and each.kind in READ_FILES for each in strategies):
        return {}
    return dict.fromkeys(left_out(snapshot.folder), "binary: only text is in the copy of the material")

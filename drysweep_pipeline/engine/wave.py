"""One wave: the plan of a round, its snapshot, and all its strategies side by side, blind to each other.

A strategy that does not run to its end is ``not_run``, with a reason; it never raises. A wave that landed is not run
again: its manifest is returned as it is. What the finders reported is taken in elsewhere.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pyarrow as pa

from drysweep_pipeline import candidates, landing, sandbox
from drysweep_pipeline.budget import Budget, Meter
from drysweep_pipeline.canaries import Recall
from drysweep_pipeline.confinement import isolation_of
from drysweep_pipeline.declaration.model import ScriptedMaterial, Strategy
from drysweep_pipeline.durable import only_one, read_json, write_json
from drysweep_pipeline.engine import journal
from drysweep_pipeline.engine.asking import Asking, land
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.redacting import redactor_of
from drysweep_pipeline.engine.watch import MISSED, Watch, missed, plant
from drysweep_pipeline.errors import FinderError, IntegrityError, RoundGap, RowsRefused
from drysweep_pipeline.finders import READ_FILES, Found
from drysweep_pipeline.landing import Attempt, Manifest, StrategyRun
from drysweep_pipeline.material import Snapshot, freeze, place_of
from drysweep_pipeline.material.copy import left_out
from drysweep_pipeline.material.globs import may_hide
from drysweep_pipeline.redaction import Redactor
from drysweep_pipeline.values import Rule, Usage
from drysweep_pipeline.variation import Look, look

PLAN = "plan.json"
CALLS = "calls.jsonl"
ATTEMPTS = 2
# What a second attempt cannot mend: more output than the caps allow, more calls than the ceilings do.
_IN_VAIN = frozenset({"truncated", "ceiling"})
_PARALLEL = 16


@dataclass(frozen=True, slots=True)
class Plan:
    """What a round will do, recorded before it runs: the snapshot it reads and what each strategy is asked."""

    round: int
    snapshot: str
    not_searched: int
    looks: tuple[Look, ...]
    place: str = ""
    """Where the material lies; empty where it lies nowhere."""
    planted: str = ""
    """The copy of the snapshot in which canaries are planted; empty where there are none."""


def plan(campaign: Campaign, round: int) -> Plan:
    """Freeze the material if the round needs it, record the round's plan and return it.

    Raises ``RoundGap`` where another round is due, ``MaterialError`` where the material is out of reach.
    """
    recorded = read_plan(campaign, round)
    if recorded is not None:
        return recorded
    check_due(campaign, round)
    digest, not_searched = _snapshot(campaign, round)
    sweep = campaign.declaration.sweep
    looks = tuple(look(s, sweep.name, campaign.id, round, campaign.offset) for s in sweep.asked(round))
    planted = plant(campaign, snapshot_of(campaign, digest)) if sweep.canaries is not None else None
    copy = planted.snapshot.digest if planted is not None else ""
    planned = Plan(round, digest, not_searched, looks, _place(campaign), copy)
    write_json(campaign.folder(round) / PLAN, asdict(planned))
    return planned


def check_due(campaign: Campaign, round: int) -> None:
    """Raise ``RoundGap`` unless the round is the one that is due."""
    due = journal.standing(campaign).due
    if round != due:
        raise RoundGap(campaign.id, round, due)


def read_plan(campaign: Campaign, round: int) -> Plan | None:
    """Return a round's recorded plan, or None."""
    path = campaign.folder(round) / PLAN
    if not path.exists():
        return None
    data = read_json(path)
    return Plan(**{**data, "looks": tuple(Look(**entry) for entry in data["looks"])})


def budget_of(campaign: Campaign, round: int) -> Budget:
    """Return the money of a round: its ceilings, what was spent before it, and what its journal says."""
    before = journal.standing_before(campaign, round)
    free = round <= before.free_until
    return Budget(None if free else before.ceilings, before.spent, campaign.folder(round) / CALLS)


def wave(campaign: Campaign, round: int) -> Iterator[StrategyRun]:
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
    # In order and before any retry: a ceiling leaves out the same strategies every time, whichever thread is first.
    firsts = [search.first_call(entry) for entry in planned.looks]
    runs = []
    threads = min(len(planned.looks), _PARALLEL) or 1
    with (
        _kept_open(search.snapshot),
        search.asking as asking,
        search.watch,
        ThreadPoolExecutor(threads) as pool,
        asking.children,
    ):
        for future in as_completed(
            [pool.submit(search.run, *each) for each in zip(planned.looks, firsts, strict=True)]
        ):
            runs.append(future.result())
            yield runs[-1]
    ordered = tuple(sorted(runs, key=lambda run: run.strategy))
    seconds = time.monotonic() - began
    landing.write_manifest(
        folder,
        Manifest(campaign.id, round, planned.snapshot, planned.not_searched, seconds, ordered, search.budget.tripped),
    )


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
        sweep = campaign.declaration.sweep
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
        if self._needs_unreadable(self.strategies[entry.strategy], entry) is not None:
            return None
        return self._reserve(entry, 1)

    def run(self, entry: Look, first: Meter | None) -> StrategyRun:
        """Look once, on the reservation given, and once more where that can help; return what became of it."""
        strategy = self.strategies[entry.strategy]
        attempts: list[Attempt] = []
        partly: list[pa.Table] = []
        done = self._needs_unreadable(strategy, entry)
        while done is None:
            meter = self._reserve(entry, len(attempts) + 1) if attempts else first
            done = self._attempt(strategy, entry, attempts, partly, meter)
        cleaned = _without_secrets(self.watch.cleaned(done), self.redactor)
        return replace(cleaned, isolation=self.isolation[strategy.kind]) if attempts else cleaned

    def _reserve(self, entry: Look, attempt: int) -> Meter | None:
        worst, purpose = self.strategies[entry.strategy].worst, f"{entry.strategy} attempt {attempt}"
        reservation = self.budget.reserve(worst, purpose)
        return None if reservation is None else Meter(self.budget, worst, purpose, reservation)

    def _needs_unreadable(self, strategy: Strategy, entry: Look) -> StrategyRun | None:
        unread = {file: f"unreadable: {why}" for file, why in self.unreadable.items()}
        if strategy.kind in READ_FILES:
            unread = {**self.files_of_no_text, **unread}
        for glob in strategy.needs:
            for file in sorted(unread):
                if may_hide(file, glob):
                    return _run(strategy, entry, "not_run", f"needs {file}, which is {unread[file]}", [])
        return None

    def _attempt(
        self,
        strategy: Strategy,
        entry: Look,
        attempts: list[Attempt],
        partly: list[pa.Table],
        meter: Meter | None,
    ) -> StrategyRun | None:
        """Make one attempt on what was set aside; return the end of it, or None where another one may help.

        ``partly`` is what attempts that failed had reported validly before they did.
        """
        number = len(attempts) + 1
        path = self.campaign.folder(self.planned.round) / f"{strategy.name}.a{number}.parquet"
        if meter is None:
            reason = f"ceiling: {self.budget.tripped}" + (f", after {attempts[-1].reason}" if attempts else "")
            return self._not_run(strategy, entry, attempts, partly, path, reason)
        began = time.monotonic()
        usage: Usage | None = None
        try:
            found, recall = self.watch.search(strategy, entry, meter)
            usage = found.usage
            failure = found.failure or (None if number >= ATTEMPTS else missed(strategy, found, recall))
            if failure is None:
                taken = self._land(found, strategy, entry, path, partly)
            elif found.prepared is not None and found.prepared.num_rows:
                partly.append(found.prepared)
        except FinderError as error:
            failure = error
        except Exception as error:  # a finder's own bug is that finder's failure, never the round's
            failure = FinderError(repr(error))
        finally:
            usage = meter.reserved if usage is None else usage
            meter.settle(usage)
        seconds = time.monotonic() - began
        if failure is None:
            return self._ended(strategy, entry, attempts, taken, path, seconds, usage, recall)
        attempts.append(Attempt(number, failure.status, str(failure), seconds, usage))
        if isinstance(failure, RowsRefused) or failure.status in _IN_VAIN or number >= ATTEMPTS:
            return self._not_run(strategy, entry, attempts, partly, path, str(failure))
        return None

    def _not_run(
        self,
        strategy: Strategy,
        entry: Look,
        attempts: list[Attempt],
        partly: list[pa.Table],
        path: Path,
        reason: str,
    ) -> StrategyRun:
        """Return the end of a strategy that did not run to its end; what it did report validly is landed."""
        if not partly:
            return _run(strategy, entry, "not_run", reason, attempts)
        *earlier, last = partly
        try:
            taken = self._land(Found(prepared=last), strategy, entry, path, earlier)
        except Exception as error:  # as above
            return _run(strategy, entry, "not_run", f"{reason}; {error!r}", attempts)
        if taken.refused:
            reason = f"{reason}; {_refusal(taken)}"
        file = landing.landed(path, taken) if taken.rows else None
        return _run(strategy, entry, "not_run", reason, attempts, file, taken)

    def _ended(
        self,
        strategy: Strategy,
        entry: Look,
        attempts: list[Attempt],
        taken: candidates.Taken,
        path: Path,
        seconds: float,
        usage: Usage,
        recall: Recall | None,
    ) -> StrategyRun:
        status, reason = "ok", None
        if taken.refused:
            status, reason = "refused", _refusal(taken)
        elif recall is not None and recall.missed:
            status, reason = MISSED, recall.reason
        attempts.append(Attempt(len(attempts) + 1, status, reason, seconds, usage))
        run = _run(strategy, entry, status, reason, attempts, landing.landed(path, taken), taken)
        return run if recall is None else replace(run, canaries=replace(recall, withheld=taken.withheld))

    def _land(
        self, found: Found, strategy: Strategy, entry: Look, path: Path, earlier: Sequence[pa.Table]
    ) -> candidates.Taken:
        return land(found, strategy, self.fields, path, earlier, self.watch.withheld_from(strategy, entry))


def _without_secrets(run: StrategyRun, redactor: Redactor) -> StrategyRun:
    """Return what became of a strategy with the secrets masked in all that says why."""
    return replace(
        run,
        reason=redactor.maybe(run.reason),
        attempts=tuple(replace(each, reason=redactor.maybe(each.reason)) for each in run.attempts),
        first_refused=tuple(replace(each, reason=redactor.text(each.reason)) for each in run.first_refused),
    )


def _refusal(taken: candidates.Taken) -> str:
    first = taken.first_refused[0]
    return f"{taken.refused} rows refused, first row {first.row}: {first.reason}"


def _of_no_text(snapshot: Snapshot | None, strategies: Iterable[Strategy]) -> dict[str, str]:
    """Return the files of a snapshot that who reads its files is not given, and why, where anybody needs some."""
    if snapshot is None or not any(each.needs and each.kind in READ_FILES for each in strategies):
        return {}
    return dict.fromkeys(left_out(snapshot.folder), "binary: only text is in the copy of the material")


def _run(
    strategy: Strategy,
    entry: Look,
    status: str,
    reason: str | None,
    attempts: list[Attempt],
    file: landing.LandedFile | None = None,
    taken: candidates.Taken | None = None,
) -> StrategyRun:
    return StrategyRun(
        strategy.name,
        strategy.kind,
        "ok" if status == "ok" else "not_run",
        reason,
        entry.angle,
        entry.angle_index,
        entry.seed,
        tuple(attempts),
        file,
        taken.refused if taken else 0,
        taken.first_refused if taken else (),
    )


def _place(campaign: Campaign) -> str:
    """Return where the material lies, or lay when it was frozen; empty where it lies nowhere."""
    if campaign.looked_again is not None:
        return campaign.looked_again.place
    material = campaign.declaration.sweep.material
    place = "" if isinstance(material, ScriptedMaterial) else place_of(material, campaign.declaration.base)
    return redactor_of(campaign).distinct(place)


def _snapshot(campaign: Campaign, round: int) -> tuple[str, int]:
    """Return the digest of the snapshot that a round reads, freezing the material where it is due (R16)."""
    if campaign.looked_again is not None:
        return campaign.looked_again.snapshot, campaign.looked_again.not_searched
    sweep = campaign.declaration.sweep
    dry = sweep.convergence.rule is Rule.DRY
    if dry and round > 1:
        first = read_plan(campaign, 1)
        assert first is not None, "a round that is due has a first round before it"
        return first.snapshot, first.not_searched
    if isinstance(sweep.material, ScriptedMaterial):
        return ("scripted" if dry else f"scripted-{campaign.id}-r{round:03d}"), 0
    frozen = freeze(sweep.material, campaign.declaration.base, campaign.as_of, campaign.home.snapshots)
    return frozen.digest, frozen.not_searched


def snapshot_of(campaign: Campaign, digest: str) -> Snapshot | None:
    """Open a round's snapshot; scripted material has none."""
    if isinstance(campaign.declaration.sweep.material, ScriptedMaterial):
        return None
    return Snapshot.open(campaign.home.snapshots / digest)

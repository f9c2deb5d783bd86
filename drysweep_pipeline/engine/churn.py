"""Churn: whether something fresh at the scope of an applied fix is that fix's own doing, found out by reverting it.

Done once a round, after judging, and landed as ``churn.json`` before the round is decided: what was tested is not
tested again. A pair that may be churn and cannot be tested is suspected, and says why. How a test is made lives in
``engine.reverting``, what churn does to a campaign in ``convergence``.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from drysweep_pipeline import fingerprint, landing
from drysweep_pipeline.budget import Budget
from drysweep_pipeline.declaration.model import ScriptedMaterial
from drysweep_pipeline.durable import only_one, read_json, write_json
from drysweep_pipeline.engine import journal
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.journal import budget_of
from drysweep_pipeline.engine.moves import snapshot_round
from drysweep_pipeline.engine.redacting import redactor_of
from drysweep_pipeline.engine.reverting import Bench, Reverted, raised
from drysweep_pipeline.errors import DrysweepError, MaterialError, Refused
from drysweep_pipeline.history import history
from drysweep_pipeline.history.reading import rows
from drysweep_pipeline.landing import LandedFile, StrategyRun
from drysweep_pipeline.ledger import open_ledger
from drysweep_pipeline.ledger.churn import AtAFix, at_fixes, has_fixes
from drysweep_pipeline.material.git import Fix
from drysweep_pipeline.values import Event
from drysweep_pipeline.variation import Look

FILE = "churn.json"
SCHEMA_VERSION = 1
MOST_TESTS = 10
_MOST_EVENTS = 100
_LABELS = """
    select cast(fp as varchar) as fp, label
    from published.payload
    where sweep = $sweep and fp in (select unnest(cast($fps as uuid[])))
"""


class Answered(StrEnum):
    """What the revert test says of a finding: that it goes away, that it stays, or nothing."""

    RESOLVES = "resolves"
    REMAINS = "remains"
    UNTESTED = "untested"


@dataclass(frozen=True, slots=True)
class Tested:
    """A fresh finding, a fix at its scope, and what a strategy's revert test said; ``file`` has the rows that say it.

    ``finding`` and ``fix`` are fingerprints; ``strategy``, ``angle`` and ``seed`` are how the round raised the finding.
    Where several strategies did, each has a test, and what they say together is in ``Looked.answers``.
    """

    finding: str
    fix: str
    scope: str
    revision: str | None
    strategy: str
    angle: dict[str, Any]
    seed: int
    answer: Answered
    reason: str
    snapshot: str | None = None
    file: LandedFile | None = None


@dataclass(frozen=True, slots=True)
class Looked:
    """All revert tests of a round; not ``done`` while some of them may be missing."""

    tests: tuple[Tested, ...] = ()
    seconds: float = 0.0
    tripped: str | None = None
    done: bool = True

    @property
    def churn(self) -> bool:
        """Whether reverting a fix resolves something fresh."""
        return Answered.RESOLVES in self.answers.values()

    @property
    def suspected(self) -> bool:
        """Whether that could not be found out of something fresh at the scope of a fix."""
        return Answered.UNTESTED in self.answers.values()

    @property
    def answers(self) -> dict[tuple[str, str], Answered]:
        """What all strategies that raised a finding say together, by (finding, fix).

        The fix resolves it where none of them raises it any more, and does not where one of them still does.
        """
        said: dict[tuple[str, str], set[Answered]] = {}
        for test in self.tests:
            said.setdefault((test.finding, test.fix), set()).add(test.answer)
        order = (Answered.REMAINS, Answered.UNTESTED, Answered.RESOLVES)
        return {pair: next(answer for answer in order if answer in answers) for pair, answers in said.items()}


def look(campaign: Campaign, round: int) -> Looked:
    """Test what a judged round brought at the scopes of fixes and land the answers; done once a round.

    Raises ``Busy`` where another process is at it.
    """
    folder = campaign.folder(round)
    found = read(campaign, round)
    if found is not None and found.done:
        return found
    if journal.read_result(campaign, round) is not None:  # decided when no revert tests were made yet
        return Looked()
    with only_one(folder / ".reverting.lock", f"round {campaign.key(round)} is being tested by another process"):
        return _looked(campaign, round)


def read(campaign: Campaign, round: int) -> Looked | None:
    """Return what was landed of a round's revert tests, or None."""
    path = campaign.folder(round) / FILE
    if not path.exists():
        return None
    data = read_json(path)
    tests = tuple(
        Tested(
            **{
                **test,
                "answer": Answered(test["answer"]),
                "file": LandedFile(**test["file"]) if test["file"] else None,
            }
        )
        for test in data["tests"]
    )
    return Looked(tests, data["seconds"], data["tripped"], data["done"])


def events(campaign: Campaign, round: int) -> list[Event]:
    """Return what has to be logged of a round's revert tests; what a script answered was no test."""
    found = read(campaign, round)
    if found is None or isinstance(campaign.declaration.sweep.material, ScriptedMaterial):
        return []
    # What one strategy said and another overruled is in the file, and no answer.
    telling = [test for test in found.tests if test.answer is found.answers[test.finding, test.fix]]
    tested = [_tested(round, test) for test in telling if test.answer is not Answered.UNTESTED]
    return [*_first(tested), *_first(_suspected(round, telling))]


def _tested(round: int, test: Tested) -> Event:
    evidence = f"sha256:{test.file.sha256}" if test.file else None
    return Event("revert_tested", round, test.finding, test.strategy, test.reason, evidence)


def _suspected(round: int, tests: Iterable[Tested]) -> list[Event]:
    """Return one event a finding, however many fixes may have caused it."""
    reasons: dict[str, str] = {}
    for test in tests:
        if test.answer is Answered.UNTESTED:
            reasons.setdefault(test.finding, test.reason)
    return [Event("churn_suspected", round, fp, reason=reason) for fp, reason in reasons.items()]


def _first(logged: list[Event]) -> list[Event]:
    """Return as many events as anybody reads, and how many there are beside them."""
    kept, left = logged[:_MOST_EVENTS], len(logged) - _MOST_EVENTS
    return [*kept, replace(kept[-1], fp=None, reason=f"and {left} more", evidence=None)] if left > 0 else kept


def _looked(campaign: Campaign, round: int) -> Looked:
    began = time.monotonic()
    found = read(campaign, round) or Looked(done=False)
    if found.done:  # by the process that held the lock before
        return found
    pairs = _pairs(campaign, round, {(test.finding, test.fix, test.strategy) for test in found.tests})
    before = found.seconds
    for tests, tripped in _answers(campaign, round, pairs, found.tests):
        seconds = before + time.monotonic() - began
        found = Looked((*found.tests, *tests), seconds, tripped or found.tripped, done=False)
        _land(campaign, round, found)
    found = replace(found, done=True)
    _land(campaign, round, found)
    return found


def _land(campaign: Campaign, round: int, found: Looked) -> None:
    write_json(campaign.folder(round) / FILE, {"schema_version": SCHEMA_VERSION, **asdict(found)})


def _pairs(campaign: Campaign, round: int, known: set[tuple[str, str, str]]) -> list[AtAFix]:
    landed = journal.read_landed(campaign, round)
    # What somebody sees who did not look then is new to us and not to the material, so that no fix brought it.
    if landed is None or not landed.fresh or campaign.looked_again is not None:
        return []
    with open_ledger(campaign.home.ledger) as ledger:
        if not has_fixes(ledger):
            return []
        files = landing.readable(campaign.folder(round))
        pairs = at_fixes(ledger, files, landed.fresh, campaign.place(round), snapshot_round(campaign, round))
    return [pair for pair in pairs if (str(pair.finding), str(pair.fix), pair.strategy) not in known]


def _answers(
    campaign: Campaign, round: int, pairs: Sequence[AtAFix], before: Sequence[Tested]
) -> Iterator[tuple[list[Tested], str | None]]:
    """Yield what is said of pairs, those of one test at a time, and the ceiling that tripped."""
    if not pairs:
        return
    labels = _labels(campaign, pairs)
    manifest = landing.read_manifest(campaign.folder(round))
    runs = {run.strategy: run for run in manifest.runs} if manifest else {}
    material = campaign.declaration.sweep.material
    if isinstance(material, ScriptedMaterial):
        resolves = {(each.finding, each.fix) for each in material.reverts if each.after < round}
        yield [_scripted(pair, runs[pair.strategy], labels, resolves) for pair in pairs], None
        return
    trials = _Trials(campaign, round, runs, labels, _made(before))
    remain = _remaining(before)
    for group in _sharing(pairs):
        # One strategy that still raises a finding is enough, so no other is asked about it.
        tests = trials.of([pair for pair in group if (str(pair.finding), str(pair.fix)) not in remain])
        remain |= _remaining(tests)
        yield tests, trials.budget.tripped


def _remaining(tests: Iterable[Tested]) -> set[tuple[str, str]]:
    return {(test.finding, test.fix) for test in tests if test.answer is Answered.REMAINS}


def _made(tests: Iterable[Tested]) -> int:
    """Return the highest number of a test that left a file; the next takes a later one."""
    return max((int(Path(test.file.name).stem.rpartition("-")[2]) for test in tests if test.file), default=0)


def _scripted(pair: AtAFix, run: StrategyRun, labels: dict[str, str], resolves: set[tuple[str, str]]) -> Tested:
    named = fingerprint.label(pair.identity), labels[str(pair.fix)]
    answer = Answered.RESOLVES if named in resolves else Answered.REMAINS
    return _of(pair, run, answer, "scripted")


def _sharing(pairs: Iterable[AtAFix]) -> list[list[AtAFix]]:
    """Return pairs together that one test answers: the same fix looked for by the same strategy."""
    groups: dict[tuple[str | None, str], list[AtAFix]] = {}
    for pair in pairs:
        groups.setdefault((pair.revision, pair.strategy), []).append(pair)
    return list(groups.values())


def _labels(campaign: Campaign, pairs: Iterable[AtAFix]) -> dict[str, str]:
    """Return what fixed findings are called."""
    fps = sorted({str(pair.fix) for pair in pairs})
    with history(campaign.home.home) as connection:
        found = rows(connection, _LABELS, {"sweep": campaign.home.name, "fps": fps})
    return {fp: fp for fp in fps} | {row["fp"]: row["label"] for row in found}


def _of(pair: AtAFix, run: StrategyRun, answer: Answered, reason: str, reverted: Reverted | None = None) -> Tested:
    return Tested(
        str(pair.finding),
        str(pair.fix),
        pair.scope,
        pair.revision,
        pair.strategy,
        run.angle,
        run.seed,
        answer,
        reason,
        reverted.snapshot if reverted else None,
        reverted.file if reverted else None,
    )


class _Trials:
    """The revert tests of one round, sharing its budget and a bound on how many there are."""

    def __init__(
        self, campaign: Campaign, round: int, runs: dict[str, StrategyRun], labels: dict[str, str], made: int
    ) -> None:
        self.campaign, self.round, self.runs, self.labels, self.made = campaign, round, runs, labels, made
        self.strategies = {strategy.name: strategy for strategy in campaign.declaration.sweep.strategies}
        self.budget: Budget = budget_of(campaign, round)
        self._bench: Bench | MaterialError | None = None

    def of(self, pairs: Sequence[AtAFix]) -> list[Tested]:
        """Return what one test says of the pairs that share it; of a fix that cannot be in the material, nothing."""
        if not pairs:
            return []
        try:
            bench = self._on_what()
            fix = bench.fix(pairs[0].revision)
            is_there = bench.has(fix)
        except MaterialError as error:
            return [self._untested(pair, error.what) for pair in pairs if pair.before]
        if not is_there:
            return [self._elsewhere(pair, bench.revision) for pair in pairs]
        try:
            bench.check_clean()
            reverted = self._search(bench, pairs[0].strategy, fix)
        except DrysweepError as error:
            return [self._untested(pair, error.what) for pair in pairs]
        except Exception as error:  # a finder's own bug leaves the test without an answer, as it would a wave
            return [self._untested(pair, repr(error)) for pair in pairs]
        still = raised(self.campaign.folder(self.round) / reverted.file.name)
        return [self._compared(pair, still, reverted) for pair in pairs]

    def _on_what(self) -> Bench:
        """Return what the tests work on, or raise why there is nothing; looked at once."""
        if self._bench is None:
            try:
                self._bench = Bench(self.campaign, self.round)
            except MaterialError as error:
                self._bench = error
        if isinstance(self._bench, MaterialError):
            raise self._bench
        return self._bench

    def _search(self, bench: Bench, strategy: str, fix: Fix) -> Reverted:
        if self.made >= MOST_TESTS:
            raise Refused(f"{MOST_TESTS} revert tests were made in this round, and no more are")
        run = self.runs[strategy]
        self.made += 1
        path = self.campaign.folder(self.round) / f"reverted-{self.made:03d}.parquet"
        look = Look(strategy, run.angle, run.angle_index, run.seed)
        return bench.search(self.budget, self.strategies[strategy], look, fix, path)

    def _elsewhere(self, pair: AtAFix, revision: str) -> Tested:
        """Return what is said where the commit is not in the history: a fix that was picked or squashed has another."""
        if not pair.before:
            return self._said(pair, Answered.REMAINS, "no: {fix} is not in this material")
        history = f"its commit is not in the history of {revision[:12]}"
        return self._untested(pair, f"{history}; it may be there as another commit")

    def _compared(self, pair: AtAFix, still: frozenset[str], reverted: Reverted) -> Tested:
        if str(pair.finding) in still:
            return self._said(pair, Answered.REMAINS, "no: it remains when {fix} is reverted", reverted)
        return self._said(pair, Answered.RESOLVES, "yes: it goes away when {fix} is reverted", reverted)

    def _untested(self, pair: AtAFix, why: str) -> Tested:
        return self._said(pair, Answered.UNTESTED, "{fix} has the same scope and could not be reverted: " + why)

    def _said(self, pair: AtAFix, answer: Answered, reason: str, reverted: Reverted | None = None) -> Tested:
        at = f" ({pair.revision})" if pair.revision else ""
        named = reason.replace("{fix}", f"the fix of {self.labels[str(pair.fix)]}{at}", 1)
        return _of(pair, self.runs[pair.strategy], answer, redactor_of(self.campaign).text(named), reverted)

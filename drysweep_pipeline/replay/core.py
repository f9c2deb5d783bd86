"""Replay through the pure core: the rules over a ledger of dictionaries. No database, no files, no clock.

It keeps what the real ledger keeps and asks the same functions, so that a scenario which comes out differently in
``pipeline`` points at the ledger, the landing or the state file. What the rules are is not known here.
"""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from typing import Any
from uuid import UUID

from drysweep_pipeline import fingerprint
from drysweep_pipeline.budget import Budget, Ceilings
from drysweep_pipeline.candidates import unfit
from drysweep_pipeline.convergence import Policy, RoundResult, Standing, after_answer, after_round
from drysweep_pipeline.errors import NotFound, Refused
from drysweep_pipeline.lifecycle import Deed, blocks, event_of, expired, moved
from drysweep_pipeline.replay import answer, scripted
from drysweep_pipeline.replay.answer import Told
from drysweep_pipeline.replay.scenario import Action, RevertResolves, Scenario, ScriptedCampaign, ScriptedRound
from drysweep_pipeline.values import ONE_CALL, Event, Place, Rule, Severity, State, Verdict, status


@dataclass(slots=True)
class _Finding:
    """What the ledger knows of a finding: its first place, its newest sighting, its verdict and its life."""

    label: str
    first: Place
    severity: Severity
    scope: str
    verdict: Verdict = Verdict.NONE
    state: State = State.OPEN
    moved_at: Place | None = None
    moved_scope: str | None = None
    expires: date | None = None

    def move(self, state: State, at: Place, scope: str | None = None, expires: date | None = None) -> None:
        self.state, self.moved_at, self.moved_scope, self.expires = state, at, scope, expires


@dataclass(slots=True)
class _Ledger:
    """All findings of a scenario, whichever campaign sighted them, and what revert tests answer."""

    findings: dict[UUID, _Finding] = field(default_factory=dict)
    resolves: set[tuple[str, str]] = field(default_factory=set)

    def in_state(self, state: State) -> list[tuple[UUID, _Finding]]:
        return sorted((fp, found) for fp, found in self.findings.items() if found.state is state)


@dataclass(frozen=True, slots=True)
class _Sighted:
    """One finding as a round raised it: the worst severity, where, and every scope it was given."""

    label: str
    severity: Severity
    scope: str
    scopes: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Wave:
    """What the finders of a round brought, and why some of them count as not run."""

    sighted: dict[UUID, _Sighted]
    not_run: dict[str, str]


def replay(scenario: Scenario) -> list[dict[str, Any]]:
    """Play every campaign of a scenario in order and return an answer for each.

    Raises ``Refused``, naming file and line, where the rules do not allow what somebody did.
    """
    ledger = _Ledger()
    return [_played(scenario, campaign, seq, ledger) for seq, campaign in enumerate(scenario.campaigns, start=1)]


def _played(scenario: Scenario, campaign: ScriptedCampaign, seq: int, ledger: _Ledger) -> dict[str, Any]:
    play = _Campaign(scenario, campaign, seq, ledger)
    while play.standing.due is not None and play.standing.due <= len(campaign.rounds):
        play.round(campaign.rounds[play.standing.due - 1])
    return answer.compared(answer.answer(scenario.path.stem, play.told()), campaign.expect)


class _Campaign:
    """One campaign while it is played."""

    def __init__(self, scenario: Scenario, scripted_campaign: ScriptedCampaign, seq: int, ledger: _Ledger) -> None:
        rule = scenario.convergence
        self.scenario, self.script, self.seq, self.ledger = scenario, scripted_campaign, seq, ledger
        self.policy = Policy(rule.rule, rule.k, scenario.on_exceeded, scenario.turns, rule.cover, rule.suspected_churn)
        first = len(scripted_campaign.rounds[0].finders)
        self.standing = Standing(Ceilings(scenario.budget.rounds, scenario.budget.calls), price=first)
        self.sighted: set[UUID] = set()
        self.ran: list[set[str]] = []
        self.new: list[int] = []
        self.events: list[Event] = []

    def round(self, scripted_round: ScriptedRound) -> None:
        """Play one round and what people did after it was decided."""
        self._decide(scripted_round)
        for action in scripted_round.after:
            with scripted.at_its_line(self.scenario, action):
                self._after(action)

    def told(self) -> Told:
        """Return what the campaign came to."""
        named = sorted((found.label, str(fp)) for fp, found in self.ledger.findings.items() if fp in self.sighted)
        mine = [self.ledger.findings[UUID(fp)] for _, fp in named]
        names = fingerprint.told_apart(named)
        return Told(
            f"c{self.seq}",
            self.script.as_of,
            self.standing,
            self.policy.k,
            self.new,
            [found.verdict for found in mine],
            {name: status(found.verdict, found.state) for name, found in zip(names, mine, strict=True)},
            len(self.ledger.findings),
            self.events,
        )

    def _place(self, number: int) -> Place:
        return Place(self.script.as_of, self.seq, number)

    def _decide(self, scripted_round: ScriptedRound) -> None:
        """Search, take in, judge and decide, in that order (R1, R6)."""
        number = self.standing.rounds + 1
        free = number <= self.standing.free_until
        budget = Budget(None if free else self.standing.ceilings, self.standing.spent)
        wave = _searched(scripted_round, self.scenario.fingerprint, budget)
        self.ran.append(set(scripted_round.finders) - set(wave.not_run))
        fresh = self._take_in(wave, self._place(number))
        reopened = self._move_lives(wave, self._place(number))
        self._judge(wave, scripted_round.verdicts, budget)
        result = RoundResult(
            round=number,
            asked=frozenset(scripted_round.finders),
            not_run=frozenset(wave.not_run),
            fresh=len(fresh),
            reopened=reopened,
            blocking=self._blocking(wave),
            spent=self.standing.spent.plus(budget.used),
            price=len(scripted_round.finders),
            churn=self._churns(wave, fresh),
            tripped=budget.tripped,
            covered=self._covered(),
        )
        self.standing, logged = after_round(self.standing, self.policy, result)
        self.events += logged

    def _take_in(self, wave: _Wave, place: Place) -> set[UUID]:
        """Take a wave into the ledger and return what was fresh: not sighted at an earlier place (R2)."""
        fresh = set()
        for fp, sighted in wave.sighted.items():
            known = self.ledger.findings.get(fp)
            if known is None:
                known = _Finding(sighted.label, place, sighted.severity, sighted.scope)
                self.ledger.findings[fp] = known
            if known.first >= place:
                known.first = place
                fresh.add(fp)
            known.severity, known.scope = sighted.severity, sighted.scope
        self.sighted |= set(wave.sighted)
        self.new.append(len(fresh))
        return fresh

    def _move_lives(self, wave: _Wave, place: Place) -> int:
        """Expire accepted risks and reopen fixed findings, log it in order, and count the reopened ones."""
        for fp, found in self.ledger.in_state(State.ACCEPTED_RISK):
            if expired(found.expires, self.script.as_of.date()):
                found.move(State.OPEN, place)
                self.events.append(Event("acceptance_expired", place.round, str(fp)))
        self.events += [
            Event("finder_not_run", place.round, actor=name, reason=why) for name, why in sorted(wave.not_run.items())
        ]
        # All rounds of a dry campaign read the snapshot that was taken before its first round (R10, R16).
        snapshot = self._place(0) if self.policy.rule is Rule.DRY else place
        reopened = [
            (fp, found)
            for fp, found in self.ledger.in_state(State.FIXED)
            if fp in wave.sighted and found.moved_at is not None and found.moved_at < snapshot
        ]
        for fp, found in reopened:
            found.move(State.REOPENED, place)
            self.events.append(Event("finding_reopened", place.round, str(fp)))
        return len(reopened)

    def _judge(self, wave: _Wave, verdicts: dict[str, Verdict], budget: Budget) -> None:
        """Judge by severity, then fingerprint, as far as the calls go; what is left is undecided (R8)."""
        for _, found in sorted(self._pending(wave), key=lambda pair: (pair[1].severity.rank, pair[0])):
            reservation = budget.reserve(ONE_CALL, "judge")
            found.verdict = Verdict.UNDECIDED
            if reservation is not None:
                budget.settle(reservation, ONE_CALL)
                found.verdict = verdicts.get(found.label, Verdict.CONFIRMED)

    def _pending(self, wave: _Wave) -> Iterable[tuple[UUID, _Finding]]:
        findings = self.ledger.findings
        unjudged = {fp for fp in wave.sighted if findings[fp].verdict is Verdict.NONE}
        undecided = {fp for fp in self.sighted if findings[fp].verdict is Verdict.UNDECIDED}
        return [(fp, findings[fp]) for fp in unjudged | undecided]

    def _blocking(self, wave: _Wave) -> int:
        findings, severities = self.ledger.findings, self.scenario.convergence.blocking
        return sum(
            blocks(findings[fp].verdict, findings[fp].state, sighted.severity, severities)
            for fp, sighted in wave.sighted.items()
        )

    def _churns(self, wave: _Wave, fresh: set[UUID]) -> bool:
        """Tell whether something fresh at the scope of a fix would go away if that fix were reverted (R11)."""
        return any(
            fixed.moved_scope in wave.sighted[fp].scopes
            and (wave.sighted[fp].label, fixed.label) in self.ledger.resolves
            for fix, fixed in self.ledger.in_state(State.FIXED)
            for fp in fresh - {fix}
        )

    def _covered(self) -> bool:
        """Tell whether every finder of the campaign ran to its end on the snapshot of this round."""
        same_snapshot = self.ran if self.policy.rule is Rule.DRY else self.ran[-1:]
        return {name for each in self.script.rounds for name in each.finders} == set().union(*same_snapshot)

    def _after(self, action: Action) -> None:
        """Apply what somebody did. Raises ``Refused`` where the rules do not allow it."""
        said, done = scripted.said(action), scripted.done(action)
        if isinstance(action, RevertResolves):
            self.ledger.resolves.add(scripted.resolved(action))
        if said is not None:
            self.standing, logged = after_answer(self.standing, said)
            self.events += logged
        if done is not None:
            self._act(*done)

    def _act(self, label: str, deed: Deed) -> None:
        fp, found = self._named(label)
        before = found.state
        found.verdict, state = moved(found.verdict, before, found.severity, deed)
        if state is not found.state:
            found.move(state, self._place(self.standing.rounds), found.scope, deed.expires)
        name = event_of(deed.act, before)
        event = Event(name, self.standing.rounds, str(fp), deed.by, deed.reason, deed.evidence, expires=deed.expires)
        self.events.append(event)

    def _named(self, label: str) -> tuple[UUID, _Finding]:
        wanted = unicodedata.normalize("NFC", label)
        named = [(fp, found) for fp, found in self.ledger.findings.items() if found.label == wanted]
        if not named:
            raise NotFound("finding", label, sorted(found.label for found in self.ledger.findings.values()))
        if len(named) > 1:
            raise Refused(f"{label!r} names several findings", help="name the one that is meant by its fingerprint")
        return named[0]


def _searched(scripted_round: ScriptedRound, fields: tuple[str, ...], budget: Budget) -> _Wave:
    """Ask every finder of a round, one call each, and merge what they report, the worst severity first."""
    not_run: dict[str, str] = {}
    raised: dict[UUID, list[_Sighted]] = {}
    for name, entry in sorted(scripted_round.finders.items()):
        reservation = budget.reserve(ONE_CALL, name)
        if reservation is None:
            not_run[name] = f"ceiling: {budget.tripped}"
            continue
        budget.settle(reservation, ONE_CALL)
        if isinstance(entry, str):
            not_run[name] = "scripted: not_run"
            continue
        _raise(entry, fields, name, raised, not_run)
    return _Wave({fp: _merged(sightings) for fp, sightings in raised.items()}, not_run)


def _raise(
    rows: Iterable[dict[str, Any]],
    fields: tuple[str, ...],
    finder: str,
    raised: dict[UUID, list[_Sighted]],
    not_run: dict[str, str],
) -> None:
    """Add a finder's rows; one that cannot be taken in or lacks an identity is refused, the others are kept (R5)."""
    for row in rows:
        if (why := unfit(row, fields)) is not None:
            not_run[finder] = why
            continue
        try:
            identity = fingerprint.identity([_given(row, name) for name in fields])
        except ValueError as error:
            not_run[finder] = f"missing_field: {error}"
            continue
        scopes = (row.get("scope"), row.get("subject"), row[fields[0]])
        scope = next(str(given) for given in scopes if given is not None)
        severity = Severity(row.get("severity", Severity.MAJOR))
        sighted = _Sighted(fingerprint.label(identity), severity, scope, frozenset({scope}))
        raised.setdefault(fingerprint.of_identity(identity), []).append(sighted)


def _given(row: dict[str, Any], name: str) -> fingerprint.Field:
    value = row.get(name)
    if value is None:
        raise ValueError(name)
    return value if isinstance(value, str | int | float | bool) else str(value)


def _merged(sightings: list[_Sighted]) -> _Sighted:
    worst = min(sightings, key=lambda each: each.severity.rank)
    scopes = frozenset().union(*(each.scopes for each in sightings))
    return _Sighted(worst.label, worst.severity, worst.scope, scopes)

"""When a search has gone quiet, and why a campaign stands where it stands: pure functions over values.

``after_round`` and ``after_answer`` fold a campaign's journal, one decided round or one person's answer at a
time, into a ``Standing``. No clock, no database, no randomness: the same journal gives the same standing. The
rules are R3-R7 and R11-R13 of docs/rules.md; which findings were fresh is intake's business.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from drysweep_pipeline.budget import Ceilings, Spent, tripped_by
from drysweep_pipeline.errors import Refused
from drysweep_pipeline.values import Event, Outcome, Rule, Usage, is_name

NOT_RUN_LIMIT = 3
CEILINGS = ("rounds", "calls", "tokens", "cost_usd", "minutes")
CONVERGED_AT = "convergence_reached"
SCHEDULE, SUPERSEDED = "schedule", "superseded"
"""Who stops a campaign, and why, where the next one of its schedule takes its place."""
ENDED = (Outcome.CONVERGED, Outcome.ACCEPTED, Outcome.RETURNED)


@dataclass(frozen=True, slots=True)
class Policy:
    """What a campaign agreed to before it started."""

    rule: Rule
    k: int
    on_exceeded: Literal["stop", "ask"] | str = "stop"
    turns: Literal["auto", "manual"] | str = "auto"
    cover: Literal["none", "all_angles"] | str = "none"
    suspected_churn: Literal["log", "ask"] | str = "log"
    beyond: int = 0
    """How many rounds are looked on after K quiet ones, to know what K missed."""


@dataclass(frozen=True, slots=True)
class RoundResult:
    """What a round brought, as far as the decision looks at it.

    ``blocking`` counts findings raised in the round that are blocking and unsettled; ``spent`` is the campaign's
    total after the round; ``price`` is what the finders of the next round cost in calls. ``churn``: reverting an
    applied fix resolves something fresh; ``suspected``: that could not be tested where it may be so (R11).
    """

    round: int
    asked: frozenset[str]
    not_run: frozenset[str]
    fresh: int
    reopened: int
    blocking: int
    spent: Spent
    price: int
    churn: bool = False
    suspected: bool = False
    tripped: str | None = None
    repeat: bool = False
    covered: bool = True

    @property
    def complete(self) -> bool:
        """A round in which every strategy ran; one in which nothing was asked is no round of silence."""
        return bool(self.asked) and not self.not_run


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a campaign stands: the outcome, why, and what the next decision needs to remember."""

    ceilings: Ceilings
    outcome: Outcome = Outcome.RUNNING
    reason: str | None = None
    rounds: int = 0
    quiet: int = 0
    repeats: int = 0
    down: Mapping[str, int] = field(default_factory=dict)
    free_until: int = 0
    spent: Spent = field(default_factory=Spent)
    price: int = 0
    converged_at: int | None = None
    """The round that converged, in a campaign that looks on beyond it; None until then, and in all others."""

    @property
    def due(self) -> int | None:
        """The round that runs next, or None."""
        return self.rounds + 1 if self.outcome is Outcome.RUNNING else None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person said to a campaign: accept, continue, redraft, go, stop or resume."""

    kind: Literal["accept", "continue", "redraft", "go", "stop", "resume"]
    by: str
    reason: str | None = None
    rounds: int | None = None
    calls: int | None = None


def is_quiet(rule: Rule, result: RoundResult) -> bool:
    """Tell whether a round counts toward K: complete, and nothing new (dry) or nothing blocking (clean)."""
    if not result.complete:
        return False
    if rule is Rule.DRY:
        return result.fresh == 0 and result.reopened == 0
    return result.blocking == 0


def after_round(standing: Standing, policy: Policy, result: RoundResult) -> tuple[Standing, list[Event]]:
    """Return the standing after a round, and what has to be logged. The round must be the one that was due."""
    if result.round != standing.due:
        raise Refused(f"round {result.round} was not due, {standing.due} is")
    down = {n: standing.down.get(n, 0) + 1 for n in result.asked & result.not_run}
    counted = replace(standing, rounds=result.round, down=down, spent=result.spent, price=result.price)
    if standing.converged_at is not None:
        return _looked_on(counted, policy, result)
    quiet = is_quiet(policy.rule, result)
    counted = replace(
        counted,
        quiet=standing.quiet + 1 if quiet else 0,
        repeats=standing.repeats + int(result.repeat) if quiet else 0,
    )
    return _decided(counted, policy, result)


def _decided(standing: Standing, policy: Policy, result: RoundResult) -> tuple[Standing, list[Event]]:
    """Look in the fixed order: converged, failed, churn, ceilings, turn (R13)."""
    if standing.quiet >= policy.k and (policy.cover == "none" or result.covered):
        if policy.beyond:
            return _looks_on(standing, policy, result)
        return replace(standing, outcome=Outcome.CONVERGED), []
    if any(times >= NOT_RUN_LIMIT for times in standing.down.values()):
        down = ", ".join(sorted(n for n, times in standing.down.items() if times >= NOT_RUN_LIMIT))
        failed = replace(standing, outcome=Outcome.FAILED, reason="not_run")
        return failed, [Event("campaign_failed", standing.rounds, reason=f"not_run: {down}")]
    if result.churn:
        return _waiting(standing, "churn", [Event("churn_detected", standing.rounds)])
    if result.suspected and policy.suspected_churn == "ask":
        return _waiting(standing, "churn", [])
    ceiling = exceeded(standing, result.tripped)
    if ceiling is not None:
        return _capped(standing, policy, ceiling)
    if policy.turns == "manual":
        return _waiting(standing, "turn", [])
    return standing, []


def _looks_on(standing: Standing, policy: Policy, result: RoundResult) -> tuple[Standing, list[Event]]:
    """Note that a campaign converged and looks on: whatever that brings, it has converged."""
    said = Event(CONVERGED_AT, standing.rounds, reason=f"K={policy.k}; {policy.beyond} more are looked beyond it")
    after, events = _looked_on(replace(standing, converged_at=standing.rounds), policy, result)
    return after, [said, *events]


def _looked_on(standing: Standing, policy: Policy, result: RoundResult) -> tuple[Standing, list[Event]]:
    """End with the rounds that were asked for, or before them at a ceiling or where a strategy keeps failing."""
    ended = replace(standing, outcome=Outcome.CONVERGED)
    if standing.rounds - (standing.converged_at or 0) >= policy.beyond:
        return ended, []
    why = exceeded(standing, result.tripped)
    if why is None and any(times >= NOT_RUN_LIMIT for times in standing.down.values()):
        why = "not_run"
    return (standing, []) if why is None else (ended, [Event("beyond_cut_short", standing.rounds, reason=why)])


def exceeded(standing: Standing, tripped: str | None = None) -> str | None:
    """Return the ceiling that forbids the next round, or None; None too while a person's ``continue`` holds.

    A ceiling that tripped inside the last round comes first, else rounds, else the one the next round would break.
    """
    if standing.rounds < standing.free_until:
        return None
    if tripped is not None:
        return tripped
    if standing.rounds >= standing.ceilings.rounds:
        return "rounds"
    return tripped_by(standing.ceilings, standing.spent, Usage(calls=standing.price))


def _capped(standing: Standing, policy: Policy, ceiling: str) -> tuple[Standing, list[Event]]:
    logged = [Event("budget_exceeded", standing.rounds, reason=ceiling)]
    if policy.on_exceeded == "ask":
        return _waiting(standing, ceiling, logged)
    return replace(standing, outcome=Outcome.BUDGET_EXCEEDED, reason=ceiling), logged


def _waiting(standing: Standing, reason: str, logged: list[Event]) -> tuple[Standing, list[Event]]:
    asked = Event("decision_requested", standing.rounds, reason=reason)
    return replace(standing, outcome=Outcome.NEEDS_DECISION, reason=reason), [*logged, asked]


def after_answer(standing: Standing, answer: Answer) -> tuple[Standing, list[Event]]:
    """Return the standing after a person's answer, and what to log. Raises ``Refused`` where nothing was asked."""
    if not is_name(answer.by):
        raise Refused("a decision needs the name of the person who took it", key="by")
    return _ANSWERS[answer.kind](standing, answer), [event_of(answer, standing.rounds)]


def event_of(answer: Answer, rounds: int) -> Event:
    """Return what is logged of an answer given after so many rounds."""
    name = _LOGGED.get(answer.kind, f"decision_{answer.kind}")
    return Event(name, rounds, actor=answer.by, reason=answer.reason)


def _accept(standing: Standing, answer: Answer) -> Standing:
    return replace(_asked(standing, answer), outcome=Outcome.ACCEPTED)


def _redraft(standing: Standing, answer: Answer) -> Standing:
    return replace(_asked(standing, answer), outcome=Outcome.RETURNED)


def _continue(standing: Standing, answer: Answer) -> Standing:
    _asked(standing, answer)
    if answer.rounds is None or answer.rounds < 1:
        raise Refused("continue needs a number of rounds, 1 or more", key="decide")
    return replace(standing, outcome=Outcome.RUNNING, reason=None, free_until=standing.rounds + answer.rounds)


def _asked(standing: Standing, answer: Answer) -> Standing:
    if standing.outcome is not Outcome.NEEDS_DECISION:
        raise Refused(
            f"decide {answer.kind}: the campaign is {standing.outcome} and waits for no decision",
            key="decide",
        )
    return standing


def _go(standing: Standing, answer: Answer) -> Standing:
    if standing.outcome is not Outcome.NEEDS_DECISION or standing.reason != "turn":
        raise Refused(f"go: the campaign is {standing.outcome} and waits for no go-ahead", key="go")
    return replace(standing, outcome=Outcome.RUNNING, reason=None)


def _stop(standing: Standing, answer: Answer) -> Standing:
    if standing.outcome not in (Outcome.RUNNING, Outcome.NEEDS_DECISION):
        raise Refused(f"stop: the campaign has ended already, as {standing.outcome}", key="stop")
    if standing.converged_at is not None:
        return replace(standing, outcome=Outcome.CONVERGED)
    return replace(standing, outcome=Outcome.STOPPED, reason=None)


def _resume(standing: Standing, answer: Answer) -> Standing:
    if standing.outcome in ENDED:
        raise Refused(f"resume: the campaign has ended as {standing.outcome}; start another", key="resume")
    if standing.outcome is Outcome.NEEDS_DECISION and standing.reason not in CEILINGS:
        raise Refused(f"resume: the campaign waits for a person ({standing.reason})", key="resume")
    wider = replace(standing, ceilings=standing.ceilings.widened(answer.rounds, answer.calls), down={})
    ceiling = exceeded(wider)
    if ceiling is not None and standing.outcome is not Outcome.RUNNING:
        raise Refused(f"resume: {_still(wider, ceiling)}", key=ceiling)
    return replace(wider, outcome=Outcome.RUNNING, reason=None)


def _still(standing: Standing, ceiling: str) -> str:
    if ceiling == "rounds":
        due = standing.rounds + 1
        return f"the ceiling on rounds still forbids round {due}; raise it to {due} or more"
    if ceiling == "calls":
        need = standing.spent.calls + standing.price
        return f"the ceiling on calls still forbids the next round; raise it to {need} or more"
    return f"the ceiling on {ceiling} still forbids the next round"


_LOGGED = {"stop": "campaign_stopped", "resume": "campaign_resumed"}
_ANSWERS = {
    "accept": _accept,
    "continue": _continue,
    "redraft": _redraft,
    "go": _go,
    "stop": _stop,
    "resume": _resume,
}

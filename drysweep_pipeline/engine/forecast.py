"""What a campaign would do, and may take at most, worked out before there is one: nothing is asked and nothing written.

How much a search finds nobody knows, and each finding may be judged; so the bound on all calls is the ceiling, wherever
there is a judge or a revert test. What searching takes is known: each strategy is asked at least once a round, and at
most as often as its attempts and retries allow.
"""

import math
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from drysweep_pipeline.budget import Ceilings
from drysweep_pipeline.children.confinement import isolation_of
from drysweep_pipeline.convergence import CEILINGS
from drysweep_pipeline.declaration import Declaration
from drysweep_pipeline.declaration.model import FilesMaterial, NoJudge, Strategy
from drysweep_pipeline.declaration.model.sweep import models_of
from drysweep_pipeline.engine.attempts import MOST
from drysweep_pipeline.engine.campaign import Overrides
from drysweep_pipeline.engine.starting import id_of, offset_of_next
from drysweep_pipeline.engine.wave import PARALLEL
from drysweep_pipeline.errors import Refused
from drysweep_pipeline.home import Home
from drysweep_pipeline.values import Usage
from drysweep_pipeline.variation import Look, look

_SHOWN_ROUNDS = 5
# What these report beyond what is declared of a call counts, and may pass a ceiling.
_REPORTING = ("command", "python", "http")


@dataclass(frozen=True, slots=True)
class Asked:
    """How a strategy is asked in each round: ``least`` where nothing goes wrong, ``most`` where everything does."""

    strategy: str
    kind: str
    isolation: str
    angles: int
    least: Usage
    most: Usage
    seconds: float


@dataclass(frozen=True, slots=True)
class AskedJudge:
    """How a judge is asked about each finding, by all members of its panel; ``fit``: so many findings fit in the calls.

    They fit where all rounds run and nothing is asked twice; there may be more findings, which stay undecided.
    """

    kind: str
    panel: int
    least: Usage
    most: Usage
    fit: int


@dataclass(frozen=True, slots=True)
class Trip:
    """The ceiling that ends a campaign first, and the round that it ends it in or after."""

    ceiling: str
    round: int


@dataclass(frozen=True, slots=True)
class Beyond:
    """So many rounds beyond convergence, the earliest round that they end in, and what searching all of them takes.

    They are under the same ceilings as all others, so that no bound on the whole campaign grows with them.
    """

    rounds: int
    earliest: int
    least: Usage
    most: Usage


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a campaign would do. ``at_most`` has None for what has no bound that is known.

    ``rounds``: what is asked in the first ones. ``earliest``: the first round that it can converge in. ``past``: the
    rounds beyond that one, None where none are asked for.
    """

    sweep: str
    campaign: str
    as_of: datetime
    rule: str
    k: int
    cover: str
    earliest: int
    past: Beyond | None
    strategies: tuple[Asked, ...]
    judge: AskedJudge | None
    rounds: tuple[tuple[Look, ...], ...]
    ceilings: Ceilings
    on_exceeded: str
    at_most: dict[str, float | None]
    trips: tuple[Trip, Trip]
    """The ceiling that ends it first: where nothing goes wrong nor is judged, and where everything is asked again."""
    warnings: tuple[str, ...] = field(default=())

    @property
    def keeping(self) -> tuple[str, ...]:
        """Who says itself what it used: ``at_most`` holds if they keep to what is declared of each call."""
        names = tuple(each.strategy for each in self.strategies if each.kind in _REPORTING)
        return (*names, "the judge") if self.judge is not None and self.judge.kind in _REPORTING else names

    @property
    def least(self) -> Usage:
        """What searching one round takes at least."""
        return sum((each.least for each in self.strategies), Usage())

    @property
    def most(self) -> Usage:
        """What searching one round takes at most."""
        return sum((each.most for each in self.strategies), Usage())


def forecast(
    home: Home, declaration: Declaration, as_of: datetime, overrides: Overrides, campaign: str | None = None
) -> Forecast:
    """Return what a campaign as of an instant would do, its angles going on where the sweep's last one stopped."""
    sweep = declaration.sweep
    place = home.sweep(sweep.name)
    name = id_of(place, campaign, as_of)
    declared = Ceilings(
        sweep.budget.rounds, sweep.budget.calls, sweep.budget.tokens, sweep.budget.cost_usd, sweep.budget.minutes
    )
    ceilings = declared.widened(overrides.rounds, overrides.calls)
    k = overrides.k or sweep.convergence.k
    strategies = tuple(_asked(strategy) for strategy in sweep.strategies)
    all_angles = max((len(strategy.angles) for strategy in sweep.strategies), default=0)
    earliest = max(k, all_angles) if sweep.convergence.cover == "all_angles" else k
    shown = range(1, min(ceilings.rounds, max(earliest, _SHOWN_ROUNDS)) + 1)
    offset = offset_of_next(place)
    looks = tuple(
        tuple(look(strategy, sweep.name, name, round, offset) for strategy in sweep.asked(round)) for round in shown
    )
    judge = _judge(declaration, strategies, ceilings)
    past = _beyond(overrides.past, earliest, strategies)
    return Forecast(
        sweep.name,
        name,
        as_of,
        sweep.convergence.rule.value,
        k,
        sweep.convergence.cover,
        earliest,
        past,
        strategies,
        judge,
        looks,
        ceilings,
        sweep.on_exceeded,
        _at_most(declaration, strategies, judge, ceilings),
        (_first(ceilings, strategies, wrong=False), _first(ceilings, strategies, wrong=True)),
        tuple(_warnings(ceilings, strategies, earliest, past)),
    )


def _asked(strategy: Strategy) -> Asked:
    try:
        isolation = isolation_of(strategy.kind)
    except Refused as error:
        isolation = error.what
    least, seconds = strategy.worst, MOST * strategy.timeout_s
    most = least.times(MOST * _requests(strategy))
    return Asked(strategy.name, strategy.kind, isolation, len(strategy.angles), least, most, seconds)


def _requests(who: Any) -> int:
    """Return how many requests one asking may take: those that fail on the way, and those whose answer is no good."""
    return (1 + getattr(who, "retries", 0)) * (1 + getattr(who, "reasks", 0))


def _judge(declaration: Declaration, strategies: tuple[Asked, ...], ceilings: Ceilings) -> AskedJudge | None:
    declared = declaration.sweep.judge
    if isinstance(declared, NoJudge):
        return None
    least = declared.worst.times(declared.panel)
    searching = ceilings.rounds * sum(each.least.calls for each in strategies)
    left = max(0, (ceilings.calls or 0) - searching)
    requests = max(map(_requests, (declared, *getattr(declared, "models", ()))))
    return AskedJudge(declared.kind, declared.panel, least, least.times(requests), left // max(least.calls, 1))


def _beyond(rounds: int | None, earliest: int, strategies: tuple[Asked, ...]) -> Beyond | None:
    if rounds is None:
        return None
    least, most = (sum((getattr(each, use) for each in strategies), Usage()) for use in ("least", "most"))
    return Beyond(rounds, earliest + rounds, least.times(rounds), most.times(rounds))


def _at_most(
    declaration: Declaration, strategies: tuple[Asked, ...], judge: AskedJudge | None, ceilings: Ceilings
) -> dict[str, float | None]:
    """Return what a campaign may take at most, as its ceilings and what is declared of each call bound it."""
    sweep, rounds = declaration.sweep, ceilings.rounds
    searching = sum((each.most for each in strategies), Usage()).times(rounds)
    known = judge is None and not isinstance(sweep.material, FilesMaterial)
    calls = searching.calls if known else math.inf
    # Whoever is asked beside the strategies is asked in what the ceiling leaves: the judge, and who tests a revert.
    others = [judge.least] if judge is not None else []
    others += [each.least for each in strategies] if not known else []
    each = [(use.tokens / max(use.calls, 1), use.cost_usd / max(use.calls, 1)) for use in others]
    beside = ceilings.calls or math.inf
    tokens = searching.tokens + _product(beside, max((tokens for tokens, _ in each), default=0))
    dollars = searching.cost_usd + _product(beside, max((dollars for _, dollars in each), default=0))
    priced = all(model.cost(1, 1) is not None for who in (*sweep.strategies, sweep.judge) for model in models_of(who))
    minutes = math.inf
    if known:
        # A ceiling on minutes ends no round that is under way.
        a_round = _minutes(strategies)
        minutes = min(rounds * a_round, math.inf if ceilings.minutes is None else ceilings.minutes + a_round)
    return {
        "rounds": rounds,
        "calls": _under(calls, ceilings.calls),
        "tokens": _under(tokens, ceilings.tokens),
        "cost_usd": _under(dollars if priced else math.inf, ceilings.cost_usd),
        "minutes": _under(minutes, None),
    }


def _minutes(strategies: tuple[Asked, ...]) -> float:
    """Return how long searching one round takes at most, by the limits that are declared."""
    turns = math.ceil(len(strategies) / PARALLEL)
    return turns * max((each.seconds for each in strategies), default=0.0) / 60


def _product(times: float, of: float) -> float:
    return times * of if of else 0.0


def _under(bound: float, ceiling: float | None) -> float | None:
    least = min(bound, math.inf if ceiling is None else ceiling)
    return None if math.isinf(least) else least


def _first(ceilings: Ceilings, strategies: tuple[Asked, ...], *, wrong: bool) -> Trip:
    """Return the ceiling that searching alone runs into first: asked once a round each, or as often as may be."""
    use = sum(((each.most if wrong else each.least) for each in strategies), Usage())
    a_round = {"calls": use.calls, "tokens": use.tokens, "cost_usd": use.cost_usd, "minutes": _minutes(strategies)}
    trips = [Trip("rounds", ceilings.rounds)]
    for name in CEILINGS[1:]:
        ceiling = getattr(ceilings, name)
        # What a call uses is known at its worst only, and how long it takes.
        known = name == "calls" or wrong
        if ceiling is not None and a_round[name] and known and ceiling < ceilings.rounds * a_round[name]:
            trips.append(Trip(name, int(ceiling // a_round[name]) + 1))
    return min(trips, key=lambda trip: (trip.round, trip.ceiling == "rounds"))


def _warnings(ceilings: Ceilings, strategies: tuple[Asked, ...], earliest: int, past: Beyond | None) -> list[str]:
    least = sum(each.least.calls for each in strategies)
    found = []
    if earliest > ceilings.rounds:
        found.append(
            f"it cannot converge: round {earliest} is the earliest, and the ceiling on rounds is {ceilings.rounds}"
        )
    if ceilings.calls is not None and earliest * least > ceilings.calls:
        found.append(
            f"it cannot converge: {earliest} rounds take {earliest * least} calls, and the ceiling is {ceilings.calls}"
        )
    if past is not None and not found and (why := _cut_short(ceilings, least, past)):
        found.append(f"it cannot look {past.rounds} rounds beyond its convergence: {why}")
    found += [
        f"{each.strategy} searches unconfined: it can read what was found"
        for each in strategies
        if each.isolation == "none"
    ]
    return found


def _cut_short(ceilings: Ceilings, least: int, past: Beyond) -> str | None:
    """Return the ceiling that leaves no room for all rounds beyond convergence, however early that is."""
    if past.earliest > ceilings.rounds:
        return f"they end in round {past.earliest} at the earliest, and the ceiling on rounds is {ceilings.rounds}"
    if ceilings.calls is not None and past.earliest * least > ceilings.calls:
        return f"{past.earliest} rounds take {past.earliest * least} calls, and the ceiling is {ceilings.calls}"
    return None

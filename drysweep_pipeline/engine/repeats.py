"""Whether a round looked along anything new, from the plans that were recorded before the rounds ran (R15)."""

import json
from collections.abc import Callable, Collection, Iterator
from typing import TypeVar

from drysweep_pipeline import sandbox
from drysweep_pipeline.declaration.model import (
    VARYING,
    OutsideStrategy,
    SqlStrategy,
    Strategy,
    names_in_argv,
    query_of,
)
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.journal import read_result
from drysweep_pipeline.engine.planning import read_plan
from drysweep_pipeline.errors import Refused
from drysweep_pipeline.sandbox import check_query
from drysweep_pipeline.variation import Look, angles_of, look

T = TypeVar("T")


def repeats(campaign: Campaign, round: int) -> bool:
    """Tell whether every strategy of a round took an angle it had looked along before, with nothing left to chance."""
    planned = read_plan(campaign, round)
    strategies = {strategy.name: strategy for strategy in campaign.declaration.sweep.strategies}
    looks = planned.looks if planned else ()
    if any(by_chance(strategies[entry.strategy]) for entry in looks):
        return False
    told = {name: _told(strategy) for name, strategy in strategies.items()}

    def along(entry: Look) -> tuple[str, str]:
        """Return an angle as far as it makes a difference: the values that the strategy is told."""
        names = told[entry.strategy]
        kept = {name: value for name, value in entry.angle.items() if names is None or name in names}
        return entry.strategy, json.dumps(kept, sort_keys=True)

    return not _left(set(map(along, looks)), _ran(campaign, round - 1), along)


def all_angles_used(campaign: Campaign, round: int, not_run: Collection[str]) -> bool:
    """Tell whether every declared angle was used on the snapshot that this round read.

    ``not_run`` of the round have looked along nothing, nor have those of earlier ones: failure is not silence (R5).
    """
    planned = read_plan(campaign, round)
    here = [entry for entry in planned.looks if entry.strategy not in not_run] if planned else []
    wanted = angles_of(campaign.declaration.sweep.strategies) - set(map(_declared, here))
    return not _left(wanted, _ran(campaign, round - 1, planned.snapshot if planned else None), _declared)


def turns_left(campaign: Campaign, rounds: int) -> int:
    """Return how many rounds it takes, after so many, until every declared angle was used on the latest snapshot."""
    sweep = campaign.declaration.sweep
    planned = read_plan(campaign, rounds) if rounds else None
    ran = _ran(campaign, rounds, planned.snapshot if planned else None)
    unused = _left(angles_of(sweep.strategies), ran, _declared)
    most = 0
    for strategy in sweep.strategies:
        for turn in range(1, len(strategy.angles) + 1):
            if _declared(look(strategy, sweep.name, campaign.id, rounds + turn, campaign.offset)) in unused:
                most = max(most, turn)
    return most


def _declared(entry: Look) -> tuple[str, int]:
    return entry.strategy, entry.angle_index


def _told(strategy: Strategy) -> frozenset[str] | None:
    """Return the names in an angle that a strategy is told of; None for all of them."""
    try:
        return check_query(strategy.query.text) if isinstance(strategy, SqlStrategy) else None
    except Refused:
        return None


def _ran(campaign: Campaign, until: int, snapshot: str | None = None) -> Iterator[list[Look]]:
    """Yield the looks of each decided round up to one that ran to their end, on a snapshot where one is given."""
    # The newest first: most of what is asked about was done lately, and a campaign may be long.
    for number in range(until, 0, -1):
        planned, result = read_plan(campaign, number), read_result(campaign, number)
        if planned is not None and snapshot in (None, planned.snapshot):
            not_run = result.not_run if result else frozenset()
            yield [entry for entry in planned.looks if entry.strategy not in not_run]


def _left(wanted: set[T], ran: Iterator[list[Look]], key: Callable[[Look], T]) -> set[T]:
    """Return what of some ways to look none of those who ran did."""
    left = set(wanted)
    while left and (looks := next(ran, None)) is not None:
        left -= set(map(key, looks))
    return left


def repeatable(strategy: Strategy) -> bool:
    """Tell whether a strategy is known to find the same again, at the same angle and with the same seed."""
    return not isinstance(strategy, OutsideStrategy) or strategy.deterministic


def by_chance(strategy: Strategy) -> bool:
    """Tell whether what a strategy finds may depend on its seed, on the number of the round, or on nothing known."""
    if isinstance(strategy, OutsideStrategy):
        # Nobody can see what a program or a service does with its seed, so it is as its author declares.
        declared = not strategy.deterministic or bool(VARYING & set(names_in_argv(strategy)))
        return declared or _draws(strategy)
    return _draws(strategy)


def cuts_off(strategy: Strategy) -> bool:
    """Tell whether a strategy may leave out what it sees, so that what it leaves out need not be gone."""
    query = query_of(strategy)
    try:
        return query is not None and "limit" in sandbox.unsteady(query.text)
    except Refused:
        return False


def _draws(strategy: Strategy) -> bool:
    """Tell whether the SQL of a strategy gives other rows with another seed, in another round, or by chance."""
    query = query_of(strategy)
    try:
        # A limit says which rows, not by chance; what it leaves out is for those to mind who count on absence.
        return query is not None and bool(
            {"seed", "round"} & check_query(query.text) or sandbox.unsteady(query.text) - {"limit"}
        )
    except Refused:
        return False  # it was not run, and so left nothing to chance

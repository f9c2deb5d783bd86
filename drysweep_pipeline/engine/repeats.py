"""Whether a round looked along anything new, from the plans that were recorded before the rounds ran (R15)."""

from drysweep_pipeline import sandbox
from drysweep_pipeline.declaration.model import VARYING, OutsideStrategy, Strategy, names_in_argv, query_of
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.planning import Plan, read_plan
from drysweep_pipeline.errors import Refused
from drysweep_pipeline.sandbox import check_query
from drysweep_pipeline.variation import angles_left


def repeats(campaign: Campaign, round: int) -> bool:
    """Tell whether every strategy of a round took an angle it had taken before, with nothing left to chance."""
    earlier = _used(campaign, round - 1)
    planned = read_plan(campaign, round)
    strategies = {strategy.name: strategy for strategy in campaign.declaration.sweep.strategies}
    looks = planned.looks if planned else ()
    return all(
        (entry.strategy, entry.angle_index) in earlier and not by_chance(strategies[entry.strategy]) for entry in looks
    )


def all_angles_used(campaign: Campaign, round: int) -> bool:
    """Tell whether every declared angle was used on the snapshot that this round read."""
    planned = read_plan(campaign, round)
    used = _used(campaign, round, snapshot=planned.snapshot if planned else None)
    return angles_left(campaign.declaration.sweep.strategies, used) == 0


def turns_left(campaign: Campaign, rounds: int) -> int:
    """Return how many rounds it takes, after so many, until every declared angle was used on the latest snapshot."""
    planned = read_plan(campaign, rounds) if rounds else None
    used = _used(campaign, rounds, snapshot=planned.snapshot if planned else None)
    strategies = campaign.declaration.sweep.strategies
    return max((angles_left((each,), used) for each in strategies if each.angles), default=0)


def _used(campaign: Campaign, until: int, snapshot: str | None = None) -> set[tuple[str, int]]:
    plans = [plan for plan in (read_plan(campaign, n) for n in range(1, until + 1)) if plan is not None]
    return {_look for plan in plans if snapshot in (None, plan.snapshot) for _look in _looks(plan)}


def _looks(plan: Plan) -> set[tuple[str, int]]:
    return {(entry.strategy, entry.angle_index) for entry in plan.looks}


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

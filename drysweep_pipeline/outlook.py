"""How a search goes on: how many more rounds it may take, and the ceilings under which those rounds fit.

Pure functions over values, and the one place where this is worked out: the diagnosis, what is waited for and the next
steps of a report all tell the same numbers.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from drysweep_pipeline.convergence import CEILINGS, Answer, Standing, after_answer
from drysweep_pipeline.errors import Refused
from drysweep_pipeline.values import Outcome, Rule
from drysweep_pipeline.wording import count

FALLING_ROUNDS = 3
FALLING_RATIO = 0.8
"""An estimate needs this many rounds, each with less than the one before, falling at least this fast."""
LATELY = 3
"""A round to come is taken to cost what the dearest of the last so many did: how many findings it will bring to the
judge is unknown, and a ceiling that cuts judging short buys nothing."""


@dataclass(frozen=True, slots=True)
class Round:
    """What a decided round brought, and the calls that it took, judging included."""

    round: int
    fresh: int
    reopened: int
    blocking: int
    complete: bool
    calls: int = 0


@dataclass(frozen=True, slots=True)
class Course:
    """How a campaign has gone so far.

    ``turns`` are the rounds that using every angle takes; ``unheard`` the calls that a ceiling kept from the judge in
    the last round.
    """

    rule: Rule = Rule.DRY
    rounds: tuple[Round, ...] = ()
    turns: int = 0
    unheard: int = 0


@dataclass(frozen=True, slots=True)
class Outlook:
    """So many more rounds, why so many, and the ceilings on all rounds and calls that let them run."""

    rounds: int
    basis: str
    to_rounds: int
    to_calls: int


def outlook(standing: Standing, k: int, course: Course) -> Outlook:
    """Return how a campaign goes on: as far as its numbers support an estimate, or wide enough without one."""
    rounds, basis = _more(standing.quiet, k, course)
    lately = [each.calls for each in course.rounds[-LATELY:]]
    calls = standing.spent.calls + course.unheard + rounds * max([standing.price, *lately])
    if standing.reason == "calls":
        calls = max(calls, (standing.ceilings.calls or 0) + 1)
    return Outlook(rounds, basis, standing.rounds + rounds, calls)


def resumed(standing: Standing, ahead: Outlook) -> Answer | None:
    """Return the ``resume`` that lets a campaign go on, under ceilings as wide as it needs; None where none would.

    Where it did not run into a ceiling it goes on under those it has, if they let it.
    """
    rounds = ahead.to_rounds if ahead.to_rounds > standing.ceilings.rounds else None
    calls = ahead.to_calls if standing.ceilings.calls is not None and ahead.to_calls > standing.ceilings.calls else None
    plain, wide = (Answer("resume", "a person", rounds=r, calls=c) for r, c in ((None, None), (rounds, calls)))
    as_it_is = standing.outcome in (Outcome.STOPPED, Outcome.FAILED)
    return next((answer for answer in ([plain, wide] if as_it_is else [wide]) if _allowed(standing, answer)), None)


def _allowed(standing: Standing, answer: Answer) -> bool:
    if standing.outcome is Outcome.RUNNING or (
        standing.outcome is Outcome.NEEDS_DECISION and standing.reason not in CEILINGS
    ):
        return False
    try:
        after_answer(standing, answer)
    except Refused:
        return False
    return True


def _more(quiet: int, k: int, course: Course) -> tuple[int, str]:
    """Return how many more rounds to allow for, and why."""
    # The last angle may be the one that brings something, and K quiet rounds come after that.
    least = course.turns + k if course.turns else max(1, k - quiet)
    estimate = _estimate(course, k)
    if estimate is not None:
        if course.turns and estimate <= least:
            return least, _covering(least, k)
        rounds = max(estimate, least)
        return rounds, f"about {count(rounds, 'more round')} if it goes on as in the last ones"
    if course.rule is Rule.CLEAN or not course.rounds or course.rounds[-1].fresh == 0:
        return least, _covering(least, k) if course.turns else f"it takes {count(least, 'more round')} at least"
    few = len(course.rounds) < FALLING_ROUNDS
    why = "there are too few rounds to tell" if few else "the numbers do not fall steadily, which leaves open"
    return max(least, len(course.rounds)), f"{why} how many it takes"


def _covering(rounds: int, k: int) -> str:
    return f"it takes {count(rounds, 'more round')} at least, to use every angle and be quiet for {k}"


def _estimate(course: Course, k: int) -> int | None:
    """Return after how many more rounds the search would converge, or None where the numbers support no estimate.

    What was fresh must have fallen in each of the last rounds, all of them complete; it is taken to go on falling at
    the same ratio until less than half a finding is to be expected, and to stay quiet from there.
    """
    last: Sequence[Round] = course.rounds[-FALLING_ROUNDS:]
    fresh = [each.fresh for each in last]
    falls = all(one > other for one, other in pairwise(fresh))
    if course.rule is not Rule.DRY or len(last) < FALLING_ROUNDS or not falls or fresh[-1] == 0:
        return None
    ratio = (fresh[-1] / fresh[0]) ** (1 / (len(fresh) - 1))
    if ratio > FALLING_RATIO or not all(each.complete for each in last):
        return None
    return math.ceil(math.log(0.5 / fresh[-1]) / math.log(ratio)) + k - 1

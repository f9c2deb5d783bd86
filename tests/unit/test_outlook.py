"""How many more rounds a search is allowed for, and that the ceilings which are named let all of them run."""

import math
from dataclasses import replace

import pytest

from drysweep_pipeline.budget import Ceilings, Spent
from drysweep_pipeline.convergence import Answer, Standing, after_answer
from drysweep_pipeline.outlook import Course, Outlook, Round, outlook, resumed
from drysweep_pipeline.values import Outcome

AT_ITS_CEILING = Standing(
    Ceilings(3, 30), Outcome.BUDGET_EXCEEDED, reason="rounds", rounds=3, quiet=0, spent=Spent(calls=24), price=2
)


def course(*fresh: int, calls: int = 8, **more: object) -> Course:
    rounds = tuple(Round(number, each, 0, 0, True, calls) for number, each in enumerate(fresh, start=1))
    return Course(rounds=rounds, **more)  # type: ignore[arg-type]


def ahead(given: Course, standing: Standing = AT_ITS_CEILING) -> Outlook:
    return outlook(standing, 2, given)


def test_an_estimate_is_given_only_of_numbers_that_fall() -> None:
    half_life = math.ceil(math.log(0.5 / 4) / math.log(0.5))
    assert ahead(course(16, 8, 4)).to_rounds == 3 + half_life + 1
    for fresh in ((8, 8, 8), (10, 9, 8), (4, 8)):
        assert "about" not in ahead(course(*fresh)).basis
    assert ahead(course(4, 2, 0)).basis == "it takes 2 more rounds at least"


def test_a_round_costs_its_finders_and_what_judging_took_lately_and_what_was_not_judged_comes_on_top() -> None:
    assert ahead(course(4, 2, 0)).to_calls == 24 + 2 * 8
    assert ahead(course(4, 2, 0, calls=1)).to_calls == 24 + 2 * 2
    assert ahead(course(4, 2, 0, unheard=6)).to_calls == 24 + 6 + 2 * 8


def test_where_angles_are_not_used_yet_there_is_room_for_all_that_are_left_and_for_k_quiet_rounds() -> None:
    said = ahead(course(1, 1, 0, turns=4))
    assert said.to_rounds == 3 + 4 + 2
    assert said.basis == "it takes 6 more rounds at least, to use every angle and be quiet for 2"
    assert ahead(course(1, 1, 0)).to_rounds == 3 + 2
    # Six angles, three of them used, and two quiet rounds: a steady fall says less than what is to be covered.
    assert ahead(course(18, 12, 3, turns=3)).to_rounds == 8


@pytest.mark.parametrize(
    ("ceilings", "answer"),
    [
        (Ceilings(3, 1000), (5, None)),
        (Ceilings(3, 30), (5, 40)),
        (Ceilings(3), (5, None)),
        (Ceilings(30, 30), (None, 40)),
    ],
)
def test_a_resume_is_wide_enough_for_every_ceiling_at_once(
    ceilings: Ceilings, answer: tuple[int | None, int | None]
) -> None:
    standing = replace(AT_ITS_CEILING, ceilings=ceilings, reason="rounds" if ceilings.rounds == 3 else "calls")
    said = resumed(standing, ahead(course(4, 2, 0), standing))
    assert said is not None
    assert (said.rounds, said.calls) == answer
    assert after_answer(standing, said)[0].due == 4


def test_a_ceiling_on_calls_that_was_reached_is_never_offered_again() -> None:
    standing = replace(AT_ITS_CEILING, ceilings=Ceilings(30, 63), reason="calls", spent=Spent(calls=20))
    assert ahead(course(4, 2, 0), standing).to_calls > 63


def test_what_was_stopped_goes_on_under_its_own_ceilings_if_they_let_it() -> None:
    stopped = replace(AT_ITS_CEILING, outcome=Outcome.STOPPED, reason=None)
    free = replace(stopped, ceilings=Ceilings(4, 30))
    assert resumed(free, ahead(course(4, 2, 1), free)) == Answer("resume", "a person")
    said = resumed(stopped, ahead(course(4, 2, 1), stopped))
    assert said is not None
    assert said.rounds is not None


@pytest.mark.parametrize(
    "changes",
    [
        {"outcome": Outcome.CONVERGED},
        {"outcome": Outcome.RETURNED},
        {"outcome": Outcome.RUNNING},
        {"outcome": Outcome.NEEDS_DECISION, "reason": "turn"},
        {"ceilings": Ceilings(3, 30, tokens=1), "spent": Spent(calls=1, tokens=2)},
    ],
)
def test_no_resume_is_offered_that_would_be_refused_or_is_not_needed(changes: dict[str, object]) -> None:
    standing = replace(AT_ITS_CEILING, **changes)  # type: ignore[arg-type]
    assert resumed(standing, ahead(course(4, 2, 1), standing)) is None

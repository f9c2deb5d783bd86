"""Which cause is told where several would do, what counts as far longer, and what a near double is."""

import math
import time
from dataclasses import replace
from typing import Any

import pytest

from drysweep_pipeline.diagnosis import Cause, Facts, Failure, Round, diagnose, far_longer, late_from
from drysweep_pipeline.doubles import Finding, doubles
from drysweep_pipeline.values import Outcome, Rule


def finding(kind: str, round: int, subject: str = "api", **more: Any) -> Finding:
    return Finding(f"{subject}/{kind}", (subject, kind), round, **{"subject": subject, "strategies": ("s",), **more})


ROUNDS = tuple(Round(number, 2, 1, 1, number % 2 == 0) for number in range(1, 7))
EVERYTHING = Facts(
    name="sweep/mine",
    outcome=Outcome.BUDGET_EXCEEDED,
    reason="rounds",
    rule=Rule.DRY,
    k=2,
    quiet=0,
    calls=12,
    rounds=ROUNDS,
    failures=tuple(Failure(each, "linter", "exit code 1") for each in (4, 5, 6)),
    churn=((6, "web/odd"),),
    reopened=(("web/odd", 3),),
    fields=("subject", "kind"),
    fresh=tuple(finding(f"missing owner label {n}", n, rejected=True) for n in range(1, 7)),
    raised=(("web/odd", 4),),
    angles=4,
    unused=2,
    turns=2,
)


def cause(facts: Facts) -> str:
    told = diagnose(facts)
    return told.cause.value if told else "none"


def test_causes_are_looked_for_in_the_order_that_is_documented() -> None:
    assert cause(EVERYTHING) == "failing"
    mended = replace(EVERYTHING, failures=())
    assert cause(mended) == "churn"
    calm = replace(mended, churn=(), reopened=())
    assert cause(calm) == "rephrased"
    distinct = tuple(finding(word * 4, n, rejected=True) for n, word in enumerate("abcdef", start=1))
    guessed = replace(calm, fresh=distinct)
    assert cause(guessed) == "false_positives"
    assert cause(replace(guessed, rule=Rule.CLEAN)) == "blocking"
    assert cause(replace(guessed, fresh=())) == "unfinished"
    assert [each.value for each in Cause] == [
        *("failing", "churn", "rephrased", "false_positives", "blocking", "unfinished")
    ]


@pytest.mark.parametrize(
    ("rounds", "forerunners", "longer"),
    [
        (10, (4, 4), True),
        (8, (4, 4), False),
        (8, (3, 3), True),
        (7, (3, 3), False),
        (30, (4,), False),
        (30, (), False),
        (21, (10, 10, 10), True),
        (20, (10, 10, 10), False),
    ],
)
def test_far_longer_is_more_than_twice_the_median_of_two_and_five_rounds_more(
    rounds: int, forerunners: tuple[int, ...], longer: bool
) -> None:
    assert far_longer(rounds, forerunners) is longer


def test_the_late_rounds_are_the_second_half_the_middle_one_included() -> None:
    assert [late_from(rounds) for rounds in (1, 2, 3, 4, 5, 6)] == [1, 2, 2, 3, 3, 4]


def test_a_strategy_that_failed_once_or_early_is_not_why() -> None:
    early = tuple(Failure(each, "linter", "exit code 1") for each in (1, 2, 3))
    assert cause(replace(EVERYTHING, failures=early)) == "churn"
    assert cause(replace(EVERYTHING, failures=(Failure(6, "linter", "exit code 1"),))) == "churn"


@pytest.mark.parametrize(
    ("old", "new", "double"),
    [
        (finding("No owner!", 1), finding("no owner", 2), True),
        (finding("line 31", 1), finding("line 32", 2), True),
        (finding("owner label is missing", 1), finding("missing is owner label", 2), True),
        (finding("no_tls", 1), finding("no_ttl", 2), False),
        (finding("no owner", 2), finding("No owner", 2), False),
        (finding("no owner", 3), finding("No owner", 2), False),
        (finding("no owner", 1, "svc-1"), finding("no owner", 2, "svc-2"), False),
        (finding("no owner", 1, "svc-1"), finding("no owner", 2, "SVC_1"), True),
        (finding("line 31", 1, path="a.py"), finding("line 32", 2, path="b.py"), False),
        (finding("line 31", 1, line=31), finding("line 32", 2, line=32), True),
        (finding("line 31", 1, line=31), finding("line 99", 2, line=99), False),
    ],
)
def test_a_near_double_says_the_same_of_the_same_place_earlier(old: Finding, new: Finding, double: bool) -> None:
    assert bool(list(doubles(Rule.DRY, [old, new], [new]))) is double


def test_looking_for_doubles_stays_bounded_however_many_there_are() -> None:
    known = [finding(f"{'word ' * 40}{n}x{n * n}", 0) for n in range(5000)]
    late = [finding(f"{'other ' * 40}{n}y{n * n}", 3) for n in range(500)]
    began = time.monotonic()
    list(doubles(Rule.DRY, known + late, late))
    assert time.monotonic() - began < 20


def test_an_estimate_is_given_only_of_numbers_that_fall() -> None:
    def lever(*fresh: int) -> str:
        rounds = tuple(Round(number, each, 0, 0, True) for number, each in enumerate(fresh, start=1))
        told = diagnose(replace(EVERYTHING, rounds=rounds, fresh=(), failures=(), churn=(), reopened=(), turns=0))
        assert told is not None
        return told.lever

    half_life = math.ceil(math.log(0.5 / 4) / math.log(0.5))
    assert f"--rounds {3 + half_life + 1}" in lever(16, 8, 4)
    assert "about" not in lever(8, 8, 8)
    assert "about" not in lever(10, 9, 8)
    assert "about" not in lever(4, 8)
    assert "2 more rounds at least" in lever(4, 2, 0)

"""Which cause is told where several would do, what counts as far longer, and what a near double is."""

import time
from dataclasses import replace
from typing import Any

import pytest

from drysweep_pipeline.budget import Ceilings
from drysweep_pipeline.diagnosis import Cause, Facts, Failure, diagnose, far_longer, late_from
from drysweep_pipeline.doubles import Finding, doubles
from drysweep_pipeline.outlook import Outlook, Round
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
    outlook=Outlook(3, "it takes 3 more rounds at least", 9, 18),
    rounds=ROUNDS,
    failures=tuple(Failure(each, "linter", "exit code 1") for each in (4, 5, 6)),
    churn=((6, "web/odd"),),
    reopened=(("web/odd", 3),),
    fields=("subject", "kind"),
    fresh=tuple(finding(f"missing owner label {n}", n, rejected=True) for n in range(1, 7)),
    raised=(("web/odd", 4),),
    angles=4,
    unused=2,
    seen=6,
    silent=5,
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
    uncovered = replace(calm, fresh=distinct)
    assert cause(uncovered) == "unfinished", "angles that nobody looked from come before what the others brought"
    guessed = replace(uncovered, unused=0)
    assert cause(guessed) == "false_positives"
    unanswered = replace(guessed, rule=Rule.CLEAN)
    assert cause(unanswered) == "judge_silent"
    assert cause(replace(unanswered, silent=3)) == "blocking"
    assert cause(replace(guessed, fresh=(), silent=0)) == "unfinished"
    assert [each.value for each in Cause] == [
        *("failing", "churn", "rephrased", "false_positives", "judge_silent", "blocking", "unfinished")
    ]


def test_a_rejected_finding_is_counted_and_never_an_example() -> None:
    calm = replace(EVERYTHING, failures=(), churn=(), reopened=())
    said = "3 of 3 findings fresh in rounds 4 to 6 are near doubles of earlier ones that differ in kind"
    assert diagnose(calm).sentence == said
    shown = (*calm.fresh[:2], finding("missing owner label", 3), finding("owner label missing", 4), *calm.fresh[4:])
    example = ", such as 'api/owner label missing' after 'api/missing owner label'"
    assert diagnose(replace(calm, fresh=shown)).sentence == said + example
    back = replace(EVERYTHING, failures=(), churn=(), reopened=((None, 4), ("web/odd", 3)))
    assert diagnose(back).sentence == "2 findings fixed before came back more than once, web/odd 3 times"
    alone = replace(back, reopened=((None, 4),))
    assert diagnose(alone).sentence == "1 finding fixed before came back more than once"


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
        (finding("port_8001_open", 1), finding("port_8002_open", 2), False),
        (finding("CVE-2026-1222", 1), finding("CVE-2026-1259", 2), False),
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


def failing(*reasons: tuple[int, str, str | None], used: tuple[tuple[str, str], ...] = ()) -> str:
    """The sentence on a linter that was not run in these rounds, for these reasons, at these angles."""
    failures = tuple(Failure(round, "linter", reason, angle) for round, reason, angle in reasons)
    told = diagnose(replace(EVERYTHING, rounds=ROUNDS[:4], failures=failures, used=used))
    return told.sentence if told and told.cause is Cause.FAILING else ""


def test_a_strategy_that_fails_at_one_of_its_angles_is_failing_and_the_angle_is_named() -> None:
    used = (("linter", '{"zone": "a"}'), ("linter", '{"zone": "b"}'))
    broken = "Invalid Input Error: no such zone"
    at_b = [(2, broken, '{"zone": "b"}'), (4, f"ceiling: calls, after {broken}", '{"zone": "b"}')]
    assert failing(*at_b, used=used) == (
        'linter was not run in 2 of 4 rounds, each time at its angle {"zone": "b"}, '
        f"the last time because of: {broken}; a round without it is never quiet"
    )
    assert "angle" not in failing(*at_b, used=used[1:]), "it fails wherever it looks"


def test_what_a_ceiling_alone_left_out_is_no_failure_and_one_failure_is_an_accident() -> None:
    assert not failing((2, "ceiling: calls", None), (3, "ceiling: calls", None), (4, "exit code 1", None))
    assert failing((3, "exit code 1", None), (4, "exit code 1", None))


def test_who_brings_most_of_what_is_fresh_late_is_named() -> None:
    def brought(*strategies: tuple[str, ...]) -> str:
        fresh = tuple(finding(word * 4, 5, strategies=who) for word, who in zip("abcdef", strategies, strict=False))
        calm = replace(EVERYTHING, failures=(), churn=(), reopened=(), known=(), silent=0, fresh=fresh)
        told = diagnose(calm)
        assert told is not None
        assert told.cause is Cause.UNFINISHED
        return told.sentence.partition("not used yet")[2]

    assert brought(("one",), ("one",), ("two",)) == ", 2 of 3 findings fresh in rounds 4 to 6 brought by one"
    even = brought(("one",), ("two",), ("three",), ("four",))
    assert even == ", 3 of 4 findings fresh in rounds 4 to 6 brought by four, one and three"
    assert brought(("one",)) == ""


def test_angles_that_a_ceiling_kept_from_being_used_are_why_and_what_was_rejected_is_told_beside_it() -> None:
    distinct = tuple(finding(word * 4, n, rejected=True) for n, word in enumerate("abcdef", start=1))
    facts = replace(EVERYTHING, failures=(), churn=(), reopened=(), fresh=distinct, resume="drysweep resume x")
    told = diagnose(facts)
    assert told is not None
    assert "2 of 4 angles not used yet" in told.sentence
    assert "3 of those fresh in rounds 4 to 6 rejected" in told.sentence
    assert told.lever.startswith("`drysweep resume x`")
    assert cause(replace(facts, rule=Rule.CLEAN)) == "judge_silent"
    assert cause(replace(facts, reason="churn")) == "churn"


def test_no_ceiling_is_advised_for_another_campaign_that_is_below_what_this_one_had() -> None:
    calm = replace(EVERYTHING, failures=(), churn=(), reopened=(), fresh=(), silent=0)
    facts = replace(calm, outlook=Outlook(3, "so", 9, 114))

    def lever(ceilings: Ceilings) -> str:
        told = diagnose(replace(facts, ceilings=ceilings))
        return told.lever if told else ""

    assert lever(Ceilings(6, 300)) == "start another campaign with --rounds 9: so"
    assert lever(Ceilings(6, 100)) == "start another campaign with --rounds 9 --calls 114: so"
    assert lever(Ceilings(20, 300)) == "start another campaign: so"

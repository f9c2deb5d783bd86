"""What a person is advised to do next: nothing that cannot help is offered."""

import pytest

from drysweep_pipeline.budget import Ceilings, Spent
from drysweep_pipeline.convergence import Standing
from drysweep_pipeline.outlook import Course, Round
from drysweep_pipeline.reports.steps import next_steps
from drysweep_pipeline.reports.waiting import Stand
from drysweep_pipeline.values import Outcome, Rule


def stand(outcome: Outcome, *rounds: tuple[int, bool], rule: Rule = Rule.DRY, reason: str = "rounds") -> Stand:
    went = tuple(Round(n, fresh, 0, 0, complete, 2) for n, (fresh, complete) in enumerate(rounds, 1))
    ceilings = Ceilings(len(rounds) if reason == "rounds" else 9, 100)
    standing = Standing(ceilings, outcome, reason, len(rounds), spent=Spent(calls=2 * len(rounds)), price=2)
    return Stand("small", "c1", 2, standing, course=Course(rule, went))


def texts(told: Stand) -> list[str]:
    return [f"{step.text}{step.after}" for step in next_steps(told, "small")]


def commands(told: Stand) -> list[str | None]:
    return [step.command for step in next_steps(told, "small")]


def test_more_rounds_of_what_keeps_failing_are_not_offered() -> None:
    failing = stand(Outcome.BUDGET_EXCEEDED, (3, True), (0, False), (0, True), (0, False))
    assert commands(failing) == ["drysweep run small"]
    assert "Mend what the strategies named under Rounds failed at" in texts(failing)[0]


def test_where_something_still_comes_and_something_fails_both_are_offered() -> None:
    both = stand(Outcome.BUDGET_EXCEEDED, (3, True), (2, False))
    assert commands(both)[0] == "drysweep run small"
    assert "drysweep resume small/c1 --rounds" in str(commands(both)[1])


def test_noise_in_the_fingerprint_is_suspected_only_where_something_still_comes() -> None:
    assert "noise" in " ".join(texts(stand(Outcome.BUDGET_EXCEEDED, (3, True), (3, True))))
    assert "noise" not in " ".join(texts(stand(Outcome.BUDGET_EXCEEDED, (3, True), (0, True))))


@pytest.mark.parametrize(
    ("rule", "keeps", "fault"),
    [
        (Rule.DRY, "keeps the declaration and the material that it started with", "Only where the machine was"),
        (Rule.CLEAN, "keeps the declaration that it started with", "Only where the material or the machine was"),
    ],
)
def test_what_was_frozen_with_a_campaign_cannot_be_mended_in_it(rule: Rule, keeps: str, fault: str) -> None:
    failed = stand(Outcome.FAILED, (0, False), (0, False), (0, False), rule=rule, reason="not_run")
    first, second = texts(failed)
    assert keeps in first
    assert fault in second

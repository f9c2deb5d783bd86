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
    assert "Mend what the strategies that did not run failed at" in texts(failing)[0]


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


def test_what_helps_comes_before_going_on_and_going_on_is_no_cure_for_what_a_campaign_keeps() -> None:
    capped = stand(Outcome.BUDGET_EXCEEDED, (3, True), (3, True))
    tighten = {
        "cause": "false_positives",
        "sentence": "so many",
        "lever": "tighten tens, so that it skips them; x lists them",
    }
    first, second = next_steps(capped, "small", "", tighten)
    assert first.text == "First tighten tens, so that it skips them, then start a new campaign"
    assert (first.command, "keeps the declaration" in first.after) == ("drysweep run small", True)
    assert second.text.startswith("Only to see what this one finds as it is")
    silent = {"cause": "judge_silent", "sentence": "", "lever": "mend the judge, and start another campaign"}
    assert next_steps(capped, "small", "", silent)[0].text == "First mend the judge, then start a new campaign"
    fix = {"cause": "blocking", "sentence": "", "lever": "fix what is right"}
    [step] = next_steps(capped, "small", "", fix)
    assert step.text == "First fix what is right; then go on under wider ceilings"
    uncovered = {"cause": "unfinished", "sentence": "", "lever": "`drysweep resume small/c1 --rounds 9`: it takes 6"}
    assert next_steps(capped, "small", "", uncovered)[0].text == "Go on under wider ceilings"

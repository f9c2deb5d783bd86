"""What a campaign waits for, in words and commands, and that every command which is offered is allowed."""

import shlex
from dataclasses import replace

import pytest

from drysweep_pipeline.budget import Ceilings, Spent
from drysweep_pipeline.convergence import CEILINGS, Answer, Standing, after_answer
from drysweep_pipeline.engine.state import State, queued_behind
from drysweep_pipeline.reports.waiting import Stand, at_state, waits_for
from drysweep_pipeline.values import Outcome

ASKED = Standing(
    Ceilings(4, 10),
    outcome=Outcome.NEEDS_DECISION,
    reason="rounds",
    rounds=4,
    quiet=1,
    spent=Spent(calls=8),
    price=2,
)


def commands(standing: Standing, option: str = "") -> list[str]:
    found = waits_for(Stand("small", "mine", 2, standing), option)
    return [choice.command for choice in found.choices] if found else []


def answered(command: str) -> Answer:
    """The answer that a printed command would give."""
    _, verb, _, *rest = shlex.split(command)
    if verb == "decide":
        return Answer(rest[0], "ann", rounds=int(rest[1]) if len(rest) > 1 else None)  # type: ignore[arg-type]
    options = dict(zip(rest[::2], rest[1::2], strict=True))
    rounds, calls = options.get("--rounds"), options.get("--calls")
    return Answer(verb, "ann", rounds=rounds and int(rounds), calls=calls and int(calls))  # type: ignore[arg-type]


def test_at_a_turn_the_go_ahead_is_asked_for_and_nothing_else_ends_it_by_accident() -> None:
    turn = replace(ASKED, reason="turn")
    found = waits_for(Stand("small", "mine", 2, turn))
    assert found is not None
    assert found.sentence == "mine waits for a go-ahead for round 5"
    assert commands(turn) == ["drysweep go small/mine", "drysweep stop small/mine"]


def test_at_a_ceiling_the_answers_and_a_ceiling_that_lets_it_go_on_are_offered() -> None:
    found = waits_for(Stand("small", "mine", 2, ASKED), " --home /h")
    assert found is not None
    assert found.sentence == "mine waits for a person to decide: the ceiling on rounds is reached after round 4"
    assert [choice.command for choice in found.choices] == [
        "drysweep decide small/mine accept --home /h",
        "drysweep decide small/mine continue 1 --home /h",
        "drysweep decide small/mine redraft --home /h",
        "drysweep resume small/mine --rounds 5 --home /h",
        "drysweep stop small/mine --home /h",
    ]


def test_a_resume_widens_every_ceiling_that_forbids_the_round_and_none_is_offered_where_that_is_not_enough() -> None:
    poor = replace(ASKED, spent=Spent(calls=10))
    assert "drysweep resume small/mine --rounds 5 --calls 12" in commands(poor)
    spent = replace(poor, ceilings=Ceilings(4, 10, minutes=1), spent=Spent(calls=10, minutes=2))
    assert not [command for command in commands(spent) if " resume " in command]


@pytest.mark.parametrize("reason", [*CEILINGS, "churn", "turn"])
def test_every_command_that_is_offered_is_allowed(reason: str) -> None:
    standing = replace(ASKED, reason=reason, ceilings=Ceilings(9, 8) if reason == "calls" else ASKED.ceilings)
    offered = commands(standing)
    assert offered
    for command in offered:
        after_answer(standing, answered(command))


@pytest.mark.parametrize("outcome", [each for each in Outcome if each is not Outcome.NEEDS_DECISION])
def test_whatever_does_not_wait_for_a_decision_waits_for_nothing(outcome: Outcome) -> None:
    assert waits_for(Stand("small", "mine", 2, replace(ASKED, outcome=outcome))) is None


def test_a_queued_campaign_waits_for_those_before_it_in_the_order_of_recording() -> None:
    states = [state("a", 1), state("b", 2, queued=True), state("c", 3, queued=True)]
    assert queued_behind(states[0], states) == []
    assert queued_behind(states[2], states) == states[:2]
    found = waits_for(at_state(states[2], states))
    assert found is not None
    assert found.sentence == "c is queued: its first round waits for campaign a to end, and then for b"
    assert found.choices[1].command == "drysweep resume small/c"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"outcome": Outcome.STOPPED}, {}),
        ({"outcome": Outcome.CONVERGED}, {}),
        ({"driver": "cli"}, {}),
        ({}, {"queued": False}),
        ({}, {"driver": "cli"}),
        ({}, {"rounds": 1}),
        ({}, {"outcome": Outcome.STOPPED}),
    ],
)
def test_an_ended_one_frees_the_next_and_what_a_person_drives_neither_waits_nor_is_waited_for(
    first: dict, second: dict
) -> None:
    states = [state("a", 1, **first), state("b", 2, **{"queued": True, **second})]
    assert queued_behind(states[1], states) == []


def test_one_that_waits_for_a_person_holds_the_queue() -> None:
    states = [state("a", 1, outcome=Outcome.NEEDS_DECISION), state("b", 2, queued=True)]
    assert [each.campaign for each in queued_behind(states[1], states)] == ["a"]


def state(campaign: str, seq: int, **changes: object) -> State:
    return replace(State("small", campaign, "2026-01-01T00:00:00+00:00", seq, "sensor"), **changes)  # type: ignore[arg-type]

"""With the same finders, more budget never finds less and never takes convergence away."""

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from drysweep_pipeline.declaration.model import Convergence
from drysweep_pipeline.replay import core
from drysweep_pipeline.replay.scenario import DEFAULT_AS_OF, Scenario, ScriptBudget, ScriptedCampaign, ScriptedRound

FOUND = st.lists(st.sampled_from("uvwxyz").map(lambda subject: {"subject": subject, "kind": "k"}), max_size=3)
ROUNDS = st.lists(st.dictionaries(st.sampled_from(["a", "b"]), FOUND.map(tuple), min_size=1), min_size=6, max_size=6)


def told(rounds: list[dict[str, Any]], budget: ScriptBudget) -> dict[str, Any]:
    scripted = tuple(ScriptedRound(finders, {}, ()) for finders in rounds)
    campaigns = (ScriptedCampaign(DEFAULT_AS_OF, scripted, {}),)
    scenario = Scenario(
        Path("made_up.yaml"), "Made up.", Convergence(), budget, "auto", ("subject", "kind"), campaigns, False
    )
    [answer] = core.replay(scenario)
    return answer


@given(ROUNDS, st.integers(1, 6), st.integers(2, 40), st.integers(0, 3), st.integers(0, 20))
def test_more_budget_never_finds_less(
    rounds: list[dict[str, Any]], ceiling: int, calls: int, more_rounds: int, more_calls: int
) -> None:
    less = told(rounds, ScriptBudget(rounds=ceiling, calls=calls))
    more = told(rounds, ScriptBudget(rounds=ceiling + more_rounds, calls=calls + more_calls))
    assert set(less["states"]) <= set(more["states"])
    assert less["rounds"] <= more["rounds"]
    if less["outcome"] == "converged":
        assert (more["outcome"], more["rounds"], more["states"].keys()) == (
            "converged",
            less["rounds"],
            less["states"].keys(),
        )


@given(ROUNDS, st.integers(1, 6), st.integers(2, 40))
def test_no_campaign_calls_more_often_than_its_ceiling(rounds: list[dict[str, Any]], ceiling: int, calls: int) -> None:
    answer = told(rounds, ScriptBudget(rounds=ceiling, calls=calls))
    assert answer["calls"] <= calls
    assert answer["rounds"] <= ceiling
    assert answer["seen"] == sum(answer["new"])


@given(ROUNDS)
def test_a_replay_gives_the_same_answer_every_time(rounds: list[dict[str, Any]]) -> None:
    once, again = (json.dumps(told(rounds, ScriptBudget())) for _ in range(2))
    assert once == again


@given(ROUNDS)
def test_order_within_a_round_changes_nothing(rounds: list[dict[str, Any]]) -> None:
    turned = [{name: found[::-1] for name, found in reversed(finders.items())} for finders in rounds]
    assert told(rounds, ScriptBudget()) == told(turned, ScriptBudget())

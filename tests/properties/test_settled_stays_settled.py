"""Nobody's contest and nobody's accepted risk is undone by what finders report afterwards, whatever that is."""

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drysweep_pipeline.home import Home
from drysweep_pipeline.replay import core, pipeline
from drysweep_pipeline.replay.scenario import Scenario, read_scenario

LABEL = "s1/k"
SETTLED = {
    "contested": {"contest": {"finding": LABEL, "evidence": "a.py:1", "by": "ann"}},
    "accepted_risk": {"accept_risk": {"finding": LABEL, "by": "ann"}},
}
UNTIL = {"accept_risk": {"finding": LABEL, "by": "ann", "expires": "2026-01-31"}}
TEXT = st.text("ab /:;'\"-é", max_size=8)
# Of the settled finding, of others, and what is refused: by a claim that is none of a finder's, or for want of a field.
ROW = st.fixed_dictionaries(
    {"subject": st.sampled_from(["s1", "s1", "s2"]), "kind": st.just("k")},
    optional={
        "severity": st.sampled_from(["blocker", "major", "minor", "nit"]),
        **dict.fromkeys(("scope", "title", "path", "owner", "evidence", "environment"), TEXT),
        "line": st.integers(0, 9),
        "state": st.sampled_from(["open", "reopened"]),
        "verdict": st.just("confirmed"),
    },
) | st.just({"subject": "s1"})
FINDERS = st.dictionaries(st.sampled_from(["a", "b"]), st.lists(ROW, max_size=3) | st.just("not_run"), min_size=1)
ROUND = st.fixed_dictionaries(
    {"finders": FINDERS}, optional={"verdicts": st.just({LABEL: "rejected"}) | st.just({LABEL: "undecided"})}
)
CAMPAIGN = st.fixed_dictionaries(
    {
        "as_of": st.sampled_from(["2025-12-01", "2026-01-01", "2026-01-31"]),
        "rounds": st.lists(ROUND, min_size=1, max_size=3),
        "expect": st.just({}),
    }
)
LATER = st.lists(CAMPAIGN, min_size=1, max_size=3)
RULE = st.sampled_from(["dry", "clean"])
ACTION = st.sampled_from([*SETTLED.values(), UNTIL])


@contextmanager
def made_up(rule: str, action: dict[str, Any], rest: list[Any], later: list[Any]) -> Iterator[tuple[Scenario, Path]]:
    """Yield a scenario in which somebody settles a finding after the first round, and a folder of its own."""
    found = {"finders": {"a": [{"subject": "s1", "kind": "k"}]}, "after": [action]}
    first = {"as_of": "2026-01-01", "rounds": [found, *rest], "expect": {}}
    script = {"why": "Made up.", "convergence": {"rule": rule}, "campaigns": [first, *later]}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made_up.yaml"
        path.write_text(json.dumps(script, indent=1))  # JSON is YAML
        yield read_scenario(path), Path(folder)


def held(answers: list[dict[str, Any]], action: dict[str, Any]) -> None:
    word = "contested" if "contest" in action else "accepted_risk"
    assert answers[0]["states"][LABEL] == word
    for each in answers:
        assert each["states"].get(LABEL, word) == word
        assert not [event for event in each["events"] if event["name"] in ("finding_reopened", "acceptance_expired")]


@settings(max_examples=60)
@given(RULE, ACTION, st.lists(ROUND, max_size=3), LATER)
def test_no_finder_undoes_what_a_person_settled(
    rule: str, action: dict[str, Any], rest: list[Any], later: list[Any]
) -> None:
    with made_up(rule, action, rest, later) as (scenario, _):
        held(core.replay(scenario), action)


def through_the_ledger(rule: str, action: dict[str, Any], rest: list[Any], later: list[Any]) -> None:
    with made_up(rule, action, rest, later) as (scenario, folder):
        held(pipeline.replay(scenario, pipeline.steps, Home(folder / "home")), action)


@settings(max_examples=2)
@given(RULE, ACTION, st.lists(ROUND, max_size=2), st.lists(CAMPAIGN, min_size=1, max_size=2))
def test_no_finder_undoes_it_in_the_ledger(
    rule: str, action: dict[str, Any], rest: list[Any], later: list[Any]
) -> None:
    through_the_ledger(rule, action, rest, later)


@pytest.mark.soak
@settings(max_examples=60)
@given(RULE, ACTION, st.lists(ROUND, max_size=3), LATER)
def test_no_finder_undoes_it_in_the_ledger_for_long(
    rule: str, action: dict[str, Any], rest: list[Any], later: list[Any]
) -> None:
    through_the_ledger(rule, action, rest, later)


@pytest.mark.parametrize("rule", ["dry", "clean"])
@pytest.mark.parametrize(("as_of", "state"), [("2026-01-31", "accepted_risk"), ("2026-02-01", "open")])
def test_only_the_day_after_the_last_one_undoes_an_accepted_risk(rule: str, as_of: str, state: str) -> None:
    again = {"finders": {"a": [{"subject": "s1", "kind": "k", "severity": "blocker"}]}}
    with made_up(rule, UNTIL, [again], [{"as_of": as_of, "rounds": [again], "expect": {}}]) as (scenario, folder):
        for answers in (core.replay(scenario), pipeline.replay(scenario, pipeline.steps, Home(folder / "home"))):
            assert answers[1]["states"][LABEL] == state

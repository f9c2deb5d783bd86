"""Made-up scenarios end the same through the rules alone and through ledger, landing and state files."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from drysweep_pipeline.errors import DrysweepError
from drysweep_pipeline.home import Home
from drysweep_pipeline.replay import core, pipeline
from drysweep_pipeline.replay.scenario import read_scenario
from tests.integration.test_replay import comparable

LABELS = ("s1/k", "s2/k", "s3/k")
FINDINGS = st.fixed_dictionaries(
    {"subject": st.sampled_from(["s1", "s2", "s3"]), "kind": st.just("k")},
    optional={
        "severity": st.sampled_from(["blocker", "major", "minor", "nit"]),
        "scope": st.sampled_from(["x", "y"]),
        "title": st.sampled_from(["one", "another"]),
        "path": st.sampled_from(["a.py", "b.py"]),
        "environment": st.integers(0, 1),
    },
) | st.sampled_from([{"subject": "s1"}, {"subject": "s1", "kind": "k", "state": "open"}])
FINDERS = st.dictionaries(
    st.sampled_from(["a", "b", "c"]), st.just("not_run") | st.lists(FINDINGS, max_size=3), min_size=1, max_size=3
)
EVIDENCE = st.sampled_from(["a.py:1", "a.py::test_it", "https://example.org/1", "sha256:0123456789abcdef", "I looked"])
DAYS = ("2026-01-01", "2026-01-14", "2026-01-15", "2026-02-01")
LABEL = st.sampled_from(LABELS)
ACTIONS = st.one_of(
    LABEL.map(lambda label: {"fix": label}),
    LABEL.map(lambda label: {"escalate": label}),
    LABEL.map(lambda label: {"decline": label}),
    st.tuples(LABEL, EVIDENCE).map(lambda given: {"contest": {"finding": given[0], "evidence": given[1], "by": "ann"}}),
    LABEL.map(lambda label: {"accept_risk": {"finding": label, "by": "ann"}}),
    LABEL.map(lambda label: {"confirm": {"finding": label, "by": "ann"}}),
    st.tuples(LABEL, LABEL).map(lambda pair: {"revert_resolves": {"finding": pair[0], "fix": pair[1]}}),
    st.tuples(LABEL, st.sampled_from(DAYS)).map(
        lambda given: {"accept_risk": {"finding": given[0], "by": "ann", "expires": given[1]}}
    ),
    st.sampled_from([{"decide": {"continue": 1}}, {"decide": {"continue": 2}}, {"go": "ann"}, {"go": "ann"}]),
    st.sampled_from([{"decide": "accept"}, {"decide": "redraft"}, {"stop": "ann"}]),
)
ROUNDS = st.lists(
    st.fixed_dictionaries(
        {"finders": FINDERS},
        optional={
            "verdicts": st.dictionaries(LABEL, st.sampled_from(["rejected", "undecided", "confirmed"])),
            "after": st.lists(ACTIONS, max_size=2),
        },
    ),
    min_size=2,
    max_size=4,
)
CAMPAIGNS = st.lists(
    st.fixed_dictionaries(
        {
            "as_of": st.sampled_from(DAYS),
            "rounds": ROUNDS,
            "expect": st.just({}),
        }
    ),
    min_size=1,
    max_size=3,
)
SCENARIOS = st.fixed_dictionaries(
    {
        "why": st.just("Made up."),
        "convergence": st.fixed_dictionaries(
            {"rule": st.sampled_from(["dry", "clean"])},
            optional={
                "k": st.sampled_from([2, 3]),
                "blocking": st.sampled_from([["blocker"], ["minor", "nit"]]),
                "cover": st.just("all_angles"),
                "suspected_churn": st.just("ask"),
            },
        ),
        "budget": st.fixed_dictionaries(
            {"rounds": st.integers(2, 4)},
            optional={"on_exceeded": st.sampled_from(["stop", "ask"]), "calls": st.integers(1, 8)},
        ),
        "campaigns": CAMPAIGNS,
    },
    optional={"turns": st.sampled_from(["auto", "manual"])},
)


def told(path: Path, home: Path | None) -> object:
    try:
        scenario = read_scenario(path)
        answers: list[dict[str, Any]] = (
            core.replay(scenario) if home is None else pipeline.replay(scenario, pipeline.steps, Home(home))
        )
    except DrysweepError as error:
        return error.what
    return comparable(answers)


def put(path: Path, scenario: dict[str, Any]) -> None:
    # JSON is YAML.
    path.write_text(json.dumps(scenario, indent=1))


def with_allowed_actions(path: Path, scenario: dict[str, Any]) -> dict[str, Any]:
    """Return the scenario with only those actions that the rules do not refuse, so that it is played to its end."""
    wanted = [(each, each.pop("after", [])) for campaign in scenario["campaigns"] for each in campaign["rounds"]]
    for each, actions in wanted:
        for action in actions:
            before = each.get("after", [])
            each["after"] = [*before, action]
            put(path, scenario)
            if isinstance(told(path, None), str):
                each["after"] = before
    return scenario


def held_both_ways(scenario: dict[str, Any], *, allowed: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "made_up.yaml"
        put(path, with_allowed_actions(path, scenario) if allowed else scenario)
        note(path.read_text())
        assert told(path, Path(folder) / "home") == told(path, None)


@pytest.mark.soak
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(SCENARIOS)
def test_a_made_up_scenario_ends_the_same_both_ways(scenario: dict[str, Any]) -> None:
    held_both_ways(scenario, allowed=True)


@pytest.mark.soak
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(SCENARIOS)
def test_a_made_up_scenario_is_refused_the_same_both_ways(scenario: dict[str, Any]) -> None:
    held_both_ways(scenario, allowed=False)

"""Whatever the facts: a diagnosis names only what is in them, says one thing, and is silent where nothing is wrong."""

import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from drysweep_pipeline.diagnosis import Cause, Facts, Failure, diagnose, far_longer
from drysweep_pipeline.doubles import Finding
from drysweep_pipeline.outlook import Outlook, Round
from drysweep_pipeline.values import Outcome, Rule

REASONS = ["rounds", "calls", "tokens", "cost_usd", "minutes", "churn", "turn", "not_run", None]
STRATEGIES = [f"strategy_{letter}" for letter in "abc"]
LABELS = [f"«{letter}{n}»" for letter in "pqr" for n in range(4)]
NAMES = re.compile(r"strategy_\w|«\w+»")

rounds = st.builds(
    Round,
    st.just(0),
    st.integers(0, 20),
    st.integers(0, 3),
    st.integers(0, 3),
    st.booleans(),
)
findings = st.builds(
    Finding,
    label=st.sampled_from(LABELS),
    values=st.tuples(
        st.sampled_from(["api", "API", "web"]), st.sampled_from(["no owner label", "No owner label", "x"])
    ),
    round=st.integers(0, 8),
    rejected=st.booleans(),
    blocks=st.booleans(),
    strategies=st.lists(st.sampled_from(STRATEGIES), max_size=2, unique=True).map(tuple),
    subject=st.sampled_from(["api", "web", None]),
    path=st.sampled_from(["a.py", None]),
    line=st.sampled_from([1, 3, 90, None]),
)
counted = st.lists(st.tuples(st.sampled_from(LABELS), st.integers(1, 5)), max_size=3).map(tuple)


@st.composite
def facts(draw: st.DrawFn) -> Facts:
    drawn = draw(st.lists(rounds, max_size=8))
    return Facts(
        name="sweep/campaign",
        outcome=draw(st.sampled_from(list(Outcome))),
        reason=draw(st.sampled_from(REASONS)),
        rule=draw(st.sampled_from(list(Rule))),
        k=draw(st.integers(2, 4)),
        quiet=draw(st.integers(0, 1)),
        outlook=Outlook(2, "it takes 2 more rounds at least", 9, 40),
        rounds=tuple(replace(each, round=number) for number, each in enumerate(drawn, start=1)),
        forerunners=draw(st.lists(st.integers(2, 6), max_size=4).map(tuple)),
        failures=draw(
            st.lists(
                st.builds(
                    Failure,
                    st.integers(1, 8),
                    st.sampled_from(STRATEGIES),
                    st.sampled_from(["", "ceiling: calls", "ceiling: calls, after x", "x"]),
                ),
                max_size=6,
            ).map(tuple)
        ),
        churn=draw(st.lists(st.tuples(st.integers(1, 8), st.sampled_from([*LABELS, None])), max_size=3).map(tuple)),
        reopened=draw(counted),
        fields=("subject", "kind"),
        fresh=draw(st.lists(findings, max_size=10).map(tuple)),
        known=draw(st.lists(findings.map(lambda each: replace(each, round=0)), max_size=5).map(tuple)),
        raised=draw(counted),
        angles=draw(st.sampled_from([None, 0, 4])),
        unused=draw(st.sampled_from([None, 0, 2])),
        seen=draw(st.integers(0, 6)),
        silent=draw(st.integers(0, 6)),
        resume=draw(st.sampled_from([None, "drysweep resume sweep/campaign"])),
    )


def in_the_data(given: Facts) -> set[str]:
    labels = {label for _, label in given.churn if label} | {label for label, _ in (*given.reopened, *given.raised)}
    labels |= {each.label for each in (*given.fresh, *given.known)}
    strategies = {each.strategy for each in given.failures}
    return labels | strategies | {name for each in given.fresh for name in each.strategies}


@given(facts())
def test_a_diagnosis_names_no_strategy_and_no_finding_that_is_not_in_the_data(given: Facts) -> None:
    told = diagnose(given)
    if told is not None:
        assert set(NAMES.findall(told.text)) <= in_the_data(given)
        assert "\n" not in told.text
        assert told.sentence
        assert told.lever


@given(facts())
def test_nothing_is_said_of_what_converged_or_has_no_rounds(given: Facts) -> None:
    assert diagnose(replace(given, outcome=Outcome.CONVERGED)) is None
    assert diagnose(replace(given, rounds=())) is None


@given(facts())
def test_nothing_is_said_of_what_runs_no_longer_than_its_forerunners(given: Facts) -> None:
    running = replace(given, outcome=Outcome.RUNNING, reason=None)
    assert (diagnose(running) is None) == (not far_longer(len(running.rounds), running.forerunners))


@given(facts())
def test_a_cause_gives_way_to_those_before_it_and_only_to_them(given: Facts) -> None:
    stuck = replace(given, outcome=Outcome.BUDGET_EXCEEDED, reason="rounds")
    told = diagnose(stuck)
    if told is None:
        assert not stuck.rounds
        return
    without = {
        Cause.FAILING: {"failures": ()},
        Cause.CHURN: {"churn": (), "reopened": ()},
        Cause.REPHRASED: {"known": (), "fresh": ()},
        Cause.FALSE_POSITIVES: {"fresh": ()},
        Cause.JUDGE_SILENT: {"silent": 0},
        Cause.BLOCKING: {"raised": ()},
        Cause.UNFINISHED: {},
    }
    order = list(Cause)
    later = diagnose(replace(stuck, **without[told.cause]))  # type: ignore[arg-type]
    assert later is not None
    assert order.index(later.cause) >= order.index(told.cause)
    assert later.cause is not told.cause or told.cause is Cause.UNFINISHED

"""The life of a finding: every move that is allowed, every one that is not, and what each must bring."""

from datetime import date, timedelta
from itertools import product

import pytest

from drysweep_pipeline.errors import Refused
from drysweep_pipeline.lifecycle import TRANSITIONS, Act, Deed, blocks, expired, moved, points_at_something
from drysweep_pipeline.values import Severity, State, Verdict, status

# Restated by hand: a row a state, from the act to where it leads.
FROM_OPEN = {
    Act.FIX: State.FIXED,
    Act.CONTEST: State.CONTESTED,
    Act.ACCEPT_RISK: State.ACCEPTED_RISK,
    Act.DECLINE: State.DECLINED,
    Act.ESCALATE: State.ESCALATED,
}
ALLOWED: dict[State, dict[Act, State]] = {
    State.OPEN: FROM_OPEN,
    State.REOPENED: FROM_OPEN,
    State.ESCALATED: {act: to for act, to in FROM_OPEN.items() if act is not Act.ESCALATE},
    State.FIXED: {Act.REOPEN: State.REOPENED, Act.WITHDRAW: State.OPEN},
    State.ACCEPTED_RISK: {Act.EXPIRE: State.OPEN, Act.WITHDRAW: State.OPEN, Act.LAPSE: State.OPEN},
    State.CONTESTED: {Act.WITHDRAW: State.OPEN},
    State.DECLINED: {Act.WITHDRAW: State.OPEN},
}
MOVES = [act for act in Act if act is not Act.CONFIRM]


def whole(act: Act) -> Deed:
    return Deed(act, by="ann", evidence="a.py:1")


def test_the_table_is_the_one_that_was_agreed_on() -> None:
    assert {(state, act): to for state, moves in ALLOWED.items() for act, to in moves.items()} == TRANSITIONS


@pytest.mark.parametrize(("state", "act"), list(product(State, MOVES)))
def test_a_move_is_made_or_refused_by_name(state: State, act: Act) -> None:
    to = ALLOWED[state].get(act)
    if to is None:
        with pytest.raises(Refused, match=f"{act}: not a move that a finding in state {state} can make"):
            moved(Verdict.CONFIRMED, state, Severity.NIT, whole(act))
    else:
        assert moved(Verdict.CONFIRMED, state, Severity.NIT, whole(act)) == (Verdict.CONFIRMED, to)


@pytest.mark.parametrize(("verdict", "state"), list(product(Verdict, State)))
def test_a_person_may_confirm_whatever_is_not_confirmed_and_moves_nothing(verdict: Verdict, state: State) -> None:
    if verdict is Verdict.CONFIRMED:
        with pytest.raises(Refused, match="confirmed already"):
            moved(verdict, state, Severity.MAJOR, whole(Act.CONFIRM))
    else:
        assert moved(verdict, state, Severity.MAJOR, whole(Act.CONFIRM)) == (Verdict.CONFIRMED, state)


@pytest.mark.parametrize("act", [Act.CONTEST, Act.ACCEPT_RISK, Act.CONFIRM, Act.WITHDRAW])
@pytest.mark.parametrize("by", [None, "", "  "])
def test_who_answers_for_it_is_required(act: Act, by: str | None) -> None:
    with pytest.raises(Refused, match="the name of a person is required"):
        moved(Verdict.REJECTED, State.OPEN, Severity.MAJOR, Deed(act, by=by, evidence="a.py:1"))


@pytest.mark.parametrize("severity", list(Severity))
def test_only_a_nit_can_be_declined(severity: Severity) -> None:
    if severity is Severity.NIT:
        assert moved(Verdict.CONFIRMED, State.OPEN, severity, whole(Act.DECLINE))[1] is State.DECLINED
    else:
        with pytest.raises(Refused, match=f"this is a {severity}"):
            moved(Verdict.CONFIRMED, State.OPEN, severity, whole(Act.DECLINE))


POINTS = [
    "paper.md:14",
    "tests/test_x.py::test_it",
    "tests/test_x.py::Class::test_it[a-1]",
    "https://example.org/x?y=1#z",
    "http://example.org",
    "d44f0bf",
    "sha256:" + "0f" * 32,
    " paper.md:14 ",
]
POINTS_NOWHERE = [
    "",
    "   ",
    "I disagree",
    "see above",
    "paper.md",
    "paper.md:",
    "line:14 is wrong",
    "::",
    "https://",
    "abcdef",
    "sha256:",
    "g" * 40,
    "a" * 65,
    "paper.md:14\nand more",
]


@pytest.mark.parametrize("evidence", POINTS)
def test_evidence_that_a_reader_can_open_is_taken(evidence: str) -> None:
    assert points_at_something(evidence)
    deed = Deed(Act.CONTEST, by="ann", evidence=evidence)
    assert moved(Verdict.CONFIRMED, State.OPEN, Severity.MAJOR, deed)[1] is State.CONTESTED


@pytest.mark.parametrize("evidence", POINTS_NOWHERE)
def test_free_text_is_no_evidence(evidence: str) -> None:
    assert not points_at_something(evidence)
    with pytest.raises(Refused, match="evidence"):
        moved(Verdict.CONFIRMED, State.OPEN, Severity.MAJOR, Deed(Act.CONTEST, by="ann", evidence=evidence))


def test_what_blocks_is_blocking_unsettled_and_not_rejected() -> None:
    blocking = (Severity.BLOCKER, Severity.MAJOR)
    for verdict, state, severity in product(Verdict, State, Severity):
        wanted = (
            severity in blocking
            and state not in (State.CONTESTED, State.ACCEPTED_RISK)
            and verdict is not Verdict.REJECTED
        )
        assert blocks(verdict, state, severity, blocking) == wanted


def test_the_last_day_of_an_accepted_risk_still_counts() -> None:
    day = date(2026, 1, 31)
    assert not expired(day, day)
    assert expired(day, day + timedelta(days=1))
    assert not expired(None, date.max)


def test_people_see_the_verdict_only_while_nobody_acted() -> None:
    for verdict, state in product(Verdict, State):
        seen = verdict if state is State.OPEN and verdict in (Verdict.REJECTED, Verdict.UNDECIDED) else state
        assert status(verdict, state) == seen

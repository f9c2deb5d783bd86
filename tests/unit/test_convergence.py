"""When a search has gone quiet: every short journal against an oracle written apart, and what people may answer."""

from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from drysweep_pipeline.budget import Ceilings, Spent
from drysweep_pipeline.convergence import Answer, Policy, RoundResult, Standing, after_answer, after_round, is_quiet
from drysweep_pipeline.errors import Refused
from drysweep_pipeline.values import Outcome, Rule

DRY = Policy(Rule.DRY, 2)
NO_CALLS = Ceilings(rounds=10)
BROUGHT: dict[str, dict[str, Any]] = {
    "quiet": {},
    "fresh": {"fresh": 1},
    "incomplete": {"not_run": frozenset({"b"})},
}


def round_of(number: int, **given: Any) -> RoundResult:
    asked = frozenset({"a", "b"})
    plain = RoundResult(number, asked, frozenset(), 0, 0, 0, Spent(calls=2 * number), price=2)
    return replace(plain, **given)


def journal(words: tuple[str, ...], policy: Policy, ceilings: Ceilings) -> tuple[Standing, list[str]]:
    """Play rounds that are ``quiet``, ``fresh`` or ``incomplete`` until one is decided to be the last."""
    now, logged = Standing(ceilings, price=2), []
    for word in words:
        if now.due is None:
            break
        now, events = after_round(now, policy, round_of(now.due, **BROUGHT[word]))
        logged += [event.name for event in events]
    return now, logged


def oracle(words: tuple[str, ...], k: int, rounds: int, calls: int | None) -> tuple[str, str | None, int, int]:
    """The rules said once more, from the whole journal at once and with nothing remembered between rounds."""
    for n in range(1, len(words) + 1):
        played = words[:n]
        tail = 0
        while tail < n and played[n - 1 - tail] == "quiet":
            tail += 1
        if tail >= k:
            return "converged", None, n, tail
        if played[-3:] == ("incomplete",) * 3:
            return "failed", "not_run", n, tail
        if n >= rounds:
            return "budget_exceeded", "rounds", n, tail
        if calls is not None and 2 * (n + 1) > calls:
            return "budget_exceeded", "calls", n, tail
    return "running", None, len(words), tail


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("rounds", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("calls", [None, 2, 5, 6, 8, 9])
def test_every_journal_of_up_to_five_rounds_ends_as_the_oracle_says(k: int, rounds: int, calls: int | None) -> None:
    policy, ceilings = replace(DRY, k=k), Ceilings(rounds, calls)
    for length in range(1, 6):
        for words in product(("quiet", "fresh", "incomplete"), repeat=length):
            now, _ = journal(words, policy, ceilings)
            assert (now.outcome, now.reason, now.rounds, now.quiet) == oracle(words, k, rounds, calls), words


@pytest.mark.parametrize("rule", list(Rule))
def test_every_quiet_round_is_complete_and_brings_nothing_that_its_rule_minds(rule: Rule) -> None:
    for fresh, reopened, blocking, down, asked in product((0, 2), (0, 1), (0, 1), (0, 1), (0, 1)):
        names = frozenset({"a", "b"}) if asked else frozenset()
        not_run = names if down else frozenset()
        brought = round_of(1, fresh=fresh, reopened=reopened, blocking=blocking, asked=names, not_run=not_run)
        minded = fresh + reopened if rule is Rule.DRY else blocking
        assert is_quiet(rule, brought) == (bool(asked) and not down and minded == 0)


def test_more_rounds_allowed_never_turn_convergence_into_anything_else() -> None:
    for words in product(("quiet", "fresh", "incomplete"), repeat=5):
        for rounds in range(1, 6):
            now, _ = journal(words, DRY, Ceilings(rounds))
            if now.outcome is Outcome.CONVERGED:
                assert journal(words, DRY, Ceilings(rounds + 1))[0].outcome is Outcome.CONVERGED


@pytest.mark.parametrize(
    ("minded", "outcome", "reason", "logged"),
    [
        (0, Outcome.CONVERGED, None, []),
        (1, Outcome.FAILED, "not_run", ["campaign_failed"]),
        (2, Outcome.NEEDS_DECISION, "churn", ["churn_detected", "decision_requested"]),
        (3, Outcome.NEEDS_DECISION, "calls", ["budget_exceeded", "decision_requested"]),
        (4, Outcome.NEEDS_DECISION, "rounds", ["budget_exceeded", "decision_requested"]),
        (5, Outcome.NEEDS_DECISION, "turn", ["decision_requested"]),
        (6, Outcome.RUNNING, None, []),
    ],
)
def test_a_round_is_looked_at_in_a_fixed_order(
    minded: int, outcome: Outcome, reason: str | None, logged: list[str]
) -> None:
    """All that can be true at once is; the first ``minded`` things in the order are then taken away."""
    still = [position >= minded for position in range(6)]
    policy = Policy(Rule.CLEAN, 2, "ask", "manual" if still[5] else "auto")
    # A complete round cannot count as failed, so "b" went down in rounds before and is down no more where K is met.
    before = Standing(Ceilings(3 if still[4] else 9), rounds=2, quiet=1, down={"b": 2})
    quiet = {"not_run": frozenset()} if still[0] else {"not_run": frozenset({"b"} if still[1] else {"a"})}
    brought = round_of(3, churn=still[2], tripped="calls" if still[3] else None, **quiet)
    now, events = after_round(before, policy, brought)
    assert (now.outcome, now.reason, [event.name for event in events]) == (outcome, reason, logged)


def test_suspected_churn_asks_where_that_is_declared_and_after_churn_itself() -> None:
    asks = Policy(Rule.CLEAN, 2, suspected_churn="ask")
    before = Standing(Ceilings(9))
    suspected = round_of(1, blocking=1, suspected=True)
    assert after_round(before, Policy(Rule.CLEAN, 2), suspected)[0].outcome is Outcome.RUNNING
    now, events = after_round(before, asks, suspected)
    assert (now.outcome, now.reason, [event.name for event in events]) == (
        Outcome.NEEDS_DECISION,
        "churn",
        ["decision_requested"],
    )
    _, events = after_round(before, asks, replace(suspected, churn=True))
    assert [event.name for event in events] == ["churn_detected", "decision_requested"]


def test_going_on_for_some_rounds_lifts_neither_churn_nor_the_suspicion_of_it() -> None:
    asks = Policy(Rule.CLEAN, 2, suspected_churn="ask")
    waits, _ = after_round(Standing(Ceilings(9)), asks, round_of(1, blocking=1, churn=True))
    for brought in ({"churn": True}, {"suspected": True}):
        free, _ = after_answer(waits, Answer("continue", "ann", rounds=5))
        assert after_round(free, asks, round_of(2, blocking=1, **brought))[0].reason == "churn"
        assert after_round(free, asks, round_of(2, blocking=1))[0].outcome is Outcome.RUNNING


def test_a_stop_names_the_ceiling_that_tripped_inside_then_rounds_then_the_next_one() -> None:
    full = Ceilings(rounds=1, calls=2, tokens=5)
    spent = Spent(calls=2, tokens=9)
    for ceilings, tripped, reason in (
        (full, "minutes", "minutes"),
        (full, None, "rounds"),
        (replace(full, rounds=9), None, "calls"),
        (replace(full, rounds=9, calls=4), None, "tokens"),
        (replace(full, rounds=9, calls=4, tokens=10), None, None),
    ):
        now, _ = after_round(Standing(ceilings), DRY, round_of(1, fresh=1, spent=spent, tripped=tripped))
        assert now.reason == reason


def test_a_round_that_is_not_due_is_refused() -> None:
    for number in (0, 2, 7):
        with pytest.raises(Refused, match="was not due"):
            after_round(Standing(NO_CALLS), DRY, round_of(number))
    ended = Standing(NO_CALLS, Outcome.CONVERGED, rounds=2)
    with pytest.raises(Refused, match="was not due"):
        after_round(ended, DRY, round_of(3))


def test_a_finder_that_was_not_asked_starts_its_three_in_a_row_anew() -> None:
    now = Standing(Ceilings(20))
    b, only_a = frozenset({"b"}), frozenset({"a"})
    for number, down in enumerate((True, True, False, True, True), start=1):
        given = {"not_run": b, "fresh": 1} if down else {"asked": only_a, "fresh": 1}
        now, _ = after_round(now, DRY, round_of(number, **given))
        assert now.outcome is Outcome.RUNNING
    now, _ = after_round(now, DRY, round_of(6, not_run=b))
    assert (now.outcome, now.reason) == (Outcome.FAILED, "not_run")


def test_repeats_are_counted_among_the_quiet_rounds_only() -> None:
    now, _ = after_round(Standing(NO_CALLS), replace(DRY, k=3), round_of(1, repeat=True))
    assert (now.quiet, now.repeats) == (1, 1)
    now, _ = after_round(now, replace(DRY, k=3), round_of(2))
    assert (now.quiet, now.repeats) == (2, 1)
    now, _ = after_round(now, replace(DRY, k=3), round_of(3, fresh=1, repeat=True))
    assert (now.quiet, now.repeats) == (0, 0)


def test_a_search_that_has_to_cover_its_angles_is_quiet_longer() -> None:
    policy = replace(DRY, cover="all_angles")
    now, _ = after_round(Standing(NO_CALLS, quiet=4), policy, round_of(1, covered=False))
    assert (now.outcome, now.quiet) == (Outcome.RUNNING, 5)
    now, _ = after_round(now, policy, round_of(2))
    assert now.outcome is Outcome.CONVERGED


def said(kind: Any, by: str = "ann", **given: Any) -> Answer:
    return Answer(kind, by, **given)


def waiting(reason: str, **given: Any) -> Standing:
    asked = Standing(Ceilings(2, 6), Outcome.NEEDS_DECISION, reason, rounds=2, quiet=1, spent=Spent(calls=4), price=2)
    return replace(asked, **given)


@pytest.mark.parametrize("reason", ["churn", "rounds", "calls", "turn"])
def test_a_person_may_accept_redraft_or_continue_wherever_one_was_asked(reason: str) -> None:
    for kind, outcome, left in (
        ("accept", Outcome.ACCEPTED, reason),
        ("redraft", Outcome.RETURNED, reason),
        ("continue", Outcome.RUNNING, None),
    ):
        now, [event] = after_answer(waiting(reason), said(kind, reason="because", rounds=3))
        assert (now.outcome, now.reason, now.quiet) == (outcome, left, 1)
        assert (event.name, event.round, event.actor, event.reason) == (f"decision_{kind}", 2, "ann", "because")


@pytest.mark.parametrize("kind", ["accept", "continue", "redraft"])
@pytest.mark.parametrize("outcome", [each for each in Outcome if each is not Outcome.NEEDS_DECISION])
def test_a_decision_that_nobody_asked_for_is_refused(kind: str, outcome: Outcome) -> None:
    with pytest.raises(Refused, match="decide"):
        after_answer(Standing(NO_CALLS, outcome, rounds=1), said(kind, rounds=1))


def test_continue_needs_a_number_of_rounds() -> None:
    for rounds in (None, 0, -1):
        with pytest.raises(Refused, match="1 or more"):
            after_answer(waiting("rounds"), Answer("continue", "ann", rounds=rounds))


def test_no_ceiling_holds_while_a_continue_does_and_all_do_afterwards() -> None:
    policy = replace(DRY, on_exceeded="ask")
    now, _ = after_answer(waiting("rounds"), Answer("continue", "ann", rounds=2))
    now, events = after_round(now, policy, round_of(3, fresh=1, tripped="calls"))
    assert (now.outcome, events) == (Outcome.RUNNING, [])
    now, _ = after_round(now, policy, round_of(4, fresh=1))
    assert (now.outcome, now.reason) == (Outcome.NEEDS_DECISION, "rounds")


def test_go_is_for_turns_alone() -> None:
    now, [event] = after_answer(waiting("turn"), Answer("go", "ann"))
    assert (now.outcome, now.reason, now.due, event.name) == (Outcome.RUNNING, None, 3, "decision_go")
    others = [waiting("churn"), waiting("rounds")]
    others += [Standing(NO_CALLS, each) for each in Outcome if each is not Outcome.NEEDS_DECISION]
    for standing in others:
        with pytest.raises(Refused, match="go"):
            after_answer(standing, Answer("go", "ann"))


def test_a_person_stops_what_has_not_ended() -> None:
    for outcome in Outcome:
        standing = Standing(NO_CALLS, outcome, reason="rounds", rounds=2)
        if outcome in (Outcome.RUNNING, Outcome.NEEDS_DECISION):
            now, [event] = after_answer(standing, Answer("stop", "ann"))
            assert (now.outcome, now.reason, event.name) == (Outcome.STOPPED, None, "campaign_stopped")
        else:
            with pytest.raises(Refused, match="ended already"):
                after_answer(standing, Answer("stop", "ann"))


def test_every_answer_needs_a_name() -> None:
    for kind in ("accept", "continue", "redraft", "go", "stop", "resume"):
        with pytest.raises(Refused, match="name"):
            after_answer(waiting("turn"), said(kind, " ", rounds=1))


def test_resume_goes_on_with_the_count_as_it_stood() -> None:
    capped = waiting("rounds", outcome=Outcome.BUDGET_EXCEEDED, down={"b": 2})
    now, [event] = after_answer(capped, Answer("resume", "ann", rounds=5))
    assert (now.outcome, now.reason, now.quiet, now.due) == (Outcome.RUNNING, None, 1, 3)
    assert (now.ceilings.rounds, now.ceilings.calls, dict(now.down)) == (5, 6, {})
    assert event.name == "campaign_resumed"


def test_resume_that_would_stop_at_once_says_what_would_do() -> None:
    capped = waiting("rounds", outcome=Outcome.BUDGET_EXCEEDED)
    with pytest.raises(Refused, match="round 3; raise it to 3 or more"):
        after_answer(capped, Answer("resume", "ann"))
    with pytest.raises(Refused, match="raise it to 6 or more"):
        after_answer(capped, Answer("resume", "ann", rounds=9, calls=5))


def test_resume_does_not_answer_for_a_person_and_revives_nothing() -> None:
    for reason in ("churn", "turn"):
        with pytest.raises(Refused, match=reason):
            after_answer(waiting(reason), Answer("resume", "ann", rounds=9))
    for outcome in (Outcome.CONVERGED, Outcome.ACCEPTED, Outcome.RETURNED):
        with pytest.raises(Refused, match="start another"):
            after_answer(Standing(NO_CALLS, outcome), Answer("resume", "ann", rounds=9))

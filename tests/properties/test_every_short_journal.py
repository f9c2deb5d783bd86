"""Every short journal, rounds and answers in any order, stands where an oracle written apart says."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from drysweep_pipeline.budget import Ceilings, Spent
from drysweep_pipeline.convergence import Answer, Policy, RoundResult, Standing, after_answer, after_round
from drysweep_pipeline.errors import Refused
from drysweep_pipeline.values import Rule
from tests import oracle

ASKED = frozenset({"a", "b"})
# What a round brought, under which rules it is quiet if it is complete, and the calls that judging it took.
WORDS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "fresh": {"fresh": 1},
    "reopened": {"reopened": 1},
    "blocking": {"blocking": 1},
    "b_down": {"not_run": frozenset({"b"})},
    "both_down": {"not_run": ASKED, "fresh": 1, "blocking": 1},
    "tripped": {"not_run": frozenset({"a"}), "tripped": "calls"},
    "tripped_judging": {"fresh": 1, "blocking": 1, "tripped": "calls"},
    "churn": {"fresh": 1, "blocking": 1, "churn": True},
    "suspected": {"fresh": 1, "suspected": True},
    "uncovered": {"covered": False},
}
SAID = (
    *(oracle.Said("accept"), oracle.Said("redraft"), oracle.Said("go"), oracle.Said("stop")),
    *(oracle.Said("continue", rounds=1), oracle.Said("continue", rounds=2), oracle.Said("continue", rounds=0)),
    *(oracle.Said("resume"), oracle.Said("resume", rounds=5), oracle.Said("resume", rounds=5, calls=12)),
)


@dataclass(frozen=True)
class Walk:
    """All journals from one agreement, over some words and answers."""

    policy: Policy
    ceilings: Ceilings
    words: tuple[str, ...]
    answers: tuple[oracle.Said, ...] = ()

    @property
    def agreed(self) -> oracle.Agreed:
        policy, ceilings = self.policy, self.ceilings
        ask, manual = policy.on_exceeded == "ask", policy.turns == "manual"
        return oracle.Agreed(policy.k, ceilings.rounds, ceilings.calls, ask, manual)

    def check(self, length: int) -> int:
        """Check all journals of up to ``length`` entries and return how many those were."""
        return self._check((), Standing(self.ceilings, price=2), length)

    def _check(self, journal: tuple[oracle.Entry, ...], now: Standing, left: int) -> int:
        stands = oracle.ending(journal, self.agreed)
        assert (now.outcome, now.reason, now.rounds, now.quiet) == stands, journal
        assert now.due == (stands[2] + 1 if stands[0] == "running" else None), journal
        if not left:
            return 1
        return 1 + self._answered(journal, now, left) + self._played(journal, now, left)

    def _answered(self, journal: tuple[oracle.Entry, ...], now: Standing, left: int) -> int:
        count = 0
        for said in self.answers:
            answer: Any = Answer(said.kind, "ann", rounds=said.rounds, calls=said.calls)  # type: ignore[arg-type]
            if not oracle.is_allowed(journal, said, self.agreed):
                with pytest.raises(Refused):
                    after_answer(now, answer)
                continue
            count += self._check((*journal, said), after_answer(now, answer)[0], left - 1)
        return count

    def _played(self, journal: tuple[oracle.Entry, ...], now: Standing, left: int) -> int:
        if now.due is None:
            with pytest.raises(Refused):
                after_round(now, self.policy, self._round(now, "nothing"))
            return 0
        count = 0
        for word in self.words:
            result = self._round(now, word)
            entry = oracle.Round(
                quiet=self._is_quiet(word),
                down=result.not_run,
                churn=result.churn or (result.suspected and self.policy.suspected_churn == "ask"),
                tripped=result.tripped,
                calls=result.spent.calls,
                covered=result.covered or self.policy.cover == "none",
            )
            count += self._check((*journal, entry), after_round(now, self.policy, result)[0], left - 1)
        return count

    def _is_quiet(self, word: str) -> bool:
        minded = ("fresh", "reopened") if self.policy.rule is Rule.DRY else ("blocking",)
        return not any(WORDS[word].get(what) for what in ("not_run", *minded))

    def _round(self, now: Standing, word: str) -> RoundResult:
        number = now.rounds + 1
        judging = 1 if WORDS[word].get("fresh") else 0
        spent = Spent(calls=now.spent.calls + 2 + judging)
        return replace(RoundResult(number, ASKED, frozenset(), 0, 0, 0, spent, price=2), **WORDS[word])


CEILINGS = (Ceilings(9), Ceilings(3), Ceilings(9, calls=7), Ceilings(4, calls=8))


@pytest.mark.parametrize("rule", list(Rule))
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("ceilings", CEILINGS, ids=str)
def test_every_journal_of_up_to_five_rounds_stands_where_the_oracle_says(
    rule: Rule, k: int, ceilings: Ceilings
) -> None:
    words = ("nothing", "fresh", "blocking", "b_down", "both_down", "tripped_judging")
    assert Walk(Policy(rule, k), ceilings, words).check(5) > 100


@pytest.mark.parametrize("rule", list(Rule))
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("asks", [{}, {"suspected_churn": "ask"}, {"cover": "all_angles"}], ids=str)
def test_every_word_in_every_place_of_four_stands_where_the_oracle_says(rule: Rule, k: int, asks: Any) -> None:
    policy = Policy(rule, k, on_exceeded="ask", **asks)
    assert Walk(policy, Ceilings(4, calls=9), tuple(WORDS)).check(4) > 100


@pytest.mark.parametrize("on_exceeded", ["stop", "ask"])
@pytest.mark.parametrize("turns", ["auto", "manual"])
@pytest.mark.parametrize("ceilings", [Ceilings(2), Ceilings(9, calls=5)], ids=str)
@pytest.mark.parametrize("rule", list(Rule))
def test_every_journal_of_five_rounds_and_answers_stands_where_the_oracle_says(
    rule: Rule, on_exceeded: str, turns: str, ceilings: Ceilings
) -> None:
    policy = Policy(rule, 2, on_exceeded, turns)
    assert Walk(policy, ceilings, ("nothing", "fresh", "b_down"), SAID).check(5) > 100


def test_every_answer_is_allowed_somewhere_and_refused_somewhere() -> None:
    """What the walks above reach, so that none of them is empty of what it is meant to try."""
    policy = Policy(Rule.DRY, 2, "ask", "manual")
    walk = Walk(policy, Ceilings(2), ("nothing",), SAID)
    reached: set[tuple[str, bool]] = set()

    def note(journal: tuple[oracle.Entry, ...], left: int) -> None:
        for said in SAID:
            may = oracle.is_allowed(journal, said, walk.agreed)
            reached.add((said.kind, may))
            if may and left:
                note((*journal, said), left - 1)
        if oracle.ending(journal, walk.agreed)[0] == "running" and left:
            for quiet in (True, False):
                note((*journal, oracle.Round(quiet)), left - 1)

    note((), 3)
    assert reached == {(said.kind, may) for said in SAID for may in (True, False)}

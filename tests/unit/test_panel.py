"""A panel's votes made one ruling: a majority decides, and nothing else does."""

import json
from uuid import UUID

import pytest

from drysweep_pipeline.judges import panel
from drysweep_pipeline.judges.question import Question, Ruling
from drysweep_pipeline.values import Verdict

FP = UUID(int=7)
BY_LETTER = {"c": Verdict.CONFIRMED, "r": Verdict.REJECTED, "u": Verdict.UNDECIDED}


def votes(letters: str) -> list[Ruling]:
    return [Ruling(FP, BY_LETTER[letter], f"why {n}", n) for n, letter in enumerate(letters, start=1)]


@pytest.mark.parametrize(
    ("letters", "majority", "verdict", "reason"),
    [
        ("c", 1, "confirmed", "why 1"),
        ("u", 1, "undecided", "why 1"),
        ("ccc", 2, "confirmed", "3 of 3 confirmed; member 1 confirmed: why 1"),
        ("rcr", 2, "rejected", "2 of 3 rejected; member 2 confirmed: why 2"),
        ("cru", 2, "undecided", "no majority of 3: 1 confirmed, 1 rejected, 1 undecided; member 1 confirmed: why 1"),
        ("cc", 2, "confirmed", "2 of 2 confirmed"),
        ("cr", 2, "undecided", "no majority of 2: 1 confirmed, 1 rejected"),
        ("ccu", 3, "undecided", "no majority of 3: 2 confirmed, 1 undecided"),
        ("uuc", 2, "undecided", "no majority of 3: 1 confirmed, 2 undecided"),
        ("cccrr", 3, "confirmed", "3 of 5 confirmed; member 4 rejected: why 4; member 5 rejected: why 5"),
    ],
)
def test_a_majority_decides(letters: str, majority: int, verdict: str, reason: str) -> None:
    ruling = panel.decided(FP, votes(letters), majority)
    assert ruling.verdict == verdict
    assert (ruling.reason or "").startswith(reason)


def test_long_reasons_of_many_members_are_cut() -> None:
    told = [Ruling(FP, Verdict.UNDECIDED, "x" * 2000, n) for n in range(1, 100)]
    assert len(panel.decided(FP, told, 50).reason or "") == 2000


def test_the_votes_are_told_one_by_one() -> None:
    assert json.loads(panel.as_json(votes("cr"))) == [
        {"member": 1, "verdict": "confirmed", "reason": "why 1"},
        {"member": 2, "verdict": "rejected", "reason": "why 2"},
    ]


def test_each_member_has_a_seed_of_its_own_for_each_finding_which_never_changes() -> None:
    from drysweep_pipeline.declaration.model import CommandJudge

    judge = CommandJudge(kind="command", argv=("x",), panel=3)
    findings = [{"fp": UUID(int=n)} for n in range(4)]

    def asked(round: int = 1, campaign: str = "c") -> list[int]:
        return [call.seed for call in Question(judge, findings, (), round, None, "s", campaign).calls]

    assert len(set(asked())) == 12
    assert asked() == asked()
    assert not set(asked()) & (set(asked(round=2)) | set(asked(campaign="d")))
    known = Question(judge, findings, (), 1, None, answered=frozenset({(UUID(int=0), 2)}))
    assert [(call.fp.int, call.member) for call in known.calls][:3] == [(0, 1), (0, 3), (1, 1)]
    assert len(known.calls) == known.size == 11

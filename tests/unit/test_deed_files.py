"""Files of deeds: every shape that is taken, and every refusal with its line and what would be right."""

from datetime import date
from pathlib import Path

import pytest

from drysweep_pipeline.deed_files import ACTS, asked, read_actions, read_entries
from drysweep_pipeline.engine.deeds import Asked
from drysweep_pipeline.errors import DeclarationError
from drysweep_pipeline.lifecycle import BY_PEOPLE, Act, Deed

FILE = Path("decided.yaml")
MIXED = """
- fix: api/no_owner
- contest: {finding: db/no_owner, evidence: "services/db.yaml:1", by: ann, reason: has one}
- accept_risk:
    findings:
      - web/no_owner
      - job/no_owner
    by: bob
    expires: 2026-01-31
- decline: tiny/no_owner
- escalate: {finding: batch/no_owner, reason: "whose is it?"}
- confirm: {finding: cron/no_owner, by: ann, reason: the exemption ended}
- withdraw: {finding: old/no_owner, by: bob, reason: too risky}
- fix: {finding: "d44f0b", by: ann, revision: d44f0bf, scope: api}
"""


def test_a_mixed_file_is_read_action_by_action_each_with_its_line() -> None:
    said = [(each.finding, each.deed.act, each.deed.by, each.line) for each in read_actions(FILE, MIXED)]
    assert said == [
        ("api/no_owner", Act.FIX, None, 2),
        ("db/no_owner", Act.CONTEST, "ann", 3),
        ("web/no_owner", Act.ACCEPT_RISK, "bob", 6),
        ("job/no_owner", Act.ACCEPT_RISK, "bob", 7),
        ("tiny/no_owner", Act.DECLINE, None, 10),
        ("batch/no_owner", Act.ESCALATE, None, 11),
        ("cron/no_owner", Act.CONFIRM, "ann", 12),
        ("old/no_owner", Act.WITHDRAW, "bob", 13),
        ("d44f0b", Act.FIX, "ann", 14),
    ]


def test_what_an_action_brings_comes_with_it() -> None:
    read = read_actions(FILE, MIXED)
    assert read[1].deed == Deed(Act.CONTEST, "ann", "services/db.yaml:1", "has one")
    assert read[3].deed == Deed(Act.ACCEPT_RISK, "bob", expires=date(2026, 1, 31))
    assert read[-1].deed == Deed(Act.FIX, "ann", revision="d44f0bf", scope="api")


def test_every_act_of_people_can_be_written_down_and_none_of_the_rules_can() -> None:
    assert set(ACTS) == set(BY_PEOPLE)


def test_the_entries_of_one_act_are_findings_or_mappings_of_its_keys() -> None:
    text = '- api/no_owner\n- {finding: db/no_owner, by: bob}\n- findings: [web/no_owner, "12345678"]\n'
    read = read_entries(FILE, Act.FIX, text, {"by": "ann", "reason": "release 3"})
    assert [(each.finding, each.deed.by, each.deed.reason, each.line) for each in read] == [
        ("api/no_owner", "ann", "release 3", 1),
        ("db/no_owner", "bob", "release 3", 2),
        ("web/no_owner", "ann", "release 3", 3),
        ("12345678", "ann", "release 3", 3),
    ]


def test_a_name_for_all_fills_in_where_an_action_gives_none() -> None:
    text = '- contest: {finding: a, evidence: "a:1"}\n- fix: {finding: b, by: bob}\n- fix: {finding: c, by: null}\n'
    assert [each.deed.by for each in read_actions(FILE, text, {"by": "ann"})] == ["ann", "bob", "ann"]


REFUSED = {
    "a: b": (1, "expected a list of actions, got a mapping"),
    "[]": (1, "the list of actions is empty"),
    "- fix: a\n- decline\n": (2, r"\[1\]: expected one action, got 'decline'"),
    "- fix: a\n  decline: b\n": (1, "expected one action, got 2 keys"),
    "- fix: a\n- accept-risk: {finding: a, by: b}\n": (2, "unknown action 'accept-risk' .did you mean 'accept_risk'"),
    "- reopen: a\n": (1, "unknown action 'reopen' .there is fix, contest"),
    "- lapse: a\n": (1, "unknown action 'lapse'"),
    "- 3: x\n": (1, "unknown action 3"),
    "- contest: {finding: a, by: ann}\n": (1, "contest.evidence: 'evidence' is missing"),
    "- contest:\n    finding: a\n    by: ann\n    evidence: ''\n": (4, "contest.evidence: expected text, got ''"),
    "- confirm: {finding: a}\n": (1, "confirm.by: 'by' is missing"),
    "- accept_risk: {finding: a}\n": (1, "accept_risk.by: 'by' is missing"),
    "- withdraw: a\n": (1, "withdraw.by: 'by' is missing"),
    "- fix: a\n- accept_risk:\n    finding: a\n    by: '  '\n": (4, "accept_risk.by: expected text, got '  '"),
    "- fix:\n    finding: a\n    revison: b\n": (3, "unknown key 'revison' .did you mean 'revision'"),
    "- fix: {finding: a, expires: 2026-01-01}\n": (1, "unknown key 'expires'"),
    "- contest: {finding: a, by: b, evidence: 'a:1', scope: x}\n": (1, "unknown key 'scope'"),
    "- fix: {}\n": (1, "fix: names no finding"),
    "- fix:\n": (1, "fix: names no finding"),
    "- fix: {finding: a, findings: [b]}\n": (1, "stand side by side"),
    "- fix: {findings: []}\n": (1, "'findings' is empty"),
    "- fix:\n    findings:\n    - a\n    - 3\n": (4, r"findings\[1\]: expected text, got 3 .in quotes it is text"),
    "- fix: 123456\n": (1, "expected text, got 123456 .in quotes"),
    "- fix: 12e4567\n": (1, "expected text, got inf .in quotes"),
    "- fix: 2026-01-01\n": (1, "expected text, got the date 2026-01-01 .in quotes"),
    "- fix: [a, b]\n": (1, "expected text, got a list"),
    "- fix: ''\n": (1, "expected text, got ''"),
    "- accept_risk: {finding: a, by: b, expires: soon}\n": (1, "expires: expected a date, got 'soon'"),
    "- fix: a\n- contest: {finding: a, by: b, evidence: a.py:1}\n": (2, "unexpected ':' .inside of braces, a text"),
    "- fix: a\n  fix: b\n": (2, "fix"),
}


@pytest.mark.parametrize("text", list(REFUSED), ids=lambda text: text.strip().replace("\n", " "))
def test_what_is_wrong_is_refused_with_its_line_and_what_would_be_right(text: str) -> None:
    line, said = REFUSED[text]
    with pytest.raises(DeclarationError, match=said) as caught:
        read_actions(FILE, text)
    assert (caught.value.file, caught.value.line) == (str(FILE), line)


def test_the_first_of_several_wrong_things_says_how_many_more_there_are() -> None:
    with pytest.raises(DeclarationError, match="2 more wrong in this file") as caught:
        read_actions(FILE, "- fix: a\n- fix: 1\n- fixx: a\n- contest: {finding: a, by: b}\n")
    assert caught.value.line == 2


def test_an_empty_file_and_one_that_is_not_there_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.yaml").write_text("")
    for name in ("empty.yaml", "none.yaml"):
        with pytest.raises(DeclarationError):
            read_actions(tmp_path / name)


def test_an_action_of_configuration_is_held_to_the_same_keys() -> None:
    given = {"findings": ["a", "b"], "by": "ann", "expires": "2026-01-31"}
    assert asked("accept_risk", given) == [
        Asked(name, Deed(Act.ACCEPT_RISK, "ann", expires=date(2026, 1, 31))) for name in ("a", "b")
    ]
    with pytest.raises(DeclarationError, match=r"acts\[2\].contest.expires: unknown key") as caught:
        asked("contest", {**given, "evidence": "a:1"}, ("acts", 2))
    assert caught.value.file is None

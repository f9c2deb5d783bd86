"""What reports say in words: the verdict in a sentence, and text that others wrote made safe."""

import json
from typing import Any

import pytest

from drysweep_pipeline.reports import FORMATS, WRITTEN
from drysweep_pipeline.reports.json import _finding
from drysweep_pipeline.reports.sentence import sentence
from drysweep_pipeline.reports.shown import called
from drysweep_pipeline.reports.summary import _states
from drysweep_pipeline.reports.text import cell, code, prose, safe_text
from drysweep_pipeline.values import Outcome

BLOCKING = dict.fromkeys(("raised", "contested", "contested_unverified", "accepted", "rejected", "open"), 0)


def told(**changes: Any) -> dict[str, Any]:
    """The worked case as a summary, with some of it changed."""
    summary: dict[str, Any] = {
        "outcome": "converged",
        "reason": None,
        "rule": "dry",
        "k": 2,
        "rounds": 5,
        "quiet": 2,
        "repeats": 0,
        "new": [61, 19, 4, 0, 0],
        "seen": 84,
        "confirmed": 76,
        "rejected": 8,
        "undecided": 0,
        "unjudged": 0,
        "not_run": [],
        "not_searched": 0,
        "blocking": BLOCKING,
    }
    return {**summary, **changes}


def test_a_converged_search_says_that_these_strategies_find_no_more() -> None:
    assert sentence(told()) == (
        "CONVERGED after 5 rounds (K=2): 84 findings seen, 76 confirmed, 8 rejected. These strategies find no more."
    )


def test_a_search_cut_short_is_a_lower_bound() -> None:
    cut = told(outcome="budget_exceeded", reason="rounds", rounds=12, quiet=0, new=[9] * 11 + [4])
    assert sentence(cut) == (
        "NOT CONVERGED, budget_exceeded (rounds) at round 12: 4 findings still arriving; a lower bound."
    )


def test_a_search_cut_short_while_quiet_says_how_quiet_it_was() -> None:
    cut = told(outcome="budget_exceeded", reason="calls", rounds=4, quiet=1, new=[61, 19, 4, 0])
    assert sentence(cut) == (
        "NOT CONVERGED, budget_exceeded (calls) at round 4: 84 findings seen, 76 confirmed, 8 rejected, "
        "quiet for 1 of 2 rounds; a lower bound."
    )


@pytest.mark.parametrize("outcome", ["budget_exceeded", "accepted", "returned", "stopped", "failed"])
def test_whatever_ended_a_search_before_it_went_quiet_its_counts_are_a_lower_bound(outcome: str) -> None:
    assert sentence(told(outcome=outcome, quiet=0)).endswith("a lower bound.")


def test_one_is_not_written_in_the_plural() -> None:
    one = told(outcome="stopped", rounds=1, quiet=0, new=[1], seen=1, confirmed=1, rejected=0, not_searched=1)
    assert sentence(one) == (
        "NOT CONVERGED, stopped at round 1: 1 finding still arriving; a person stopped it, a lower bound. "
        "1 file not searched."
    )


def test_a_campaign_that_the_next_one_of_its_schedule_took_the_place_of_was_stopped_by_no_person() -> None:
    stop = {"name": "campaign_stopped", "round": 5, "actor": "schedule", "reason": "superseded"}
    text = sentence(told(outcome="stopped", quiet=0, new=[1] * 5, events=[stop]))
    assert text.endswith("1 finding still arriving; the schedule stopped it, a lower bound.")
    asked = {**stop, "actor": "ann", "reason": None}
    assert "; a person stopped it" in sentence(told(outcome="stopped", quiet=0, new=[1] * 5, events=[stop, asked]))


def test_what_nobody_answered_and_what_was_not_searched_is_counted() -> None:
    text = sentence(told(undecided=3, unjudged=2, not_searched=7))
    assert "8 rejected, 3 undecided, 2 unjudged." in text
    assert text.endswith("7 files not searched.")


def test_repeats_are_told_because_they_prove_little() -> None:
    assert sentence(told(repeats=1)).endswith("1 of the 2 quiet rounds repeated earlier angles.")


def test_a_clean_search_counts_what_settled_its_blocking_findings() -> None:
    blocking = {"raised": 0, "contested": 2, "contested_unverified": 1, "accepted": 1, "rejected": 3, "open": 4}
    assert sentence(told(rule="clean", blocking=blocking)).endswith(
        "These strategies find no more that blocks and is unsettled. "
        "Blocking findings: 0 unsettled that the last round raised, "
        "2 contested (1 with evidence that the material does not have), 1 accepted, 3 rejected, "
        "4 open that nobody raised again."
    )


def test_a_command_in_a_sentence_is_code_that_pastes_and_the_rest_is_escaped() -> None:
    told = prose(
        "`drysweep resume a_b/*c --home '/it is'`: about *2* more rounds", "drysweep resume a_b/*c --home '/it is'"
    )
    assert told == "`drysweep resume a_b/*c --home '/it is'`: about \\*2\\* more rounds"
    assert prose("take `kind` out", None) == "take \\`kind\\` out"
    assert code("a`b``c") == "```a`b``c```"


def test_a_failed_search_names_who_did_not_run() -> None:
    lost = [{"round": number, "strategy": "linter", "reason": "exit code 1"} for number in (3, 4, 5)]
    text = sentence(told(outcome="failed", reason="not_run", quiet=0, not_run=lost))
    assert text.startswith("NOT CONVERGED, failed (not_run) at round 5: 84 findings seen")
    assert "linter did not run three times in a row; a lower bound." in text


def test_a_failed_search_does_not_say_three_times_of_who_did_not_run_once() -> None:
    down = [{"round": number, "strategy": "linter", "reason": "exit code 1"} for number in (3, 4, 5)]
    once = {"round": 5, "strategy": "prefix", "reason": "timeout"}
    text = sentence(told(outcome="failed", reason="not_run", quiet=0, not_run=[*down, once]))
    assert "; linter did not run three times in a row; a lower bound." in text


@pytest.mark.parametrize("outcome", [outcome for outcome in Outcome if outcome is not Outcome.CONVERGED])
def test_every_other_outcome_is_named_and_never_sounds_converged(outcome: Outcome) -> None:
    text = sentence(told(outcome=outcome.value, reason="churn", new=[]))
    assert text.startswith(f"NOT CONVERGED, {outcome.value} (churn) at round 5: ")
    assert "complete" not in text
    assert "no more" not in text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 漢", "plain é 漢"),
        ("\x1b[2J", "␛[2J"),
        ("a\r\nb\x00\x7f", "a␍␊b␀␡"),
        ("\u202egnp.exe", "<U+202E>gnp.exe"),
        ("zero\u200bwidth\x9b", "zero<U+200B>width<U+009B>"),
    ],
)
def test_characters_that_drive_a_terminal_are_made_visible(text: str, shown: str) -> None:
    assert safe_text(text) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "-"),
        ("", "-"),
        (0, "0"),
        ("a|b", "a\\|b"),
        ("`x` *y*", "\\`x\\` \\*y\\*"),
        ("no_owner _it_", "no_owner \\_it\\_"),
        ("[a](javascript:x)", "\\[a\\](javascript:x)"),
        ("<script>&", "&lt;script&gt;&amp;"),
        ("x" * 500, "x" * 159 + "…"),
    ],
)
def test_a_cell_keeps_its_content_to_itself(value: object, shown: str) -> None:
    assert cell(value) == shown


def test_every_report_that_is_written_has_a_format() -> None:
    assert set(WRITTEN) <= set(FORMATS)


def test_one_quiet_round_that_repeated_is_told_in_the_singular() -> None:
    assert sentence(told(repeats=1, quiet=1)).endswith(". The quiet round repeated earlier angles.")


def test_findings_of_one_label_are_all_told() -> None:
    fps = ["11111111-0000", "22222222-0000", "22222222-1111", "33333333-0000"]
    labels = ["a/b", "a/b", "a/b", "c"]
    rows = [{"label": label, "fp": fp, "status": fp} for label, fp in zip(labels, fps, strict=True)]
    assert _states(rows) == dict(zip(["a/b", "a/b (22222222)", "a/b (22222222-1111)", "c"], fps, strict=True))


def test_a_number_that_json_lacks_does_not_keep_a_report_from_being_written() -> None:
    row = _finding({"label": "a", "attributes": '{"a": NaN, "b": -Infinity, "c": 1e999, "d": 1.5}'})
    assert row["attributes"] == {"a": "NaN", "b": "-Infinity", "c": "1e999", "d": 1.5}
    assert json.loads(json.dumps(row, allow_nan=False)) == row


@pytest.mark.parametrize(
    ("title", "label", "name"),
    [
        ("no owner in api.yaml", "api/no_owner", "no owner in api.yaml"),
        ("no_owner: api", "api/no_owner", "no_owner: api"),
        ("no_owner: api", "no_owner", "no_owner: api"),
        ("no_owner: api", "api/no_owner/line 7", "api/no_owner/line 7"),
        (None, "api/no_owner", "api/no_owner"),
    ],
)
def test_a_finding_is_called_by_its_label_where_a_default_title_would_not_tell_it_apart(
    title: str | None, label: str, name: str
) -> None:
    assert called({"subject": "api", "kind": "no_owner", "title": title, "label": label}) == name

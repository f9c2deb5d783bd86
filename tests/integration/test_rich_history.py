"""Every answer of the history, held against what was landed: by an oracle that shares no code with the product."""

import csv
import io
import itertools
import json
import shutil
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID
from xml.etree import ElementTree

import duckdb
import pandas
import polars
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from drysweep_pipeline.engine.campaign import load
from drysweep_pipeline.engine.deeds import Asked as AskedFor
from drysweep_pipeline.engine.deeds import act
from drysweep_pipeline.history import history, payload
from drysweep_pipeline.home import Home
from drysweep_pipeline.keeping.rebuilding import rebuild
from drysweep_pipeline.lifecycle import Act, Deed
from drysweep_pipeline.reports import FORMATS
from drysweep_pipeline.reports.asked import Asked
from drysweep_pipeline.reports.contents import contents
from tests.history_oracle import Oracle, Row
from tests.rich import rich

VIEWS = (
    *("campaigns", "rounds", "strategy_runs", "sightings", "verdicts", "events"),
    *("findings", "all_findings", "open_findings", "strategy_yield", "angles"),
)
# A row of each is told from the others by these.
_KEYS = ("campaign", "round", "seq", "ord", "fp", "strategy", "attempt", "position")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return rich(tmp_path_factory.mktemp("rich"))


@pytest.fixture(scope="module")
def opened(home: Home) -> Iterator[duckdb.DuckDBPyConnection]:
    with history(home) as connection:
        yield connection


@pytest.fixture(scope="module", params=["mixed", "small"])
def oracle(home: Home, request: pytest.FixtureRequest) -> Oracle:
    return Oracle(home.root, request.param)


def asked(opened: duckdb.DuckDBPyConnection, oracle: Oracle, source: str, *given: Any) -> list[Row]:
    """Return the rows of a view or macro about the oracle's sweep, as plain values."""
    cursor = opened.execute(f"select * from {source} where sweep = ?", [*given, oracle.sweep])
    names = [column[0] for column in cursor.description or []]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def plain(rows: Sequence[Row]) -> list[Row]:
    """Return rows as they may be compared, in a fixed order."""
    told = [{name: _plain(value) for name, value in row.items() if name != "sweep"} for row in rows]
    return sorted(told, key=lambda row: [str(row.get(key)) for key in _KEYS])


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    if isinstance(value, float):
        return round(value, 6)
    return str(value) if isinstance(value, UUID) else value


def recorded(oracle: Oracle) -> list[datetime]:
    """Return instants just when something was recorded: rounds taken in, decided, and what people did."""
    done = {each["at"] for each in oracle.past.events}
    found = sorted(done | {each.taken_at for each in oracle.rounds} | {each.decided_at for each in oracle.rounds})
    return found[::5]


def looked_at(oracle: Oracle) -> list[datetime]:
    days = sorted({each.as_of for each in oracle.campaigns})
    return [days[0] - timedelta(days=1), *days]


def test_that_much_happened(oracle: Oracle) -> None:
    outcomes = {each.stands[0] for each in oracle.campaigns}
    names = {each["name"] for each in oracle.past.events}
    assert names >= {"finding_reopened", "acceptance_expired", "finding_fixed", "finding_confirmed"}
    assert sum(oracle.past.reopened.values())
    if oracle.sweep == "mixed":
        assert outcomes == {"accepted", "converged", "failed", "stopped", "needs_decision"}
        assert {"rejected", "undecided"} <= {row["status"] for row in oracle.view_all_findings()}
    else:
        assert outcomes == {"converged", "budget_exceeded"}
        assert any(each.again for each in oracle.campaigns)


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_says_what_was_landed(opened: duckdb.DuckDBPyConnection, oracle: Oracle, view: str) -> None:
    assert plain(asked(opened, oracle, view)) == plain(getattr(oracle, f"view_{view}")())


@pytest.mark.parametrize("macro", ["findings_as_of", "all_findings_as_of"])
def test_findings_as_of_are_those_of_the_material_then(
    opened: duckdb.DuckDBPyConnection, oracle: Oracle, macro: str
) -> None:
    for t in looked_at(oracle):
        assert plain(asked(opened, oracle, f"{macro}(?)", t)) == plain(getattr(oracle, macro)(t)), t


@pytest.mark.parametrize("macro", ["findings_known_at", "all_findings_known_at"])
def test_findings_known_at_are_those_of_the_record_then(
    opened: duckdb.DuckDBPyConnection, oracle: Oracle, macro: str
) -> None:
    for t in recorded(oracle):
        assert plain(asked(opened, oracle, f"{macro}(?)", t)) == plain(getattr(oracle, macro)(t)), t


def test_what_is_new_between_two_instants(opened: duckdb.DuckDBPyConnection, oracle: Oracle) -> None:
    for a, b in itertools.combinations(looked_at(oracle), 2):
        assert plain(asked(opened, oracle, "new_between(?, ?)", a, b)) == plain(oracle.new_between(a, b)), (a, b)


def test_what_became_of_findings_between_any_two_campaigns(opened: duckdb.DuckDBPyConnection, oracle: Oracle) -> None:
    ordered = sorted(oracle.campaigns, key=lambda each: (each.as_of, each.seq))
    for a, b in itertools.combinations([each.id for each in ordered], 2):
        assert plain(asked(opened, oracle, "campaign_diff(?, ?)", a, b)) == plain(oracle.campaign_diff(a, b)), (a, b)


def test_what_is_published(opened: duckdb.DuckDBPyConnection, oracle: Oracle) -> None:
    [row] = asked(opened, oracle, "published()")
    assert row.pop("published_at") >= max(each.decided_at for each in oracle.rounds)
    assert plain([row]) == plain(oracle.published())


def test_what_a_finding_said_then_is_told_of_then(opened: duckdb.DuckDBPyConnection) -> None:
    """By hand: back/k was reported otherwise in January, found out last, in March and in April."""
    said = "select title, severity, owner from {}('{}') where sweep = 'mixed' and label = 'back/k'"
    days = [date(2025, 1, 15), date(2025, 3, 1), date(2025, 4, 1), date(2025, 5, 1)]
    told = [opened.execute(said.format("findings_as_of", day)).fetchall() for day in days]
    assert told == [
        [("earliest", "major", None)],
        [("first", "blocker", "ada")],
        [("k: back", "nit", None)],
        [("k: back", "major", None)],
    ]


def aged(home: Home) -> None:
    """Make a history what an earlier drysweep published, which did not keep what findings had said before."""
    with duckdb.connect(str(home.history)) as connection:
        connection.execute("drop table published.former_payload")
        for column in ("said_hash", "since_as_of", "since_seq", "since_round"):
            connection.execute(f"alter table published.payload drop column {column}")
        connection.execute("update published.edition set views = 'of before'")


def test_a_history_that_an_earlier_version_published_goes_on_and_is_whole_once_it_is_made_anew(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(home.root, tmp_path / "home")
    copy = Home(tmp_path / "home")
    aged(copy)
    newest = load(copy, "small", "third")
    act(newest, [AskedFor("new/no_owner", Deed(Act.ESCALATE, "ann", reason="who knows"))])
    oracle = Oracle(copy.root, "small")
    with history(copy) as connection:
        for t in looked_at(oracle):
            found = {row["fp"]: row["state"] for row in plain(asked(connection, oracle, "findings_as_of(?)", t))}
            assert found == {row["fp"]: row["state"] for row in oracle.findings_as_of(t)}
    # As a long past is: in several parts.
    monkeypatch.setattr(payload, "_ROUNDS_AT_ONCE", 2)
    for each in (oracle, Oracle(copy.root, "mixed")):
        rebuild(copy, each.sweep)
        with history(copy) as connection:
            assert plain(asked(connection, each, "all_findings")) == plain(each.view_all_findings())
            for t in looked_at(each):
                assert plain(asked(connection, each, "findings_as_of(?)", t)) == plain(each.findings_as_of(t)), t


def told(format: str, shown: str | bytes) -> list[tuple[str, str, str]]:
    """Return (label, status, severity) of the findings in an export, as those read it that such files are for."""
    if format == "parquet":
        frames = [polars.read_parquet(io.BytesIO(_bytes(shown))), pandas.read_parquet(io.BytesIO(_bytes(shown)))]
        first, second = (sorted(zip(*(frame[name] for name in NAMED), strict=True)) for frame in frames)
        assert first == second
        return first
    text = _bytes(shown).decode()
    rows: list[Row] = {
        "csv": lambda: list(csv.DictReader(io.StringIO(text, newline=""))),
        "json": lambda: json.loads(text)["findings"],
        "jsonl": lambda: [row for row in map(json.loads, text.splitlines()) if row["drysweep"] == "finding"],
        "sarif": lambda: [result["properties"] for result in json.loads(text)["runs"][0]["results"]],
    }[format]()
    return sorted((row["label"], row["status"], row["severity"]) for row in rows)


def _bytes(shown: str | bytes) -> bytes:
    return shown.encode() if isinstance(shown, str) else shown


NAMED = ("label", "status", "severity")
MEASURED = ("rounds", "k", "calls", "tokens", "cost_usd")


@pytest.mark.parametrize("rejected", [False, True])
def test_every_export_of_every_campaign_lists_the_findings_that_sql_does(
    home: Home, oracle: Oracle, rejected: bool
) -> None:
    for campaign in oracle.campaigns:
        all_of_it = contents(home, oracle.sweep, campaign.id, Asked(rejected=rejected))
        listed = [row for row in oracle.view_all_findings() if row["fp"] in campaign.raised]
        expected = sorted(
            tuple(row[name] for name in NAMED) for row in listed if rejected or row["status"] != "rejected"
        )
        for format in ("csv", "json", "jsonl", "parquet", "sarif"):
            assert told(format, FORMATS[format].render(all_of_it)) == expected, (campaign.id, format)
        suites = {each.attrib["name"]: each for each in ElementTree.fromstring(FORMATS["junit"].render(all_of_it))}
        assert int(suites[f"{oracle.sweep}: findings"].attrib["tests"]) == len(expected)


def test_the_metrics_of_every_campaign_are_the_numbers_that_sql_has(home: Home, oracle: Oracle) -> None:
    for row in oracle.view_campaigns():
        shown = FORMATS["openmetrics"].render(contents(home, oracle.sweep, row["campaign"], Asked()))
        assert isinstance(shown, str)
        read = {}
        for family in text_string_to_metric_families(shown):
            for sample in family.samples:
                labels = [value for name, value in sorted(sample.labels.items()) if name != "sweep"]
                read[sample.name, *labels] = sample.value
        assert {name: read[(f"drysweep_{name}",)] for name in MEASURED} == {name: row[name] for name in MEASURED}
        for verdict in ("confirmed", "rejected", "undecided", "unjudged"):
            assert read["drysweep_findings", verdict] == row[verdict]
        assert read["drysweep_outcome", row["outcome"]] == 1
        assert read[("drysweep_ledger_findings",)] == len(oracle.view_all_findings())
        mine = [each for each in oracle.view_open_findings() if each["fp"] in oracle.by_id[row["campaign"]].raised]
        for severity in ("blocker", "major", "minor", "nit"):
            said = read["drysweep_findings_open", severity]
            assert said == sum(each["severity"] == severity for each in mine)

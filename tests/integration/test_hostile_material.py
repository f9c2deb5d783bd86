"""Hostile names and values through a whole campaign: kept as they are, and nothing but data to anybody."""

import gzip
from typing import Any

import pytest

from drysweep_pipeline import sandbox
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.errors import FinderError
from drysweep_pipeline.history.reading import history
from drysweep_pipeline.home import Home
from drysweep_pipeline.material.snapshot import DATABASE
from drysweep_pipeline.reports import write_report
from tests.sweeps import begin, declare, ledger_rows, registry, run_to_its_end

NAMES = [
    "'; drop table seen;--",
    '" or 1=1 --',
    "{{7*7}} {% raw %}",
    "$seed %s {0} {material}",
    "<script>alert(1)</script>",
    "[link](javascript:alert(1)) `code`",
    "=cmd|' /C calc'!A0",
    "\x1b[2Jgone",
    "a\u202etxt.exe",
    "line\nbreak",
]
TIMES = 10_000
EVERYTHING = """
    select path as service, $mode as failure_mode, path as title, path, 'see ' || path as evidence
    from files
    where path like 'services/%.yaml'
"""
# As many rows of one finding, from two strategies.
LOUD = f"select 'loud' as service, 'm' as failure_mode from range({TIMES})"


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """A campaign named by digits only, over files with hostile names and a bomb beside them."""
    folder = tmp_path_factory.mktemp("hostile")
    registry(folder / "registry", {name.replace("/", "\u2215"): None for name in NAMES})
    (folder / "registry" / "bomb.yaml.gz").write_bytes(gzip.compress(bytes(50 << 20)))
    modes = {"angles": [{"mode": "'; drop table events;--"}]}
    path = declare(folder, {"everything": EVERYTHING, "loud": LOUD, "louder": LOUD}, everything=modes)
    return run_to_its_end(begin(path, Home(folder / "home"), campaign="20240101"))


def ask(campaign: Campaign, query: str) -> list[tuple[Any, ...]]:
    with history(campaign.home.home) as connection:
        return connection.execute(query).fetchall()


def test_sql_in_any_name_or_value_is_only_a_name_or_a_value(swept: Campaign) -> None:
    found = {title for (title,) in ask(swept, "select title from findings where subject <> 'loud'")}
    assert found == {f"services/{name.replace('/', chr(0x2215))}.yaml" for name in NAMES}
    assert ask(swept, "select distinct kind from findings where subject <> 'loud'") == [("'; drop table events;--",)]
    assert len(ledger_rows(swept)["seen"]) == len(NAMES) + 1
    assert ask(swept, "select outcome from campaigns") == [("converged",)]


def test_ten_thousand_rows_of_one_finding_are_one_finding_and_every_hit_is_counted(swept: Campaign) -> None:
    hits = ask(swept, "select strategy, round, hits from sightings where hits > 1 order by round, strategy")
    assert hits[:2] == [("loud", 1, TIMES), ("louder", 1, TIMES)]
    assert ask(swept, "select sum(fresh) from rounds") == [(len(NAMES) + 1,)]
    yielded = ask(swept, "select strategy, found, unique_found, shared from strategy_yield order by strategy")
    assert yielded == [("everything", len(NAMES), len(NAMES), 0), ("loud", 1, 0, 1), ("louder", 1, 0, 1)]


def test_an_id_that_looks_like_a_number_or_a_date_stays_a_text(swept: Campaign) -> None:
    columns = "select distinct typeof(campaign), campaign from {}"
    for view in ("campaigns", "rounds", "sightings", "strategy_runs"):
        assert ask(swept, columns.format(view)) == [("VARCHAR", "20240101")], view


def test_a_report_on_hostile_names_holds_nothing_that_runs_or_steers(swept: Campaign) -> None:
    text = write_report(swept.home.home, "small", swept.id)["md"].read_text(encoding="utf-8")
    assert "<script" not in text
    assert "[link](" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "line\u240abreak" in text


@pytest.mark.parametrize(
    "sql",
    [
        "select * from 'x.csv'",
        "select * from '/etc/passwd'",
        'select * from "ledger.duckdb"',
        "select * from 'https://example.org/x.parquet'",
    ],
)
def test_a_table_that_is_really_a_file_is_not_there(swept: Campaign, sql: str) -> None:
    snapshot = next(swept.home.snapshots.iterdir())
    with sandbox.locked(snapshot / DATABASE) as connection, pytest.raises(FinderError):
        sandbox.run(connection, sql, {}, seconds=200, max_rows=10)


def test_what_is_packed_in_the_material_is_not_unpacked(swept: Campaign) -> None:
    folder = next(swept.home.snapshots.iterdir())
    assert sum(path.stat().st_size for path in folder.iterdir()) < 5 << 20
    assert ask(swept, "select distinct not_searched from campaigns") == [(0,)], "a binary file has no text to search"

"""What material may do to a search: move while it runs, be empty, lie in folders like columns, hold odd dates."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from drysweep_pipeline.engine.journal import standing
from drysweep_pipeline.engine.planning import plan, read_plan
from drysweep_pipeline.engine.wave import wave
from drysweep_pipeline.errors import MaterialError
from drysweep_pipeline.home import Home
from drysweep_pipeline.material import Snapshot, freeze
from drysweep_pipeline.reports.summary import summary
from tests.finders import command, declared, function, rows
from tests.integration.test_tables import asked, database, tables, types, written
from tests.sweeps import AS_OF, NO_OWNER, begin, declare, registry, run_to_its_end, steps

LIVE = """
import pathlib
for path in sorted(pathlib.Path(os.environ["DRYSWEEP_MATERIAL"], "services").iterdir()):
    if "owner" not in path.read_text():
        say(path.stem)
end(1)
"""


def test_all_strategies_and_rounds_read_one_registry_whatever_becomes_of_it(tmp_path: Path) -> None:
    registry(tmp_path / "registry", {"api": None, "web": "ann"})
    (tmp_path / "sql.sql").write_text(NO_OWNER)
    body = f"return [{{'service': row['service'], 'failure_mode': 'm'}} for row in material.query({NO_OWNER!r})]"
    strategies = [
        {"name": "sql", "kind": "sql", "query": {"file": "sql.sql"}},
        function(tmp_path, "asks", body),
        command(tmp_path, "reads", LIVE),
    ]
    path = declared(tmp_path, strategies)
    campaign = begin(path, Home(tmp_path / "home"))
    plan(campaign, 1)
    registry(tmp_path / "registry", {"api": "bob", "web": None, "new": None})
    found = {run.strategy: [row["subject"] for row in rows(campaign, run)] for run in wave(campaign, 1)}
    assert found == {"sql": ["api"], "asks": ["api"], "reads": ["api"]}
    steps(campaign, 1)
    assert plan(campaign, 2).snapshot == plan(campaign, 1).snapshot
    later = begin(path, Home(tmp_path / "home"), campaign="later")
    assert plan(later, 1).snapshot != plan(campaign, 1).snapshot


def test_an_empty_registry_is_no_quiet_round(tmp_path: Path) -> None:
    (tmp_path / "registry").mkdir()
    campaign = begin(declare(tmp_path, {"labels": NO_OWNER}), Home(tmp_path / "home"))
    with pytest.raises(MaterialError, match=r"holds no service.*allow_empty: true"):
        plan(campaign, 1)
    assert (read_plan(campaign, 1), standing(campaign).rounds) == (None, 0)


def test_an_empty_registry_that_is_allowed_goes_quiet(tmp_path: Path) -> None:
    (tmp_path / "registry").mkdir()
    material = {"kind": "registry", "path": "registry", "map": {"services": "services/*.yaml"}, "allow_empty": True}
    campaign = run_to_its_end(
        begin(declare(tmp_path, {"labels": NO_OWNER}, material=material), Home(tmp_path / "home"))
    )
    told = summary(campaign.home.home, "small", campaign.id)
    assert (told["outcome"], told["new"]) == ("converged", [0, 0])


def test_folders_that_look_like_columns_are_none_of_them(tmp_path: Path) -> None:
    # DuckDB takes such folders for columns, and has them win over those in the file.
    folder = tmp_path / "severity=nit" / "fp=2024-01-01" / "service=evil%2Ftwin"
    registry(folder / "registry", {"api": None, "web": "ann"})
    campaign = run_to_its_end(begin(declare(folder, {"labels": NO_OWNER}), Home(folder / "home")))
    told = summary(campaign.home.home, "small", campaign.id)
    assert told["states"] == {"api/no_owner": "open"}
    assert told["blocking"]["raised"] == 1


@pytest.fixture(scope="module")
def dated(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """A snapshot of tables with dates that are none, from folders that look like columns."""
    home = tmp_path_factory.mktemp("dated") / "day=2024-01-01"
    folder = written(
        home / "r" / "zone=a%2Fb",
        {
            "far.csv": "at\n10000-01-01\n",
            "zoned.csv": "at\n2026-01-01T25:00:00Z\n",
            "short.csv": "at\n26-1-1\n",
            "days.csv": "at\n2026-01-01\n",
            "declared.csv": "at\n2026-01-01\n2026-02-30\n",
            "times.csv": "seen\n2026-01-01 00:30\n2026-01-01T00:30:00+02:00\n",
        },
    )
    database(folder / "d.db", "create table t as select 'infinity'::timestamp as never, '290000-01-01'::date as far")
    declared_tables: dict[str, Any] = {
        "text": "zone=a%2Fb/days.csv",
        "far": {"file": "zone=a%2Fb/far.csv", "columns": {"at": "DATE"}},
        "zoned": {"file": "zone=a%2Fb/zoned.csv", "columns": {"at": "TIMESTAMPTZ"}},
        "short": {"file": "zone=a%2Fb/short.csv", "columns": {"at": "DATE"}},
        "days": {"file": "zone=a%2Fb/days.csv", "columns": {"at": "DATE"}},
        "declared": {"file": "zone=a%2Fb/declared.csv", "columns": {"at": "DATE"}},
        "times": {"file": "zone=a%2Fb/times.csv", "columns": {"seen": "TIMESTAMPTZ"}},
        "db": {"file": "zone=a%2Fb/d.db", "table": "t"},
    }
    return freeze(tables(declared_tables), home, AS_OF, home / "snapshots")


def test_what_is_no_date_refuses_a_table_that_declares_one(dated: Snapshot) -> None:
    assert types(dated, "text") == {"at": "VARCHAR"}
    assert types(dated, "days") == {"at": "DATE"}
    assert dated.unreadable() == [
        ("zone=a%2Fb/declared.csv", 'table declared: row 2: at is "2026-02-30", which is no DATE'),
        ("zone=a%2Fb/far.csv", 'table far: row 1: at is "10000-01-01", which is no DATE'),
        ("zone=a%2Fb/short.csv", 'table short: row 1: at is "26-1-1", which is no DATE'),
        ("zone=a%2Fb/zoned.csv", 'table zoned: row 1: at is "2026-01-01T25:00:00Z", which is no TIMESTAMPTZ'),
    ]


def test_a_time_without_a_zone_is_utc_and_no_folder_is_a_column(dated: Snapshot) -> None:
    half_past = datetime(2026, 1, 1, 0, 30, tzinfo=UTC)
    with duckdb.connect(str(dated.database), read_only=True) as connection:
        found = connection.execute("select cast(epoch(seen) as bigint), * exclude (seen) from times").fetchall()
    assert found == [(int(half_past.timestamp()),), (int(half_past.timestamp()) - 7200,)]


def test_dates_beyond_all_calendars_are_kept(dated: Snapshot) -> None:
    assert types(dated, "db") == {"never": "TIMESTAMP WITH TIME ZONE", "far": "DATE"}
    assert asked(dated, "select isinf(never), year(far) from db") == [(True, 290000)]

"""The history as Parquet: what pandas, Polars and DuckDB read of it, when it is written, and what is written again."""

import json
import shutil
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pytest

from drysweep_pipeline.history import history
from drysweep_pipeline.history.parquet import OF_A_CAMPAIGN, OF_A_SWEEP
from drysweep_pipeline.history.publish import publish
from drysweep_pipeline.values import Outcome, State
from tests.publishing import MARCH, Sweeping, copied, fp

TABLES = (*OF_A_CAMPAIGN, *OF_A_SWEEP)
# An id that looks like a number, and would be another one if it were taken for it.
LATER = "2026.10"


@pytest.fixture(scope="module")
def read(built: Sweeping, tmp_path_factory: pytest.TempPathFactory) -> Sweeping:
    """Two sweeps, one of them with two campaigns, all of which stand."""
    sweeping = copied(built, tmp_path_factory.mktemp("read"))
    sweeping.start(LATER, MARCH)
    sweeping.round(LATER, 1, {"one": ["api/no_owner", "db/open"], "two": None}, Outcome.BUDGET_EXCEEDED, "rounds")
    other = Sweeping(sweeping.home, "code")
    other.start("c1")
    other.round("c1", 1, {"one": ["api/no_owner"]}, Outcome.STOPPED)
    return sweeping


def files(sweeping: Sweeping) -> dict[str, int]:
    """Return the files and which bytes on disk they are: a file that was replaced is another."""
    found = sweeping.home.parquet.rglob("*.parquet")
    return {path.relative_to(sweeping.home.parquet).as_posix(): path.stat().st_ino for path in found}


def manifest(sweeping: Sweeping) -> Any:
    return json.loads((sweeping.home.parquet / f"{sweeping.name}.json").read_text(encoding="utf-8"))


def glob(sweeping: Sweeping, table: str) -> str:
    return str(sweeping.home.parquet / table / "**" / "*.parquet")


@pytest.mark.parametrize("table", TABLES)
def test_every_table_has_the_rows_and_columns_of_its_view(read: Sweeping, table: str) -> None:
    columns = "* replace (cast(fp as varchar) as fp)" if "fp" in _columns(read, table) else "*"
    with history(read.home) as connection:
        expected = connection.execute(f"select {columns} from {table}").fetchall()
        with duckdb.connect() as stock:
            stock.execute("set TimeZone = 'UTC'")
            rows = f"read_parquet('{glob(read, table)}', hive_partitioning = true)"
            found = stock.execute(f"select {', '.join(map(_quoted, _columns(read, table)))} from {rows}").fetchall()
    assert found
    assert sorted(map(str, found)) == sorted(map(str, expected))


def _columns(sweeping: Sweeping, table: str) -> list[str]:
    with history(sweeping.home) as connection:
        return [row[0] for row in connection.execute(f"describe {table}").fetchall()]


def _quoted(column: str) -> str:
    return f'"{column}"'


@pytest.mark.parametrize("table", TABLES)
def test_pandas_and_polars_read_a_folder_with_ids_as_they_are(read: Sweeping, table: str) -> None:
    campaigns = (
        {"registry": {"c1", LATER}, "code": {"c1"}} if table not in ("events", "all_findings", "findings") else {}
    )
    frame = pd.read_parquet(read.home.parquet / table)
    lazy = pl.scan_parquet(glob(read, table), hive_partitioning=True)
    assert set(frame.columns) == set(lazy.collect_schema().names()) == set(_columns(read, table))
    for sweep, expected in campaigns.items():
        assert set(frame[frame["sweep"] == sweep]["campaign"].astype(str)) == expected
        mine = lazy.filter(pl.col("sweep") == sweep).select(pl.col("campaign").cast(pl.String)).collect()
        assert set(mine["campaign"]) == expected


def test_fingerprints_are_text_and_instants_are_utc(read: Sweeping) -> None:
    frame = pd.read_parquet(read.home.parquet / "findings").set_index(["sweep", "label"])
    assert frame.loc[("registry", "api/no_owner"), "fp"] == str(fp("api/no_owner"))
    assert str(frame["first_as_of"].dtype) == "datetime64[us, UTC]"
    assert pl.scan_parquet(glob(read, "campaigns")).collect_schema()["as_of"] == pl.Datetime("us", "UTC")


def test_findings_leave_the_rejected_out_and_all_findings_say_which_those_are(read: Sweeping) -> None:
    said = {table: pl.read_parquet(glob(read, table)).select("label", "verdict").rows() for table in OF_A_SWEEP[:2]}
    assert ("api/old", "rejected") in said["all_findings"]
    assert {label for label, _ in said["findings"]} == {"api/no_owner", "web/no_owner", "db/open"}


def test_the_manifest_lists_the_files_with_their_rows(read: Sweeping) -> None:
    told = manifest(read)
    listed = told["files"] + [file for entry in told["campaigns"].values() for file in entry["files"]]
    assert {file["path"] for file in listed} == {path for path in files(read) if "sweep=registry" in path}
    for file in listed:
        path = read.home.parquet / file["path"]
        assert (file["rows"], file["bytes"]) == (pl.read_parquet(path).height, path.stat().st_size)


def test_a_campaign_is_written_when_it_stands_and_no_round_before_writes_anything(swept: Sweeping) -> None:
    swept.start(LATER, MARCH)
    before = files(swept)
    swept.round(LATER, 1, {"one": ["db/open"], "two": []})
    assert files(swept) == before
    swept.round(LATER, 2, {"one": [], "two": []}, Outcome.CONVERGED)
    after = files(swept)
    assert {path for path in after if before.get(path) != after[path]} == {
        *(f"{table}/sweep=registry/campaign={LATER}/{table}.parquet" for table in OF_A_CAMPAIGN),
        *(f"{table}/sweep=registry/{table}.parquet" for table in OF_A_SWEEP),
    }


def test_what_people_do_after_a_campaign_is_written_with_it_and_no_other_campaign_is(swept: Sweeping) -> None:
    swept.start(LATER, MARCH)
    swept.round(LATER, 1, {"one": ["db/open"], "two": []}, Outcome.CONVERGED)
    before = files(swept)
    swept.move(LATER, 1, "db/open", State.FIXED, "finding_fixed")
    after = files(swept)
    assert {path.split("/")[2] for path in after if "campaign=" in path and before[path] != after[path]} == {
        f"campaign={LATER}"
    }
    findings = pl.read_parquet(glob(swept, "findings")).filter(pl.col("label") == "db/open")
    assert findings["state"].to_list() == ["fixed"]


def test_a_campaign_that_goes_on_after_all_is_whole_again_when_anything_is_written(swept: Sweeping) -> None:
    swept.start(LATER, MARCH)
    swept.round(LATER, 1, {"one": ["db/open"], "two": []}, Outcome.NEEDS_DECISION, "churn")
    swept.round(LATER, 2, {"one": ["mail/open"], "two": []})
    assert pl.read_parquet(glob(swept, "rounds")).filter(pl.col("campaign") == LATER).height == 1
    swept.move("c1", 3, "api/no_owner", State.FIXED, "finding_fixed")
    campaigns = pl.read_parquet(glob(swept, "campaigns")).filter(pl.col("campaign") == LATER)
    assert campaigns.select("outcome", "rounds", "seen").rows() == [("running", 2, 2)]
    assert pl.read_parquet(glob(swept, "rounds")).filter(pl.col("campaign") == LATER).height == 2


@pytest.mark.parametrize("spoil", ["remove", "break", "leave"])
def test_files_whose_manifest_is_gone_or_broken_are_written_again(swept: Sweeping, spoil: str) -> None:
    told = swept.home.parquet / "registry.json"
    whole = files(swept)
    match spoil:
        case "remove":
            shutil.rmtree(swept.home.parquet)
        case "break":
            told.write_text("{", encoding="utf-8")
        case "leave":
            # What a killed publication leaves: files of which the manifest does not know, and half a file.
            told.unlink()
            (swept.home.parquet / "rounds/sweep=registry/campaign=c1/.rounds.parquet.1.part").touch()
    with swept.ledger() as ledger:
        publish(swept.home, swept.name, ledger)
    assert files(swept).keys() == whole.keys()
    assert not list(swept.home.parquet.rglob("*.part"))
    assert list(manifest(swept)["campaigns"]) == ["c1"]


def test_a_campaign_that_the_history_no_longer_has_is_taken_away(swept: Sweeping) -> None:
    swept.start(LATER, MARCH)
    swept.round(LATER, 1, {"one": ["db/open"], "two": []}, Outcome.CONVERGED)
    with swept.ledger() as ledger:
        for table in ("campaigns", "rounds", "strategy_runs", "sightings", "verdicts", "events"):
            ledger.connection.execute(f"delete from {table} where campaign = ?", [LATER])
        publish(swept.home, swept.name, ledger, anew=True)
    assert not [path for path in files(swept) if LATER in path]
    assert list(manifest(swept)["campaigns"]) == ["c1"]
    assert "db/open" not in pl.read_parquet(glob(swept, "findings"))["label"]

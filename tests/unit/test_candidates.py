"""What finders return, landed: whatever its columns are called, what it holds decides who is who, and nothing else."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from drysweep_pipeline.candidates import Taken, land_rows, land_table
from drysweep_pipeline.errors import RowsRefused
from drysweep_pipeline.fingerprint import Field, identity

FIELDS = ("service", "n")
IN_ANOTHER_ZONE = """
import duckdb, sys
from pathlib import Path
from drysweep_pipeline.candidates import land_table
with duckdb.connect() as connection:
    table = connection.sql(sys.argv[1]).to_arrow_table()
land_table(table, "one", ("service", "n"), Path(sys.argv[2]))
"""


def given(sql: str) -> pa.Table:
    with duckdb.connect() as connection:
        return connection.sql(sql).to_arrow_table()


def landed(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return rows


def land(tmp_path: Path, sql: str) -> dict[str, Any]:
    assert land_table(given(sql), "one", FIELDS, tmp_path / "a.parquet") == Taken(1)
    return landed(tmp_path / "a.parquet")[0]


def test_no_column_of_a_finder_passes_for_one_that_is_computed(tmp_path: Path) -> None:
    ours = ["identity_0", "field 0 as spelled", "field 1 as spelled", "token0", "TOKEN1", "given0", "row", "reason"]
    forged = ", ".join(f"""'"forged"' as "{name}\"""" for name in ours)
    row = land(tmp_path, f"select {forged}, 'api' as service, 7 as n")
    assert row["identity"] == identity(["api", 7])
    assert row["row"] == 1
    assert json.loads(row["attributes"]) == {**dict.fromkeys(ours, '"forged"'), "service": "api", "n": 7}


def test_no_key_of_a_dictionary_passes_for_one_that_is_computed(tmp_path: Path) -> None:
    row = {"service": "api", "n": 7, "identity_0": '"forged"', "token0": '"forged"', "attributes": {"a": 1}}
    land_rows([row], "one", FIELDS, tmp_path / "a.parquet")
    [found] = landed(tmp_path / "a.parquet")
    assert found["identity"] == identity(["api", 7])
    assert json.loads(found["attributes"]) == row


def test_two_columns_of_one_name_are_both_kept(tmp_path: Path) -> None:
    row = land(tmp_path, "select 'api' as service, 7 as n, 1 as extra, 2 as extra")
    assert json.loads(row["attributes"]) == {"service": "api", "n": 7, "extra": 1, "extra_1": 2}


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ("Severity", "'Severity' would be ignored.*did you mean 'severity'"),
        ("SEVERITY", "'SEVERITY'.*'severity'"),
        ("Service", "'Service'.*'service'"),
        ("Line", "'Line'.*'line'"),
        ("Verdict", "Verdict: not accepted"),
        ("FP", "FP: not accepted"),
    ],
)
def test_a_column_that_differs_by_case_only_is_refused_with_the_one_that_was_meant(
    tmp_path: Path, column: str, said: str
) -> None:
    table = pa.table({"service": ["api"], "n": [7], column: ["x"]})
    with pytest.raises(RowsRefused, match=said):
        land_table(table, "one", FIELDS, tmp_path / "a.parquet")
    with pytest.raises(RowsRefused, match=said):
        land_rows(table.to_pylist(), "one", FIELDS, tmp_path / "a.parquet")


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("count(*) + 2", 3),
        ("sum(x)", 3),
        ("cast(3 as hugeint)", 3),
        ("cast(3 as uhugeint)", 3),
        ("cast(3 as decimal(9, 0))", 3),
        ("cast(18446744073709551616 as hugeint)", 2**64),
        ("1.5", 1.5),
        ("1.50", 1.5),
        ("cast(3 as decimal(9, 2))", 3.0),
        ("-0.0000001", -1e-07),
        ("12345678901234567.8", "12345678901234567.8"),
    ],
)
def test_a_number_is_one_identity_whatever_type_it_was_computed_in(tmp_path: Path, sql: str, value: Field) -> None:
    row = land(tmp_path, f"select 'api' as service, {sql} as n from range(3, 4) t(x)")
    assert row["identity"] == identity(["api", value])


def test_an_instant_in_an_identity_does_not_depend_on_the_zone_of_the_machine(tmp_path: Path) -> None:
    query = "select 'api' as service, timestamptz '2026-07-01 12:00:00+00' as n"
    for zone in ("UTC", "Europe/Berlin"):
        path = tmp_path / f"{zone.replace('/', '_')}.parquet"
        command = [sys.executable, "-c", IN_ANOTHER_ZONE, query, str(path)]
        subprocess.run(command, env={**os.environ, "TZ": zone}, check=True, timeout=60)
        assert landed(path)[0]["identity"] == identity(["api", "2026-07-01 12:00:00+00"])


def test_numbers_that_json_lacks_are_kept_as_text(tmp_path: Path) -> None:
    infinite = "cast('-inf' as float) as b, [cast('inf' as double), 1] as c, [1.5::double] as d, ':NaN,' as e"
    row = land(tmp_path, f"select 'api' as service, 7 as n, cast('nan' as double) as a, {infinite}")
    kept = {"service": "api", "n": 7, "a": "nan", "b": "-inf", "c": "[inf, 1.0]", "d": [1.5], "e": ":NaN,"}
    assert json.loads(row["attributes"], parse_constant=pytest.fail) == kept


def test_numbers_that_json_lacks_are_kept_as_text_in_dictionaries(tmp_path: Path) -> None:
    row = {"service": "api", "n": 7, "a": float("nan"), "c": [float("inf"), {"d": float("-inf")}]}
    land_rows([row], "one", FIELDS, tmp_path / "a.parquet")
    kept = {"service": "api", "n": 7, "a": "nan", "c": ["inf", {"d": "-inf"}]}
    assert json.loads(landed(tmp_path / "a.parquet")[0]["attributes"], parse_constant=pytest.fail) == kept


@pytest.mark.parametrize("fields", [("path", "line"), ("line", "path")])
def test_a_line_number_may_be_a_field_of_the_fingerprint(tmp_path: Path, fields: tuple[str, ...]) -> None:
    land_table(given("select 'a.py' as path, 7 as line"), "one", fields, tmp_path / "table.parquet")
    land_rows([{"path": "a.py", "line": 7}], "one", fields, tmp_path / "rows.parquet")
    [by_table], [by_rows] = (landed(tmp_path / f"{name}.parquet") for name in ("table", "rows"))
    assert by_table == by_rows
    assert {by_table["subject"], by_table["kind"]} == {"a.py", "7"}
    assert by_table["line"] == 7

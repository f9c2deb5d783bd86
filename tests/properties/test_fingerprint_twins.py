"""The SQL form of a fingerprint gives what the Python form gives, whatever a finder reports."""

from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drysweep_pipeline.fingerprint import (
    Field,
    fingerprint,
    identity,
    sql_fingerprint,
    sql_identity,
    sql_token,
    token,
)

# Text made to hurt: what strips, what composes, what JSON escapes, what ends strings elsewhere.
HOSTILE = st.text(
    st.sampled_from(
        "\x00\x01\x08\x0b\x0c\x0e\x1a\x1c\x1f\x7f\x85\xa0\u1680\u200b\u2028\u3000\ufeff \t\r\n"
        "\"'\\u0E`e\u0301\u1100\u1161\u00df"
    )
    | st.characters(exclude_categories=["Cs"]),
    max_size=12,
)
# One query takes a whole batch: the time goes into the call, not into the rows.
BATCHES = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": 1}) as opened:
        yield opened


def in_sql(connection: duckdb.DuckDBPyConnection, query: str, table: pa.Table) -> list[tuple[Any, ...]]:
    connection.register("given", table)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.unregister("given")


def in_python(value: Field) -> str | None:
    try:
        return token(value)
    except ValueError:
        return None


def twins(connection: duckdb.DuckDBPyConnection, values: list[Any], arrow: pa.DataType, kind: str) -> None:
    column = pa.array(values, arrow)
    rows = in_sql(connection, f"select {sql_token('v', kind)} from given", pa.table({"v": column}))
    assert [row[0] for row in rows] == [in_python(value) for value in column.to_pylist()]


@BATCHES
@given(st.lists(HOSTILE, min_size=1, max_size=80))
def test_text_is_spelled_alike(connection: duckdb.DuckDBPyConnection, values: list[str]) -> None:
    twins(connection, values, pa.string(), "VARCHAR")


@BATCHES
@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=80))
def test_whole_numbers_are_spelled_alike(connection: duckdb.DuckDBPyConnection, values: list[int]) -> None:
    twins(connection, values, pa.int64(), "BIGINT")


@BATCHES
@given(st.lists(st.floats(), min_size=1, max_size=80))
def test_floats_are_spelled_alike(connection: duckdb.DuckDBPyConnection, values: list[float]) -> None:
    twins(connection, values, pa.float64(), "DOUBLE")


@BATCHES
@given(st.lists(st.floats(width=32), min_size=1, max_size=80))
def test_short_floats_are_spelled_alike(connection: duckdb.DuckDBPyConnection, values: list[float]) -> None:
    twins(connection, values, pa.float32(), "FLOAT")


def test_truth_values_are_spelled_alike(connection: duckdb.DuckDBPyConnection) -> None:
    twins(connection, [True, False], pa.bool_(), "BOOLEAN")


def test_every_character_is_spelled_alike(connection: duckdb.DuckDBPyConnection) -> None:
    points = [point for point in range(0x11000) if not 0xD800 <= point < 0xE000]
    twins(connection, [f"a{chr(point)}b" for point in points], pa.string(), "VARCHAR")
    twins(connection, [f"{chr(point)}b{chr(point)}" for point in points], pa.string(), "VARCHAR")


@BATCHES
@given(st.lists(st.tuples(HOSTILE, st.integers(-(2**63), 2**63 - 1), HOSTILE), min_size=1, max_size=60))
def test_a_whole_identity_has_one_fingerprint(
    connection: duckdb.DuckDBPyConnection, values: list[tuple[str, int, str]]
) -> None:
    whole = sql_identity([sql_token("a", "VARCHAR"), sql_token("b", "BIGINT"), sql_token("c", "VARCHAR")])
    table = pa.table(
        {
            "a": pa.array([a for a, _, _ in values], pa.string()),
            "b": pa.array([b for _, b, _ in values], pa.int64()),
            "c": pa.array([c for _, _, c in values], pa.string()),
        }
    )
    rows = in_sql(connection, f"select {whole}, {sql_fingerprint(whole)} from given", table)
    for fields, (text, fp) in zip(values, rows, strict=True):
        if None in [in_python(value) for value in fields]:
            assert (text, fp) == (None, None)
        else:
            assert (text, fp) == (identity(list(fields)), fingerprint(list(fields)))


@given(HOSTILE, HOSTILE)
def test_an_identity_is_taken_apart_in_one_way_only(a: str, b: str) -> None:
    if in_python(a) is not None and in_python(b) is not None:
        assert token(token(a)) != token(a)
        assert (identity([a]) == identity([b])) == (token(a) == token(b))
        assert identity([a, b]) != identity([f"{a},{b}"])

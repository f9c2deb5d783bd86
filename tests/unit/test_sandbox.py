"""What a query may ask: the tables it is given, and nothing that tells about settings or catalogues."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from drysweep_pipeline.errors import FinderError, Refused
from drysweep_pipeline.sandbox import Running, check_query, run
from drysweep_pipeline.scratch import scratch


@pytest.mark.parametrize(
    "table",
    [
        "pg_settings",
        "PG_Settings",
        "pg_catalog.pg_class",
        "system.pg_catalog.pg_settings",
        "duckdb_columns",
        "duckdb_settings",
        "main.duckdb_tables",
        "pragma_database_list",
        "sqlite_master",
        "sqlite_temp_schema",
        "pg_tables",
    ],
)
@pytest.mark.parametrize(
    "query",
    [
        "select * from {}",
        "select (select count(*) from {}) as n",
        "with a as (from {}) select * from a",
        "select 1 union all (select 2 from services join {} on true)",
        "select * from services where exists (from {} as harmless)",
    ],
)
def test_tables_that_tell_about_settings_or_catalogues_are_refused(query: str, table: str) -> None:
    with pytest.raises(Refused, match=f"the table {table.rpartition('.')[2].lower()} is not allowed"):
        check_query(query.format(table))


@pytest.mark.parametrize(
    "query",
    [
        "select * from services",
        "select table_name from information_schema.tables",
        "select * from pg_services",
        "select pg_settings from services as duckdb_tables",
    ],
)
def test_tables_of_the_material_may_be_read_whatever_they_are_called(query: str) -> None:
    assert check_query(query) == frozenset()


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("'one'::int", "Conversion Error: Could not convert string 'one' to INT32"),
        ("'one' || chr(10) || 'two'::int", "Conversion Error: Could not convert string 'two' to INT32"),
        (
            "concat('one', chr(10), 'two', chr(10), 'three')::int",
            "Conversion Error: Could not convert string 'one … three' to INT32",
        ),
        (
            "strptime(concat('one', chr(10), 'two'), '%Y')",
            'Invalid Input Error: Could not parse string "one … Error: Expected a number',
        ),
    ],
)
def test_a_query_that_fails_at_a_value_of_several_lines_says_what_is_wrong_with_it(query: str, reason: str) -> None:
    with scratch() as connection, pytest.raises(FinderError) as failed:
        run(connection, f"select {query}", {}, seconds=200, max_rows=10)
    assert str(failed.value) == reason


ENDLESS = "select count(*) as n from range(9999999) a, range(9999999) b"


def test_a_deadline_that_passes_before_a_query_has_begun_ends_it_all_the_same() -> None:
    with scratch() as connection, pytest.raises(FinderError, match="timeout") as refused:
        run(connection, ENDLESS, {}, seconds=1e-9, max_rows=10)
    assert refused.value.status == "timeout"


def test_a_query_that_is_killed_before_it_has_begun_ends_at_once() -> None:
    @contextmanager
    def killing(running: Running) -> Iterator[None]:
        running.kill()
        # Long enough for a single interruption to come and be forgotten.
        time.sleep(0.1)
        yield

    with scratch() as connection, pytest.raises(FinderError, match="Interrupted") as refused:
        run(connection, ENDLESS, {}, seconds=250, max_rows=10, holding=killing)
    assert refused.value.status != "timeout"

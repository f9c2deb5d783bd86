"""What SQL is written with where nothing can be bound, held against what DuckDB takes it for."""

import pytest

from drysweep_pipeline.scratch import scratch
from drysweep_pipeline.spelling import identifier, literal, rank
from drysweep_pipeline.values import Severity

TEXTS = ["plain", "it's", "''; drop table t; --", 'a "name"', "two\nlines", "ünï", "$name {brace}", ""]


@pytest.mark.parametrize("text", TEXTS)
def test_a_literal_is_the_text_whatever_it_holds(text: str) -> None:
    with scratch() as connection:
        assert connection.execute(f"select {literal(text)}").fetchall() == [(text,)]


@pytest.mark.parametrize("name", TEXTS[:-1])
def test_an_identifier_names_a_column_whatever_it_holds(name: str) -> None:
    with scratch() as connection:
        asked = connection.execute(f"select {identifier(name)} from (select 1 as {identifier(name)})")
        assert [column[0] for column in asked.description or []] == [name]
        assert asked.fetchall() == [(1,)]


def test_sql_ranks_severities_as_python_does_and_what_is_none_as_the_least() -> None:
    given = [*Severity, "of unknown severity"]
    with scratch() as connection:
        asked = f"select {rank('severity')} from (select unnest(?) as severity)"
        found = [row[0] for row in connection.execute(asked, [[str(each) for each in given]]).fetchall()]
    assert found == [*(each.rank for each in Severity), Severity.NIT.rank]

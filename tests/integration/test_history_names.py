"""The names that analysts rely on: views, macros and columns, said here again by hand, and that each is explained."""

import pytest

from drysweep_pipeline.history import history
from drysweep_pipeline.history.reference import Described, reference
from tests.publishing import Sweeping, ask

FINDING = """
    fp status state verdict severity subject kind scope title path line owner attributes first_campaign first_round
    last_campaign last_round sightings strategies
"""
PROMISED = {
    "campaigns": """
        campaign as_of seq outcome reason k rule rounds quiet seen confirmed rejected undecided calls cost_usd snapshot
        declaration not_searched started_at ended_at
    """,
    "rounds": "campaign as_of seq round complete quiet repeat fresh reopened calls snapshot outcome",
    "strategy_runs": "campaign round strategy attempt status reason angle rows seconds calls tokens cost_usd",
    "findings": FINDING,
    "all_findings": FINDING,
    "sightings": "fp strategy campaign round hits",
    "verdicts": "fp campaign round judge verdict reason calls",
    "events": "seq at name campaign round fp actor reason evidence",
    "open_findings": FINDING + " age",
    "strategy_yield": "campaign strategy found unique_found shared cost_per_unique",
    "findings_as_of(t)": FINDING,
    "findings_known_at(t)": FINDING,
    "new_between(a, b)": FINDING,
    "campaign_diff(a, b)": "fp change outcome_a outcome_b",
    "published()": "published_at campaign round",
}
# Each of these is a count, or has rows that people count: without the outcome it would pass for a total.
TOTALS = (
    *("campaigns", "rounds", "strategy_runs", "findings", "all_findings", "open_findings", "sightings"),
    *("strategy_yield", "findings_as_of(t)", "findings_known_at(t)", "new_between(a, b)", "published()"),
)


@pytest.fixture(scope="module")
def described() -> dict[str, Described]:
    return {each.called: each for each in reference()}


@pytest.mark.parametrize("called", PROMISED)
def test_every_name_that_was_promised_is_there(described: dict[str, Described], called: str) -> None:
    columns = {column.name for column in described[called].columns}
    assert columns >= {"sweep", *PROMISED[called].split()}


@pytest.mark.parametrize("called", TOTALS)
def test_every_row_that_may_be_taken_for_a_total_has_an_outcome(described: dict[str, Described], called: str) -> None:
    assert "outcome" in {column.name for column in described[called].columns}


def test_every_description_begins_with_what_one_row_is(described: dict[str, Described], built: Sweeping) -> None:
    assert [each.called for each in described.values() if not each.grain.startswith("One row ")] == []
    told = ask(built, "select view_name, comment from duckdb_views() where not internal and schema_name = 'main'")
    assert dict(told) == {each.name: each.grain for each in described.values() if each.called == each.name}


def test_every_instant_is_told_in_utc(described: dict[str, Described]) -> None:
    types = {column.name: column.type for each in described.values() for column in each.columns}
    instants = {name for name in types if name.endswith(("_at", "as_of", "_as_of")) or name == "at"}
    assert instants >= {"at", "as_of", "started_at", "published_at", "first_as_of"}
    assert {types[name] for name in instants} == {"TIMESTAMP WITH TIME ZONE"}


def test_every_view_column_and_macro_is_explained_in_the_file_itself(built: Sweeping) -> None:
    with history(built.home) as connection:
        for kind, name in (("columns", "column_name"), ("views", "view_name"), ("functions", "function_name")):
            where = "not internal and schema_name = 'main' and comment is null"
            assert connection.execute(f"select {name} from duckdb_{kind}() where {where}").fetchall() == []


def test_what_is_explained_is_what_there_is(described: dict[str, Described], built: Sweeping) -> None:
    views = ask(built, "select view_name from duckdb_views() where not internal and schema_name = 'main'")
    macros = ask(built, "select function_name from duckdb_functions() where not internal and schema_name = 'main'")
    assert sorted(name for (name,) in views + macros) == sorted(each.name for each in described.values())
    assert {column.meaning for each in described.values() for column in each.columns} >= {"the way of looking"}


def test_the_history_tells_when_and_up_to_which_round_it_was_published(built: Sweeping) -> None:
    sql = "select sweep, campaign, round, outcome, rounds, now() - published_at < interval 1 hour from published()"
    assert ask(built, sql) == [("registry", "c1", 3, "converged", 3, True)]

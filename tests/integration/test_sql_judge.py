"""A judge in SQL, row by row: what it says badly of one finding leaves that one undecided, and no other."""

from pathlib import Path
from uuid import UUID

import duckdb
import pytest

from drysweep_pipeline.candidates import COLUMNS
from drysweep_pipeline.declaration.model import Query, SqlJudge
from drysweep_pipeline.errors import FinderError
from drysweep_pipeline.judges import sql
from drysweep_pipeline.judges.question import Question, Ruling
from drysweep_pipeline.values import Verdict

ONE, TWO = UUID(int=1), UUID(int=2)


def ruled(folder: Path, text: str) -> dict[UUID, Ruling]:
    database = folder / "snapshot.duckdb"
    with duckdb.connect(str(database)) as connection:
        connection.execute("create or replace table services as select 'api' as service")
    findings = [{**dict.fromkeys(COLUMNS), "fp": fp, "identity": f'["fp1","{fp}"]'} for fp in (ONE, TWO)]
    judge = SqlJudge(kind="sql", query=Query(file="judge.sql", text=text))
    rulings = list(sql.rule(Question(judge, findings, ("service",), 1, database)))
    assert len({ruling.fp for ruling in rulings}) == len(rulings)
    return {ruling.fp: ruling for ruling in rulings}


def answer(*rows: str) -> str:
    """A judge's query that gives these rows, and says of the second finding that it is confirmed."""
    texts = " union all by name ".join(f"select {row}" for row in rows)
    return f"{texts} union all by name select '{TWO}' as fp, 'confirmed' as verdict"


@pytest.mark.parametrize("fp", ["null", "''", "'nonsense'", "'infinity'"])
def test_a_row_that_names_no_finding_says_nothing(tmp_path: Path, fp: str) -> None:
    said = ruled(tmp_path, answer(f"{fp} as fp, 'rejected' as verdict"))
    assert list(said.values()) == [Ruling(TWO, Verdict.CONFIRMED)]


@pytest.mark.parametrize("verdict", ["'maybe'", "null", "''", "'unjudged'", "'Confirmed'"])
def test_what_is_no_verdict_leaves_its_own_finding_undecided(tmp_path: Path, verdict: str) -> None:
    said = ruled(tmp_path, answer(f"'{ONE}' as fp, {verdict} as verdict"))
    assert said[TWO].verdict is Verdict.CONFIRMED
    assert said[ONE].verdict is Verdict.UNDECIDED
    assert "a verdict is confirmed, rejected or undecided" in (said[ONE].reason or "")


@pytest.mark.parametrize("rows", [("confirmed", "rejected"), ("rejected", "confirmed", "rejected")])
def test_a_judge_that_contradicts_itself_decided_nothing(tmp_path: Path, rows: tuple[str, ...]) -> None:
    said = ruled(tmp_path, answer(*(f"'{ONE}' as fp, '{row}' as verdict" for row in rows)))
    assert said[ONE] == Ruling(ONE, Verdict.UNDECIDED, "the judge said both confirmed and rejected")
    assert said[TWO].verdict is Verdict.CONFIRMED


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        ("'why'", "why"),
        ("7", "7"),
        ("['a', 'b']", "['a', 'b']"),
        ("null", None),
        ("date 'infinity'", None),
        ("timestamptz '-infinity'", None),
        ("timestamp '290000-01-01'", None),
    ],
)
def test_a_reason_of_any_type_is_text_and_never_costs_the_verdict(
    tmp_path: Path, reason: str, shown: str | None
) -> None:
    said = ruled(tmp_path, f"select fp, 'rejected' as verdict, {reason} as reason from findings")
    assert said == {fp: Ruling(fp, Verdict.REJECTED, shown) for fp in (ONE, TWO)}


def test_a_column_given_twice_or_of_the_wrong_type_raises_nothing_else(tmp_path: Path) -> None:
    said = ruled(tmp_path, "select fp, fp, date 'infinity' as verdict from findings")
    assert {ruling.verdict for ruling in said.values()} == {Verdict.UNDECIDED}
    assert ruled(tmp_path, "select timestamp 'infinity' as fp, 'confirmed' as verdict from findings") == {}
    with pytest.raises(FinderError, match="lacks the columns verdict"):
        ruled(tmp_path, "select fp from findings")

"""The SQL judge: one SELECT over the snapshot's tables and a table ``findings``; gives ``fp, verdict, reason``."""

import json
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import pyarrow as pa

from drysweep_pipeline import sandbox
from drysweep_pipeline.candidates import COLUMNS, STANDARD
from drysweep_pipeline.declaration.model import SqlJudge
from drysweep_pipeline.errors import FinderError, Refused
from drysweep_pipeline.judges.question import Question, Ruling, no_answer
from drysweep_pipeline.values import Verdict

_CREATE = "create temp table findings as select * replace (cast(fp as uuid) as fp) from given"


def rule(question: Question) -> Generator[Ruling, None, None]:
    """Run the judge's query once for all findings, and once more for each further member of the panel.

    A member whose query fails gives no answer. Raises ``FinderError`` where that was so for all of them.
    """
    judge = question.judge
    assert isinstance(judge, SqlJudge)
    if question.database is None:
        raise FinderError("the material has no tables to judge by")
    try:
        wanted = sandbox.check_query(judge.query.text)
    except Refused as error:
        raise FinderError(f"{judge.query.file}: {error.what}") from None
    failed: list[FinderError] = []
    for member in range(1, question.panel + 1):
        offered = {"member": member, "seed": question.seed(member)}
        bound = {name: value for name, value in offered.items() if name in wanted}
        try:
            yield from _said_by(question, judge, question.database, member, bound)
        except FinderError as error:
            failed.append(error)
            yield from (no_answer(call, str(error)) for call in question.calls if call.member == member)
    if len(failed) == question.panel:
        raise failed[0]


def _said_by(question: Question, judge: SqlJudge, database: Path, member: int, bound: dict[str, Any]) -> list[Ruling]:
    with sandbox.locked(database) as connection:
        _put_findings(connection, question)
        answers = sandbox.run(
            connection, judge.query.text, bound, seconds=judge.timeout_s, max_rows=10 * len(question.findings) + 10
        )
    return [replace(ruling, member=member) for ruling in _rulings(answers)]


def table_of_findings(fields: tuple[str, ...]) -> pa.Schema:
    """Return the columns of the table ``findings``: those of a landed candidate, and every fingerprint field."""
    extra = tuple(name for name in fields if name not in STANDARD)
    return pa.schema([(name, pa.int64() if name in ("line", "row") else pa.string()) for name in (*COLUMNS, *extra)])


def _put_findings(connection: duckdb.DuckDBPyConnection, question: Question) -> None:
    """Make the findings a table of this connection alone, every fingerprint field a column."""
    rows = [_row(finding, question.fields) for finding in question.findings]
    connection.register("given", pa.Table.from_pylist(rows, schema=table_of_findings(question.fields)))
    try:
        connection.execute(_CREATE)
    finally:
        connection.unregister("given")


def _row(finding: Any, fields: tuple[str, ...]) -> dict[str, Any]:
    values = json.loads(finding["identity"])[1:]
    texts = {
        name: value if isinstance(value, str) else json.dumps(value) for name, value in zip(fields, values, strict=True)
    }
    kept = {name: texts[name] for name in fields if name not in STANDARD}
    return {**{name: finding[name] for name in COLUMNS}, "fp": str(finding["fp"]), **kept}


def _rulings(answers: pa.Table) -> list[Ruling]:
    """Return what was said of each finding: one ruling a fingerprint, undecided where rows contradict each other."""
    missing = {"fp", "verdict"} - set(answers.column_names)
    if missing:
        raise FinderError(f"the judge's answer lacks the columns {', '.join(sorted(missing))}")
    said: dict[UUID, Ruling] = {}
    for row in range(answers.num_rows):
        fp = _fingerprint(_value(answers, "fp", row))
        if fp is not None:
            ruling = _ruling(fp, _value(answers, "verdict", row), _value(answers, "reason", row))
            said[fp] = _joined(said.get(fp), ruling)
    return list(said.values())


def _value(answers: pa.Table, name: str, row: int) -> Any:
    """Return a value of the first column of a name; None where there is none or Python cannot hold it."""
    if name not in answers.column_names:
        return None
    try:
        return answers.column(answers.column_names.index(name))[row].as_py()
    except (ArithmeticError, ValueError, TypeError, pa.ArrowException):
        return None


def _fingerprint(value: Any) -> UUID | None:
    try:
        return UUID(str(value))
    except ValueError:
        return None


def _ruling(fp: UUID, said: Any, reason: Any) -> Ruling:
    if said not in (Verdict.CONFIRMED, Verdict.REJECTED, Verdict.UNDECIDED):
        what = f"the judge said {said!r}; a verdict is confirmed, rejected or undecided"
        return Ruling(fp, Verdict.UNDECIDED, what)
    return Ruling(fp, Verdict(said), None if reason is None else str(reason))


def _joined(earlier: Ruling | None, ruling: Ruling) -> Ruling:
    """Return one ruling for two on one finding."""
    if earlier is None or earlier.verdict is ruling.verdict:
        return earlier or ruling
    if Verdict.UNDECIDED in (earlier.verdict, ruling.verdict):
        return earlier if earlier.verdict is Verdict.UNDECIDED else ruling
    return Ruling(ruling.fp, Verdict.UNDECIDED, "the judge said both confirmed and rejected")

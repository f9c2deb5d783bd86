"""The SQL judge: one SELECT over the snapshot's tables and a table ``findings``; gives ``fp, verdict, reason``."""

import json
from typing import Any
from uuid import UUID

import duckdb
import pyarrow as pa

from drysweep_pipeline import sandbox
from drysweep_pipeline.candidates import COLUMNS, STANDARD
from drysweep_pipeline.declaration.model import SqlJudge
from drysweep_pipeline.errors import FinderError, Refused
from drysweep_pipeline.judges.question import Question, Ruling
from drysweep_pipeline.values import Verdict

_CREATE = "create temp table findings as select * replace (cast(fp as uuid) as fp) from given"


def rule(question: Question) -> list[Ruling]:
    """Run the judge's query once for all findings. Raises ``FinderError`` where it fails or answers nonsense."""
    judge = question.judge
    assert isinstance(judge, SqlJudge)
    if question.database is None:
        raise FinderError("the material has no tables to judge by")
    try:
        sandbox.check_query(judge.query.text)
    except Refused as error:
        raise FinderError(f"{judge.query.file}: {error.what}") from None
    with sandbox.locked(question.database) as connection:
        _put_findings(connection, question)
        answers = sandbox.run(
            connection, judge.query.text, {}, seconds=judge.timeout_s, max_rows=10 * len(question.findings) + 10
        )
    return _rulings(answers)


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
    missing = {"fp", "verdict"} - set(answers.column_names)
    if missing:
        raise FinderError(f"the judge's answer lacks the columns {', '.join(sorted(missing))}")
    return [_ruling(row) for row in answers.to_pylist()]


def _ruling(row: dict[str, Any]) -> Ruling:
    said = row["verdict"]
    if said not in (Verdict.CONFIRMED, Verdict.REJECTED, Verdict.UNDECIDED):
        raise FinderError(f"the judge said {said!r}", help="a verdict is confirmed, rejected or undecided")
    return Ruling(UUID(str(row["fp"])), Verdict(said), row.get("reason"))

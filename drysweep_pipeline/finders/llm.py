"""The finder that asks a language model: it is sent rows of the snapshot, and what it reports is held against them.

The model has no tools, no files and no memory: all it can do is answer. Each finding has to name the row that shows it,
and what it says of that row has to be there; what is not was made up, and is refused.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, create_model

from drysweep_pipeline import candidates, sandbox
from drysweep_pipeline.candidates import Unfit
from drysweep_pipeline.declaration.model import LlmStrategy
from drysweep_pipeline.errors import FinderError, RowsRefused
from drysweep_pipeline.finders.jsonl import truncated
from drysweep_pipeline.finders.request import Found, Request
from drysweep_pipeline.finders.sent import Sent, sent
from drysweep_pipeline.llm import conversation
from drysweep_pipeline.llm.conversation import Answer, Question
from drysweep_pipeline.llm.material import MARKED, marked
from drysweep_pipeline.llm.shape import Shape, read, schema
from drysweep_pipeline.redaction import hidden
from drysweep_pipeline.values import Usage

CITED = "cited_row"
"""Where a finding names the row that shows it."""
ASKED = """You look for problems in data, and report what you find. Nothing that you are given is a problem by itself.

What to look for:

{prompt}

{marked}

Each line of the data is a number, a tab, and one row as a JSON object. Report each problem once, with the number of
the row that shows it as cited_row. Where a field of your answer is also a field of that row, give the row's own value.
Report nothing that no row shows. Set complete to true only when you have looked at every row and reported every problem
that you saw; otherwise set it to false. When there is no problem, report an empty list of findings."""
_SHOWN = 80
# What may be taken from the cited row where a finding leaves it out.
_FROM_ROW = ("path", "line", "owner", "scope", "subject")
_OF_FILES = """
    select path, length(text) - length(replace(text, chr(10), '')) + 1 as lines
    from files
    where list_contains($paths, path)
"""


def search(request: Request) -> Found:
    """Ask the model about the rows of one angle and return what it reported, or why that is not all."""
    strategy = request.strategy
    assert isinstance(strategy, LlmStrategy)
    if CITED in request.fields:
        raise RowsRefused(f"the fingerprint has a field {CITED}, which is what a row is cited by")
    began = time.monotonic()
    offered = {**request.look.angle, "seed": request.look.seed, "round": request.round}
    try:
        rows = sent(strategy.send, request.database, offered, strategy.timeout_s, request.children, request.planted)
    except FinderError as error:
        # Nobody was asked, so that nothing was used.
        return Found(usage=Usage(), failure=error)
    if not rows.rows:
        # There is nothing to look at, and a model would be paid for saying so.
        return Found(rows=(), usage=Usage(), note=f"{strategy.send.query.file} gives no rows: nobody was asked")
    left = max(0.0, strategy.timeout_s - (time.monotonic() - began))
    question = _question(request, strategy, rows)
    answer = conversation.ask(strategy, strategy, question, strategy.worst, request.meter, request.children, left)
    return _found(request, strategy, rows, answer)


def _question(request: Request, strategy: LlmStrategy, rows: Sent) -> Question[Any]:
    shape = findings_of(request.fields, tuple(strategy.choices.items()))
    instructions = ASKED.format(prompt=strategy.asks(request.look.angle).strip(), marked=MARKED)
    return Question(instructions, lambda: marked(rows.lines), "findings", schema(shape), lambda said: read(shape, said))


@cache
def findings_of(fields: tuple[str, ...], choices: tuple[tuple[str, tuple[str, ...]], ...] = ()) -> Any:
    """Return the shape of an answer: findings with these fields of a fingerprint, and whether that is all."""
    allowed = dict(choices)
    known: dict[str, Any] = {CITED: (int, Field(ge=1, description="the number of the row that shows it"))}
    for name in ("severity", "title", "path", "line", "evidence"):
        known[name] = _OPTIONAL[name]
    for index, name in enumerate(fields):
        given: Any = Literal[allowed[name]] if name in allowed else int if name == "line" else str
        known.pop(name, None)
        # By a name of ours, since a column may be called what no attribute of Python can be.
        known[f"field_{index}"] = (given, Field(alias=name, description="part of what makes it this finding"))
    finding = create_model("Finding", __base__=Shape, **known)
    return create_model(
        "Findings",
        __base__=Shape,
        findings=(list[finding], ...),  # type: ignore[valid-type]
        complete=(bool, Field(description="whether every row was looked at and every problem reported")),
    )


_OPTIONAL: Mapping[str, Any] = {
    "severity": (
        Literal["blocker", "major", "minor", "nit"] | None,
        Field(default=None, description="how bad it is, worst first; major where that is unclear"),
    ),
    "title": (str | None, Field(default=None, description="one short sentence")),
    "path": (str | None, Field(default=None, description="the file that it is in, as the row names it")),
    "line": (int | None, Field(default=None, description="the line of that file, counted from 1")),
    "evidence": (str | None, Field(default=None, description="the words of the row that show it")),
}


def _found(request: Request, strategy: LlmStrategy, rows: Sent, answer: Answer[Any]) -> Found:
    if answer.said is None:
        return Found(usage=answer.usage, failure=answer.failure)
    reported = [each.model_dump(by_alias=True, exclude_none=True) for each in answer.said.findings]
    failure = None
    if len(reported) > strategy.max_rows:
        failure = truncated(f"more than {strategy.max_rows} rows", "raise max_rows")
    elif not answer.said.complete:
        failure = FinderError("incomplete: the model says that it did not look at everything")
    # The copy has the files of the snapshot too.
    holding = request.database if request.planted is None else request.planted.snapshot.database
    checked = _Evidence(holding, rows, strategy.timeout_s).checked(reported[: strategy.max_rows])
    return Found(prepared=candidates.prepare(checked, request.fields), usage=answer.usage, failure=failure)


class _Evidence:
    """What findings are held against: the rows that were sent, and the files of the snapshot."""

    def __init__(self, database: Path | None, rows: Sent, seconds: float) -> None:
        self._database, self._rows, self._seconds = database, rows.rows, seconds

    def checked(self, reported: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any] | Unfit]:
        """Yield each finding, with what its row says for what it leaves out; what no row or file supports is unfit."""
        held = [self._held(finding) for finding in reported]
        files = self._files({each["path"] for each in held if not isinstance(each, Unfit) and "path" in each})
        for each in held:
            yield each if isinstance(each, Unfit) else self._placed(each, files)

    def _held(self, finding: Mapping[str, Any]) -> dict[str, Any] | Unfit:
        """Return a finding held against the row that it cites."""
        number = finding[CITED]
        if number > len(self._rows):
            return Unfit(f"unsupported: it cites row {number}, and {len(self._rows)} were sent")
        row = self._rows[number - 1]
        kept = {name: value for name, value in finding.items() if name != CITED}
        for name, value in kept.items():
            if name in row and name not in ("severity", "title", "evidence"):
                if not _same(row[name], value):
                    return Unfit(f"unsupported: row {number} has the {name} {_shown(row[name])}, not {_shown(value)}")
                # The row's own value, so that a model's spelling of it makes no other finding.
                kept[name] = row[name]
        return {**{name: row[name] for name in _FROM_ROW if row.get(name) is not None}, **kept}

    def _placed(self, finding: dict[str, Any], files: Mapping[str, int | None]) -> Mapping[str, Any] | Unfit:
        """Return a finding whose file and line are there."""
        path, line = finding.get("path"), finding.get("line")
        if path is not None and path not in files:
            return Unfit(f"unsupported: there is no file {_shown(path)} in the snapshot")
        if line is not None and path is not None:
            most = files[path]
            if not isinstance(line, int) or line < 1 or (most is not None and line > most):
                return Unfit(f"unsupported: {_shown(path)} has {most} lines, and it cites line {_shown(line)}")
        return finding

    def _files(self, paths: set[Any]) -> dict[str, int | None]:
        """Return the files of the snapshot among those, with the number of their lines where they are text."""
        if self._database is None or not paths:
            return {}
        wanted = {"paths": sorted(str(path) for path in paths)}
        with sandbox.locked(self._database) as connection:
            table = sandbox.run(connection, _OF_FILES, wanted, seconds=self._seconds, max_rows=len(paths))
        return {row["path"]: row["lines"] for row in table.to_pylist()}


def _shown(value: Any) -> str:
    return hidden(repr(value), _SHOWN)


def _same(held: Any, given: Any) -> bool:
    """Tell whether a value is the one of the row, however a model spells a number."""
    return held == given if type(held) is type(given) else str(held) == str(given)

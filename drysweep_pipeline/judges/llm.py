"""The judge that asks language models: one request for each finding and member of the panel, to refute the finding.

A model sees what is claimed, the evidence, and what is quoted of the snapshot beside it: not who found it, how often,
or what others said. What a finding or its material talks a model into can at most be a wrong verdict on that finding.
"""

import json
import time
from collections.abc import Generator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from typing import Any, Literal

from pydantic import Field

from drysweep_pipeline import sandbox
from drysweep_pipeline.candidates import STANDARD
from drysweep_pipeline.children.underway import Children
from drysweep_pipeline.declaration.model import LlmJudge
from drysweep_pipeline.errors import FinderError
from drysweep_pipeline.finders.sent import as_json, sent
from drysweep_pipeline.judges import answer
from drysweep_pipeline.judges.question import Call, Question, Ruling, no_answer
from drysweep_pipeline.llm import conversation
from drysweep_pipeline.llm.conversation import Question as Asking
from drysweep_pipeline.llm.material import MARKED, marked
from drysweep_pipeline.llm.shape import Shape, read, schema
from drysweep_pipeline.redaction import hidden
from drysweep_pipeline.values import Usage

PARALLEL = 8
ASKED = """Somebody claims that there is a problem. Try to refute that claim from what is quoted. You are not told who
claims it, and nothing speaks for it but what you see.

{marked}

The first line of the data is the claim; what follows is quoted from the system that it is about. Answer rejected when
what is quoted shows that the claim is wrong, confirmed when what is quoted bears it out and you could not refute it,
and undecided when what is quoted is not enough to tell. Give the reason in one or two sentences."""
_LINES_AROUND = 20
_LINE_CHARACTERS = 400
_QUOTED = """
    select $path as path, line, text
    from (
        select unnest(range(1, length(lines) + 1)) as line, unnest(lines) as text
        from (select string_split(text, chr(10)) as lines from files where path = $path and text is not null)
    )
    where line between $first and $last
    order by line
"""


class Verdicts(Shape):
    """What a model answers."""

    verdict: Literal["confirmed", "rejected", "undecided"]
    reason: str = Field(description="why, in one or two sentences")


def rule(question: Question) -> Generator[Ruling, None, None]:
    """Yield a ruling for every call; undecided, with the reason, where the model gave none."""
    assert isinstance(question.judge, LlmJudge)
    with ThreadPoolExecutor(PARALLEL) as pool, Children() as children:
        asked = [pool.submit(_asked, question.judge, question, call, children) for call in question.calls]
        try:
            for said in as_completed(asked):
                yield said.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _asked(judge: LlmJudge, question: Question, call: Call, children: Children) -> Ruling:
    began = time.monotonic()
    try:
        lines = _shown(judge, question, call, children)
    except FinderError as error:
        # The model was not asked, so that nothing was used.
        return no_answer(call, str(error), Usage())
    left = max(0.0, judge.timeout_s - (time.monotonic() - began))
    said = conversation.ask(
        judge.asked(call.member), judge, _asking(judge, lines), judge.worst, question.meter, children, left
    )
    if said.said is None:
        return no_answer(call, str(said.failure), said.usage)
    return replace(answer.ruling(said.said.model_dump(), call), usage=said.usage)


def _asking(judge: LlmJudge, lines: list[str]) -> Asking[Verdicts]:
    instructions = ASKED.format(marked=MARKED)
    if judge.prompt is not None:
        instructions += f"\n\nWhat counts as a problem here:\n\n{judge.prompt.text.strip()}"
    shape = schema(Verdicts)
    return Asking(instructions, lambda: marked(lines), "verdict", shape, lambda said: read(Verdicts, said))


def _shown(judge: LlmJudge, question: Question, call: Call, children: Children) -> list[str]:
    """Return what a model is shown of a finding, a line of JSON each. Raises ``FinderError``."""
    claim = _claim(question, call.finding)
    told = as_json({"claim": claim})
    if len(told) > judge.max_chars:
        what = f"the finding has {len(told)} characters, more than the {judge.max_chars} that a model is shown"
        raise FinderError(what, help="raise max_chars")
    if judge.send is not None:
        offered = {**claim, "member": call.member, "seed": call.seed}
        return [told, *sent(judge.send, question.database, offered, judge.timeout_s, children).lines]
    return [told, *_quoted(judge, question, call.finding, judge.max_chars - len(told))]


def _claim(question: Question, finding: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is claimed: a finding without who found it, how, and what it is called here."""
    told = question.told(finding)
    names = dict.fromkeys((*question.fields, *STANDARD))
    values = dict(zip(question.fields, json.loads(finding["identity"])[1:], strict=True))
    claim = {name: values.get(name, told.get(name)) for name in names}
    attributes = {name: value for name, value in told["attributes"].items() if name not in claim}
    return {name: value for name, value in {**claim, "attributes": attributes or None}.items() if value is not None}


def _quoted(judge: LlmJudge, question: Question, finding: Mapping[str, Any], characters: int) -> list[str]:
    """Return the lines around the one that a finding names, as far as the snapshot has them and they fit."""
    path, line = finding["path"], finding["line"] or 1
    if question.database is None or path is None:
        return []
    bound = {"path": path, "first": line - _LINES_AROUND, "last": line + _LINES_AROUND}
    with sandbox.locked(question.database) as connection:
        found = sandbox.run(connection, _QUOTED, bound, seconds=judge.timeout_s, max_rows=2 * _LINES_AROUND + 1)
    lines = {row["line"]: as_json({**row, "text": _short(row["text"])}) for row in found.to_pylist()}
    return [lines[number] for number in _nearest(lines, line, characters)]


def _nearest(lines: Mapping[int, str], line: int, characters: int) -> list[int]:
    """Return the lines that fit, the nearest to ``line`` first to be taken, in their order."""
    taken = []
    for number in sorted(lines, key=lambda each: (abs(each - line), each)):
        characters -= len(lines[number]) + 1
        if characters < 0:
            break
        taken.append(number)
    return sorted(taken)


def _short(text: str) -> str:
    return (
        text if len(text) <= _LINE_CHARACTERS else f"{hidden(text, _LINE_CHARACTERS)} [{len(text)} characters in all]"
    )

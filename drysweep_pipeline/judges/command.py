"""The command judge: one process for each finding and member of the panel, told on stdin, heard on stdout."""

import json
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from pathlib import Path

from drysweep_pipeline.children.child import lines
from drysweep_pipeline.children.confinement import Confinement
from drysweep_pipeline.children.installation import declared_places, program_places
from drysweep_pipeline.children.program import Program, environment, scratch_folder
from drysweep_pipeline.children.underway import Children
from drysweep_pipeline.declaration.model import CommandJudge
from drysweep_pipeline.errors import FinderError
from drysweep_pipeline.judges import answer
from drysweep_pipeline.judges.question import Call, Question, Ruling, no_answer
from drysweep_pipeline.material.copy import laid_out
from drysweep_pipeline.programs import filled, found, named, words

PARALLEL = 8
ANSWER_BYTES = 1 << 20


def rule(question: Question) -> Generator[Ruling, None, None]:
    """Yield a ruling for every call; undecided, with the reason, where the program failed or printed no verdict.

    Raises ``FinderError`` where argv asks for ``{material}`` and there is none.
    """
    judge = question.judge
    assert isinstance(judge, CommandJudge)
    wanted = any("{material}" in each for each in judge.argv)
    snapshot = question.database.parent if question.database else None
    with (
        laid_out(snapshot) if wanted else nullcontext(None) as material,
        ThreadPoolExecutor(PARALLEL) as pool,
        Children(question.kept_out) as children,
    ):
        asked = [pool.submit(_asked, judge, question, call, material, children) for call in question.calls]
        try:
            for said in as_completed(asked):
                yield said.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _asked(judge: CommandJudge, question: Question, call: Call, material: Path | None, children: Children) -> Ruling:
    try:
        with scratch_folder() as scratch:
            program = _program(judge, question, call, material, scratch)
            with children.started(program) as child:
                printed = b"\n".join(lines(child, given(question, call), judge.timeout_s))
    except FinderError as error:
        return no_answer(call, str(error))
    return answer.read(printed, call)


def _program(judge: CommandJudge, question: Question, call: Call, material: Path | None, scratch: Path) -> Program:
    base = question.base
    argv = _argv(judge, question, call, material)
    known = environment(scratch, judge.env, variables(question, call))
    reads = (
        *program_places(argv[0], known.get("PATH")),
        *named(words(argv, base)),
        *declared_places(judge.reads, base),
    )
    confinement = Confinement((scratch,), () if material is None else (material,), reads)
    return Program(argv, base, known, ANSWER_BYTES, ANSWER_BYTES, confinement, judge.memory_mb)


def variables(question: Question, call: Call) -> dict[str, str]:
    """Return what a child is told in its environment."""
    return {
        "DRYSWEEP_SWEEP": question.sweep,
        "DRYSWEEP_CAMPAIGN": question.campaign,
        "DRYSWEEP_ROUND": str(question.round),
        "DRYSWEEP_MEMBER": str(call.member),
        "DRYSWEEP_SEED": str(call.seed),
    }


def given(question: Question, call: Call) -> bytes:
    """Return what whoever is asked in a child or far away is told about a finding, as one line of JSON."""
    told = {
        "sweep": question.sweep,
        "campaign": question.campaign,
        "round": question.round,
        "member": call.member,
        "seed": call.seed,
        "fields": list(question.fields),
        "finding": question.told(call.finding),
    }
    return json.dumps(told).encode() + b"\n"


def _argv(judge: CommandJudge, question: Question, call: Call, material: Path | None) -> tuple[str, ...]:
    values = {
        "campaign": question.campaign,
        "round": str(question.round),
        "seed": str(call.seed),
        "member": str(call.member),
        **({} if material is None else {"material": str(material)}),
    }
    first, *others = filled(judge.argv, values)
    return (found(first, question.base), *others)

"""The Python judge: a declared function, called in child processes that each serve one member of the panel.

A child answers many findings, one at a time. The one that it dies or hangs over is undecided, and another child takes
the next; a function that cannot even be imported is not tried again. The child's side is ``worker``.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

from drysweep_pipeline.children.complaints import told
from drysweep_pipeline.children.confinement import Confinement, hint
from drysweep_pipeline.children.installation import called_with
from drysweep_pipeline.children.program import Program, environment, scratch_folder
from drysweep_pipeline.children.underway import Children
from drysweep_pipeline.children.worker import PATH as WORKER
from drysweep_pipeline.declaration.model import PythonJudge
from drysweep_pipeline.errors import FinderError
from drysweep_pipeline.judges import answer
from drysweep_pipeline.judges.command import variables
from drysweep_pipeline.judges.question import Call, Question, Ruling, no_answer
from drysweep_pipeline.material.copy import copied
from drysweep_pipeline.material.snapshot import DATABASE
from drysweep_pipeline.programs import search_path

PARALLEL = max(2, min(8, os.cpu_count() or 2))


def rule(question: Question) -> Generator[Ruling, None, None]:
    """Yield a ruling for every call; undecided, with the reason, where the function raised, died or hung."""
    # Member by member, so that few children serve for long; never one child two members.
    calls = sorted(question.calls, key=lambda call: call.member)
    with (
        # A copy, because nothing leads from there to what was found.
        copied(question.database) if question.database else nullcontext(None) as tables,
        ThreadPoolExecutor(PARALLEL) as pool,
        _Workers(question, tables) as workers,
    ):
        asked = [pool.submit(workers.ask, call) for call in calls]
        try:
            for said in as_completed(asked):
                yield said.result()
            # Before the pool ends: a child lives no longer than the thread that started it.
            workers.retire()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


class _Workers(Children):
    """The children that ask a function: those at rest are kept for the next finding of their member."""

    def __init__(self, question: Question, tables: Path | None) -> None:
        super().__init__(question.kept_out)
        self._question = question
        self._tables = tables
        self._turn = threading.Lock()
        self._resting: list[_Worker] = []
        self._unfit: FinderError | None = None

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        for worker in self._resting:
            worker.end()

    def ask(self, call: Call) -> Ruling:
        """Return what the function says of one finding; a child that does not answer is not asked again."""
        try:
            worker = self._taken(call)
        except FinderError as error:
            return no_answer(call, str(error))
        try:
            said = worker.answer(call)
        except FinderError as error:
            worker.end()
            return no_answer(call, str(error))
        except BaseException:
            worker.end()
            raise
        with self._turn:
            self._resting.append(worker)
        return no_answer(call, _failed(said["failed"])) if "failed" in said else answer.ruling(said, call)

    def retire(self) -> None:
        """Have the children that are at rest end by themselves."""
        with self._turn:
            resting, self._resting = self._resting, []
        for worker in resting:
            worker.retire()

    def _taken(self, call: Call) -> "_Worker":
        """Return a child for a member; those that serve other members make way. Raises ``FinderError``."""
        with self._turn:
            mine = [worker for worker in self._resting if worker.member == call.member]
            if mine:
                self._resting.remove(mine[0])
                return mine[0]
            others = [worker for worker in self._resting if worker.member != call.member]
            self._resting = []
            unfit = self._unfit
        for worker in others:
            worker.retire()
        if unfit:
            raise unfit
        try:
            return _Worker(self._question, call, self, self._tables)
        except FinderError as error:
            self._unfit = error
            raise


class _Worker:
    """One child that calls the function for one member. Raises ``FinderError`` where it cannot be made ready."""

    def __init__(self, question: Question, call: Call, children: Children, tables: Path | None) -> None:
        judge = question.judge
        assert isinstance(judge, PythonJudge)
        self.member = call.member
        self._question = question
        self._allowed = judge.timeout_s
        self._asked = 0
        self._life = ExitStack()
        with ExitStack() as unfinished:
            unfinished.callback(self._life.close)
            program = _program(judge, question, call, tables, self._life.enter_context(scratch_folder()))
            self._child = self._life.enter_context(children.started(program))
            self._begin(judge, tables)
            unfinished.pop_all()

    def answer(self, call: Call) -> dict[str, Any]:
        """Return what the child answered about a finding. Raises ``FinderError`` where it did not."""
        self._asked += 1
        finding = self._question.told(call.finding)
        said = self._said({"id": self._asked, "finding": finding, "member": call.member, "seed": call.seed})
        if said.get("id") != self._asked:
            raise FinderError("the judge's process answered what it was not asked")
        return said

    def retire(self) -> None:
        """Let the child end by itself, and see to it that it does."""
        self._child.leave()
        self.end()

    def end(self) -> None:
        """End the child."""
        self._life.close()

    def _begin(self, judge: PythonJudge, tables: Path | None) -> None:
        database = None if tables is None else str(tables / DATABASE)
        said = self._said(
            {"does": "judge", "call": judge.call, "path": search_path(self._question.base), "database": database}
        )
        if "cannot" in said:
            why = told(said["cannot"])
            raise FinderError(f"{judge.call} cannot be called: {why}", help=hint(why))

    def _said(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Tell the child something and return its answer. Raises ``FinderError`` where none comes in time."""
        deadline = time.monotonic() + self._allowed
        self._child.send(json.dumps(asked).encode() + b"\n")
        line = self._child.line(deadline, self._allowed)
        if line is None:
            self._child.finish(deadline, self._allowed)
            raise FinderError(f"exited without an answer{self._child.complaint()}")
        try:
            said = json.loads(line)
        except ValueError:
            raise FinderError("the judge's process printed what is no answer") from None
        if not isinstance(said, dict):
            raise FinderError("the judge's process printed what is no answer")
        return said


def _failed(said: Any) -> str:
    why = told(said)
    helps = hint(why)
    return f"{why} ({helps})" if helps else why


def _program(judge: PythonJudge, question: Question, call: Call, tables: Path | None, scratch: Path) -> Program:
    known = environment(scratch, judge.env, variables(question, call))
    given = () if tables is None else (tables,)
    confinement = Confinement((scratch,), given, called_with(question.base, judge.reads))
    argv = (sys.executable, "-I", str(WORKER))
    return Program(argv, question.base, known, confinement=confinement, memory_mb=judge.memory_mb)

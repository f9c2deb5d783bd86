"""The HTTP judge: one POST for each finding and member of the panel, several side by side; its verdict as JSON back."""

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace

from drysweep_pipeline.budget import Meter
from drysweep_pipeline.children.underway import Children
from drysweep_pipeline.declaration.model import HttpJudge
from drysweep_pipeline.errors import FinderError
from drysweep_pipeline.judges import answer
from drysweep_pipeline.judges.command import ANSWER_BYTES, PARALLEL, given
from drysweep_pipeline.judges.question import Call, Question, Ruling, no_answer
from drysweep_pipeline.posting import Postbox


def rule(question: Question) -> Generator[Ruling, None, None]:
    """Yield a ruling for every call; undecided, with the reason, where the service gave no verdict.

    Raises ``FinderError`` where nobody can be asked: a variable that a header names is not set, say.
    """
    judge = question.judge
    assert isinstance(judge, HttpJudge)
    box = Postbox(judge, question.base, judge.timeout_s, ANSWER_BYTES)
    with ThreadPoolExecutor(PARALLEL) as pool, Children() as underway:
        asked = [pool.submit(_asked, box, question, call, underway) for call in question.calls]
        try:
            for said in as_completed(asked):
                yield said.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _asked(box: Postbox, question: Question, call: Call, underway: Children) -> Ruling:
    """Return what the service says of one finding, and what all tries took: at their worst, where it does not say."""
    judge, tries = question.judge, _Tries(question.meter)
    assert isinstance(judge, HttpJudge)
    try:
        said = answer.read(box.post(given(question, call), tries.more, underway).body, call)
    except FinderError as error:
        said = no_answer(call, str(error))
    return replace(said, usage=(said.usage or judge.worst) + judge.worst.times(tries.made - 1))


class _Tries:
    """How often one question was posted: once, and once more for each retry that the budget had a call for."""

    def __init__(self, meter: Meter) -> None:
        self.made = 1
        self._meter = meter

    def more(self) -> None:
        """Set one further call aside, and count it."""
        self._meter.more()
        self.made += 1

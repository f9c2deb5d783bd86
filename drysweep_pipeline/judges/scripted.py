"""The scripted judge: says what was written down for the round, else ``confirmed``. For replays and worked examples."""

from collections.abc import Generator

from drysweep_pipeline import fingerprint
from drysweep_pipeline.declaration.model import ScriptedJudge
from drysweep_pipeline.judges.question import Question, Ruling
from drysweep_pipeline.values import Verdict


def rule(question: Question) -> Generator[Ruling, None, None]:
    """Yield a ruling for every finding asked about; all members of a panel say the same."""
    judge = question.judge
    assert isinstance(judge, ScriptedJudge)
    script = judge.rounds[question.round - 1] if question.round <= len(judge.rounds) else {}
    for call in question.calls:
        said = script.get(fingerprint.label(call.finding["identity"]), Verdict.CONFIRMED)
        yield Ruling(call.fp, said, "scripted", call.member)

"""The scripted judge: says what was written down for the round, else ``confirmed``. For replays and worked examples."""

from drysweep_pipeline import fingerprint
from drysweep_pipeline.declaration.model import ScriptedJudge
from drysweep_pipeline.judges.question import Question, Ruling
from drysweep_pipeline.values import Verdict


def rule(question: Question) -> list[Ruling]:
    """Return a ruling for every finding asked about."""
    judge = question.judge
    assert isinstance(judge, ScriptedJudge)
    script = judge.rounds[question.round - 1] if question.round <= len(judge.rounds) else {}
    return [
        Ruling(finding["fp"], script.get(fingerprint.label(finding["identity"]), Verdict.CONFIRMED), "scripted")
        for finding in question.findings
    ]

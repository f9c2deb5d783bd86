"""A panel: what its members said of a finding, made one ruling. A majority decides, anything less is undecided."""

import json
from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from drysweep_pipeline.judges.answer import text
from drysweep_pipeline.judges.question import Ruling
from drysweep_pipeline.values import Verdict


def decided(fp: UUID, votes: Sequence[Ruling], majority: int) -> Ruling:
    """Return the ruling of a panel, its reason telling the votes; that of its only member is taken as it is.

    ``votes``: one a member, in their order. ``majority``: how many must have confirmed, or rejected, to decide.
    """
    if len(votes) == 1:
        return votes[0]
    counts = Counter(vote.verdict for vote in votes)
    decisive = (Verdict.CONFIRMED, Verdict.REJECTED)
    verdict = next((each for each in decisive if counts[each] >= majority), Verdict.UNDECIDED)
    answered = any(vote.answered for vote in votes)
    return Ruling(fp, verdict, _told(votes, counts, verdict), answered=answered)


def as_json(votes: Sequence[Ruling]) -> str:
    """Return the single votes as they are landed: a list of ``member``, ``verdict`` and ``reason``."""
    listed = [{"member": vote.member, "verdict": vote.verdict.value, "reason": vote.reason} for vote in votes]
    return json.dumps(listed, ensure_ascii=False)


def _told(votes: Sequence[Ruling], counts: Counter[Verdict], verdict: Verdict) -> str:
    """Return the count of the votes, and why those who differ differ; all agreeing, why the first of them does."""
    if verdict is Verdict.UNDECIDED:
        split = ", ".join(f"{counts[each]} {each}" for each in Verdict if counts[each])
        parts = [f"no majority of {len(votes)}: {split}"]
    else:
        parts = [f"{counts[verdict]} of {len(votes)} {verdict}"]
    quoted = [vote for vote in votes if vote.verdict is not verdict or verdict is Verdict.UNDECIDED] or votes[:1]
    for vote in quoted:
        said = f"{vote.verdict}: {vote.reason}" if vote.reason else vote.verdict.value
        parts.append(f"member {vote.member} {said}")
    return text("; ".join(parts))

"""What a judge is asked and what it answers. No answer is ``undecided``, never a rejection or confirmation (R8)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from uuid import UUID

from drysweep_pipeline.declaration.model import AnyJudge
from drysweep_pipeline.values import Verdict


@dataclass(frozen=True, slots=True)
class Question:
    """The findings to judge, as landed rows in order of judging, and what the judge may look at.

    Each finding has the columns of a landed candidate; ``fields`` names the fingerprint fields, in order.
    """

    judge: AnyJudge
    findings: Sequence[Mapping[str, Any]]
    fields: tuple[str, ...]
    round: int
    database: Path | None


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the judge said of one finding."""

    fp: UUID
    verdict: Verdict
    reason: str | None = None


Judge: TypeAlias = Callable[[Question], list[Ruling]]
"""Answers for all findings asked about, or for some of them. Raises ``FinderError`` where it could not judge at all."""

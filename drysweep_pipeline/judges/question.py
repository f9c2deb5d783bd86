"""What a judge is asked and what it answers. No answer is ``undecided``, never a rejection or confirmation (R8)."""

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias
from uuid import UUID

from drysweep_pipeline.budget import Meter, free_meter
from drysweep_pipeline.candidates import COLUMNS
from drysweep_pipeline.declaration.model import AnyJudge, NoJudge
from drysweep_pipeline.values import Usage, Verdict
from drysweep_pipeline.variation import seed_of


@dataclass(frozen=True, slots=True)
class Call:
    """One question to one member of the panel, about one finding; members count from 1 and never see each other."""

    finding: Mapping[str, Any]
    member: int
    seed: int

    @property
    def fp(self) -> UUID:
        """The finding's fingerprint."""
        fp = self.finding["fp"]
        assert isinstance(fp, UUID)
        return fp


@dataclass(frozen=True, slots=True)
class Question:
    """The findings to judge, as landed rows in order of judging, and what the judge may look at.

    Each finding has the columns of a landed candidate; ``fields`` names the fingerprint fields, in order. ``base`` is
    the folder of the declaring file, ``answered`` the (finding, member) that gave an answer before a crash,
    ``kept_out`` what no child process may reach. ``meter`` is asked before a call is made once more.
    """

    judge: AnyJudge
    findings: Sequence[Mapping[str, Any]]
    fields: tuple[str, ...]
    round: int
    database: Path | None
    sweep: str = ""
    campaign: str = ""
    base: Path = Path()
    answered: frozenset[tuple[UUID, int]] = frozenset()
    kept_out: tuple[Path, ...] = ()
    meter: Meter = field(default_factory=free_meter)

    @property
    def panel(self) -> int:
        """How many members are asked about each finding."""
        return 1 if isinstance(self.judge, NoJudge) else self.judge.panel

    @property
    def calls(self) -> list[Call]:
        """The calls to make, finding by finding."""
        return [
            Call(finding, member, self.seed(member, str(finding["fp"])))
            for finding in self.findings
            for member in range(1, self.panel + 1)
            if (finding["fp"], member) not in self.answered
        ]

    @property
    def size(self) -> int:
        """How many calls there are to make."""
        asked = {finding["fp"] for finding in self.findings}
        return len(asked) * self.panel - sum(fp in asked for fp, _ in self.answered)

    def seed(self, member: int, *parts: str) -> int:
        """Return the seed of a member of the panel, of its own for each finding that is named."""
        return seed_of(self.sweep, self.campaign, self.round, "judge", *parts, member)

    def told(self, finding: Mapping[str, Any]) -> dict[str, Any]:
        """Return a finding as children are told it: its landed columns, attributes and fingerprint fields as values."""
        values = zip(self.fields, json.loads(finding["identity"])[1:], strict=True)
        fields = {name: value for name, value in values if name not in COLUMNS}
        columns = {name: finding[name] for name in COLUMNS}
        attributes = json.loads(finding["attributes"]) if finding["attributes"] else {}
        return {**fields, **columns, "fp": str(finding["fp"]), "attributes": attributes}


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the judge, or one member of its panel, said of one finding; ``answered`` is false where it said nothing.

    ``usage`` is what that took, None where nobody knows: then it counts as what was set aside.
    """

    fp: UUID
    verdict: Verdict
    reason: str | None = None
    member: int = 1
    answered: bool = True
    usage: Usage | None = None


def no_answer(call: Call, why: str, usage: Usage | None = None) -> Ruling:
    """Return what no answer is: undecided."""
    return Ruling(call.fp, Verdict.UNDECIDED, why, call.member, answered=False, usage=usage)


Judge: TypeAlias = Callable[[Question], Generator[Ruling, None, None]]
"""Yields a ruling for all calls, or for some of them, as they come; closing it ends what is under way.

Raises ``FinderError`` where it cannot judge on; what it said before that stands.
"""

"""The words of drysweep as values: severities, verdicts, states, outcomes, places, rounds.

Rules over them live in ``convergence`` and ``lifecycle``; this file decides nothing.
"""

import re
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

from drysweep_pipeline.errors import Refused

SWEEP_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
CAMPAIGN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.]{0,62}")
_ROUND_KEY = re.compile(rf"({CAMPAIGN_ID.pattern})-r([0-9]{{3,}})")


class Severity(StrEnum):
    """How bad a finding is, worst first; iteration order is the order of judging."""

    BLOCKER = "blocker"
    MAJOR = "major"
    MINOR = "minor"
    NIT = "nit"

    @property
    def rank(self) -> int:
        """Position from the worst: 0 is a blocker."""
        return list(Severity).index(self)


class Verdict(StrEnum):
    """What the judge said of a finding; a person may overrule it."""

    NONE = "none"
    CONFIRMED = "confirmed"
    REJECTED = "rejected"
    UNDECIDED = "undecided"
    UNJUDGED = "unjudged"


class State(StrEnum):
    """Where a finding stands in its life, apart from its verdict."""

    OPEN = "open"
    FIXED = "fixed"
    REOPENED = "reopened"
    CONTESTED = "contested"
    ACCEPTED_RISK = "accepted_risk"
    DECLINED = "declined"
    ESCALATED = "escalated"


class Outcome(StrEnum):
    """Why a campaign stands where it stands; never flattened into "complete"."""

    RUNNING = "running"
    CONVERGED = "converged"
    BUDGET_EXCEEDED = "budget_exceeded"
    NEEDS_DECISION = "needs_decision"
    ACCEPTED = "accepted"
    RETURNED = "returned"
    STOPPED = "stopped"
    FAILED = "failed"


class Rule(StrEnum):
    """What makes a complete round quiet: nothing new, or nothing blocking and unsettled."""

    DRY = "dry"
    CLEAN = "clean"


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A place in the order of looking: by ``as_of``, then by campaign, then by round. Never wall clock."""

    as_of: datetime
    seq: int
    round: int


@dataclass(frozen=True, slots=True)
class RoundKey:
    """One round of one campaign; its text is the Dagster partition key ``<campaign>-r<NNN>``."""

    campaign: str
    round: int

    def __str__(self) -> str:
        return f"{self.campaign}-r{self.round:03d}"

    @property
    def folder(self) -> str:
        """The name of the round's folder under the campaign's landing."""
        return f"r{self.round:03d}"

    @classmethod
    def parse(cls, text: str) -> "RoundKey":
        """Read a partition key. Raises ``Refused`` when it is not one."""
        match = _ROUND_KEY.fullmatch(text)
        if match is None:
            raise Refused(f"{text!r} is not a round", help="a round is written <campaign>-r<NNN>")
        return cls(match[1], int(match[2]))


class Isolation(StrEnum):
    """What kept who searches or judges from all but what it was handed; ``landlock`` is followed by its version."""

    LANDLOCK = "landlock"
    LOCKED_SQL = "locked SQL"
    REMOTE = "remote"
    SCRIPTED = "scripted"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Usage:
    """What an attempt used: calls, tokens and US dollars."""

    calls: int = 0
    tokens: int = 0
    cost_usd: float = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(self.calls + other.calls, self.tokens + other.tokens, self.cost_usd + other.cost_usd)

    def times(self, number: int) -> "Usage":
        """Return what that many attempts like this one use."""
        return Usage(self.calls * number, self.tokens * number, self.cost_usd * number)

    def within(self, most: "Usage") -> bool:
        """Tell whether this is no less than nothing, and no more than that."""
        return (
            0 <= self.calls <= most.calls
            and 0 <= self.tokens <= most.tokens
            and 0 <= self.cost_usd <= most.cost_usd  # which no NaN is
        )


ONE_CALL = Usage(calls=1)
MOST_USED = Usage(calls=1_000_000, tokens=10**12, cost_usd=1_000_000.0)
"""More than that in one call is a mistake of whoever counted: it would end a campaign, and no ledger can hold it."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a campaign or a finding, as the ledger keeps it."""

    name: str
    round: int | None = None
    fp: str | None = None
    actor: str | None = None
    reason: str | None = None
    evidence: str | None = None
    verified: bool | None = None
    """Whether what the evidence points at was found in the material; None where nothing was to be looked up."""
    expires: date | None = None
    """The last day of the risk that was accepted."""


# Letters to Unicode, and blank to a reader.
_FILLERS = "\u115f\u1160\u3164\uffa0"


def is_name(text: str | None) -> bool:
    """Tell whether a text names somebody: it holds a letter or a digit that a reader can see."""
    return any(letter.isalnum() and letter not in _FILLERS for letter in text or "")


def status(verdict: Verdict, state: State) -> str:
    """Return the word people see: the verdict while it is rejected or undecided and nobody acted, else the state."""
    if state is State.OPEN and verdict in (Verdict.REJECTED, Verdict.UNDECIDED):
        return verdict.value
    return state.value

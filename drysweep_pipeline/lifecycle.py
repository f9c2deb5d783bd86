"""The life of a finding: which act moves it from which state to which, and what each act must bring.

One table; a move that is not in it is refused by name. A fix settles nothing, nor does an escalation (R9). What
the judge says is a verdict, not a state, and lives beside it.
"""

import re
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from drysweep_pipeline.errors import Refused
from drysweep_pipeline.values import Severity, State, Verdict, is_name


class Act(StrEnum):
    """What people, or evidence, do to a finding."""

    FIX = "fix"
    CONTEST = "contest"
    ACCEPT_RISK = "accept_risk"
    DECLINE = "decline"
    ESCALATE = "escalate"
    CONFIRM = "confirm"
    WITHDRAW = "withdraw"
    REOPEN = "reopen"
    EXPIRE = "expire"
    LAPSE = "lapse"


SETTLED = (State.CONTESTED, State.ACCEPTED_RISK)
OPEN = (State.OPEN, State.REOPENED, State.ESCALATED)
"""The states of what somebody has still to do something about: what ``open_findings`` lists, unless it is rejected."""
_PEOPLE = {
    Act.FIX: State.FIXED,
    Act.CONTEST: State.CONTESTED,
    Act.ACCEPT_RISK: State.ACCEPTED_RISK,
    Act.DECLINE: State.DECLINED,
    Act.ESCALATE: State.ESCALATED,
}
_FREE = (State.OPEN, State.REOPENED)
WITHDRAWN = {
    State.FIXED: "fix_withdrawn",
    State.CONTESTED: "contest_withdrawn",
    State.ACCEPTED_RISK: "risk_withdrawn",
    State.DECLINED: "decline_withdrawn",
}
"""The states that a person can take back, and the event that doing so is logged as."""
TRANSITIONS: dict[tuple[State, Act], State] = {
    **{(state, act): to for state in _FREE for act, to in _PEOPLE.items()},
    **{(State.ESCALATED, act): to for act, to in _PEOPLE.items() if act is not Act.ESCALATE},
    (State.FIXED, Act.REOPEN): State.REOPENED,
    (State.ACCEPTED_RISK, Act.EXPIRE): State.OPEN,
    # What a person said can be taken back, by name; nothing else takes it back.
    **{(state, Act.WITHDRAW): State.OPEN for state in WITHDRAWN},
    # What the risk was accepted for is no longer what it was.
    (State.ACCEPTED_RISK, Act.LAPSE): State.OPEN,
}
LOGGED = {
    Act.FIX: "finding_fixed",
    Act.CONTEST: "finding_contested",
    Act.ACCEPT_RISK: "risk_accepted",
    Act.DECLINE: "finding_declined",
    Act.ESCALATE: "finding_escalated",
    Act.CONFIRM: "finding_confirmed",
    Act.REOPEN: "finding_reopened",
    Act.EXPIRE: "acceptance_expired",
    Act.LAPSE: "acceptance_lapsed",
}
"""The event that each act is logged as; for taking something back see ``WITHDRAWN``."""
BY_PEOPLE = (*_PEOPLE, Act.CONFIRM, Act.WITHDRAW)
"""The acts that are somebody's to do; the others are what the rules do by themselves."""
EVIDENCE = "evidence"
"""Who fixed a finding that nobody fixed by name: what a later campaign did not see any more."""
_POINTERS = (
    re.compile(r"\S+::\S+"),  # file::test
    re.compile(r"\S+:[0-9]+"),  # file:LINE
    re.compile(r"https?://\S+"),
    re.compile(r"(sha256:)?[0-9a-f]{7,64}"),  # a digest
)


@dataclass(frozen=True, slots=True)
class Deed:
    """One act on one finding, with what it must bring: a name, evidence, an expiry, what a fix changed and where."""

    act: Act
    by: str | None = None
    evidence: str | None = None
    reason: str | None = None
    expires: date | None = None
    revision: str | None = None
    scope: str | None = None


def event_of(act: Act, state: State) -> str:
    """Return the name of the event that an act on a finding in some state is logged as."""
    return WITHDRAWN.get(state, "risk_withdrawn") if act is Act.WITHDRAW else LOGGED[act]


def points_at_something(evidence: str) -> bool:
    """Tell whether evidence names something a reader can open: file:LINE, file::test, a URL or a digest."""
    return any(pointer.fullmatch(evidence.strip()) for pointer in _POINTERS)


def moved(verdict: Verdict, state: State, severity: Severity, deed: Deed) -> tuple[Verdict, State]:
    """Return verdict and state after a deed. Raises ``Refused`` naming the move where the rules do not allow it."""
    _check(severity, deed)
    if deed.act is Act.CONFIRM:
        if verdict is Verdict.CONFIRMED:
            raise Refused("confirm: the finding is confirmed already", key="confirm")
        return Verdict.CONFIRMED, state
    if state is State.ESCALATED and not is_name(deed.by):
        raise Refused(f"{deed.act}: an escalated finding is a person's to decide, by name", key=f"{deed.act}.by")
    to = TRANSITIONS.get((state, deed.act))
    if to is None:
        help = "`withdraw` takes that back" if state in WITHDRAWN else None
        raise Refused(f"{deed.act}: not a move that a finding in state {state} can make", key=deed.act.value, help=help)
    return verdict, to


def _check(severity: Severity, deed: Deed) -> None:
    if deed.act in (Act.CONTEST, Act.ACCEPT_RISK, Act.CONFIRM, Act.WITHDRAW) and not is_name(deed.by):
        raise Refused(f"{deed.act}: the name of a person is required", key=f"{deed.act}.by")
    if deed.act is Act.CONTEST and not points_at_something(deed.evidence or ""):
        raise Refused(
            f"contest: the evidence {deed.evidence!r} points at nothing that a reader can open",
            key="contest.evidence",
            help="give file:LINE, file::test, a URL or a digest",
        )
    if deed.act is Act.DECLINE and severity is not Severity.NIT:
        raise Refused(f"decline: only a nit can be declined, this is a {severity}", key="decline")


def blocks(verdict: Verdict, state: State, severity: Severity, blocking: tuple[Severity, ...]) -> bool:
    """Tell whether a finding raised in a round, at this severity, keeps a clean round from being quiet."""
    return severity in blocking and state not in SETTLED and verdict is not Verdict.REJECTED


def expired(expires: date | None, on: date) -> bool:
    """Tell whether an accepted risk has run out; the last day still counts."""
    return expires is not None and expires < on

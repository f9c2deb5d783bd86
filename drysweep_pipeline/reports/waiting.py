"""What a campaign waits for, in a sentence, and the commands that answer it: pure functions over values.

Which answers are allowed is ``convergence``'s business and asked there, so that none is offered that would be refused.
How wide the ceilings of a ``resume`` have to be is worked out in ``outlook``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from drysweep_pipeline.budget import Ceilings
from drysweep_pipeline.convergence import Standing
from drysweep_pipeline.engine.state import State, queued_behind
from drysweep_pipeline.outlook import Course, Outlook, outlook, resumed
from drysweep_pipeline.values import Outcome
from drysweep_pipeline.wording import count

QUEUE = "campaign"
_UNKNOWN = Course()


@dataclass(frozen=True, slots=True)
class Choice:
    """A command that may be given, and what it does."""

    command: str
    does: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """What is waited for (``turn``, ``churn``, a ceiling's name, ``campaign``), in a sentence, and what may be done."""

    what: str
    sentence: str
    choices: tuple[Choice, ...]

    @property
    def as_json(self) -> dict[str, object]:
        """Return it as the JSON that commands and reports print."""
        return {"what": self.what, "sentence": self.sentence, "commands": [each.command for each in self.choices]}


@dataclass(frozen=True, slots=True)
class Stand:
    """A campaign as far as waiting goes; ``behind`` are the campaigns that it is queued behind, the first first.

    ``gone``: its record is gone, so that no command can go on with it.
    """

    sweep: str
    campaign: str
    k: int
    standing: Standing
    behind: tuple[str, ...] = ()
    course: Course = _UNKNOWN
    gone: bool = False

    @property
    def name(self) -> str:
        """How the commands take it."""
        return f"{self.sweep}/{self.campaign}"

    @property
    def outlook(self) -> Outlook:
        """How it goes on."""
        return outlook(self.standing, self.k, self.course)


def at_state(state: State, states: Sequence[State]) -> Stand:
    """Return a campaign as its state file tells it, which knows of no ceilings; ``states`` are those of the sweep."""
    standing = Standing(
        Ceilings(state.rounds), outcome=state.outcome, reason=state.reason, rounds=state.rounds, quiet=state.quiet
    )
    behind = tuple(each.campaign for each in queued_behind(state, states))
    return Stand(state.sweep, state.campaign, state.k, standing, behind)


def waits_for(stand: Stand, option: str = "") -> Waiting | None:
    """Return what a campaign waits for, or None; ``option`` leads the commands to its home, a blank before it."""
    if stand.behind:
        return Waiting(QUEUE, _queued(stand), tuple(_out_of_the_queue(stand, option)))
    standing = stand.standing
    if standing.outcome is not Outcome.NEEDS_DECISION or standing.reason is None:
        return None
    return Waiting(standing.reason, f"{stand.campaign} {_asks(standing)}", tuple(_answers(stand, option)))


def _queued(stand: Stand) -> str:
    first, *more = stand.behind
    others = f", and then for {', '.join(more)}" if more else ""
    return f"{stand.campaign} is queued: its first round waits for campaign {first} to end{others}"


def _out_of_the_queue(stand: Stand, option: str) -> Iterator[Choice]:
    first = f"{stand.sweep}/{stand.behind[0]}"
    yield Choice(f"drysweep status {first}{option}", "says what the one before it is about")
    yield Choice(f"drysweep resume {stand.name}{option}", f"starts it now and here, beside {stand.behind[0]}")
    yield Choice(f"drysweep stop {stand.name}{option}", "takes it out of the queue")


def _asks(standing: Standing) -> str:
    if standing.reason == "turn":
        return f"waits for a go-ahead for round {standing.rounds + 1}"
    if standing.reason == "churn":
        return "waits for a person to decide: something new turned up at the scope of a fix"
    return f"waits for a person to decide: the ceiling on {standing.reason} is reached after round {standing.rounds}"


def _answers(stand: Stand, option: str) -> Iterator[Choice]:
    """Yield the answers that the rules allow now, the one that is asked for first."""
    rounds = max(1, stand.k - stand.standing.quiet)
    more = count(rounds, "more round")
    if stand.standing.reason == "turn":
        yield Choice(f"drysweep go {stand.name}{option}", "runs that round")
    else:
        decide = f"drysweep decide {stand.name}"
        yield Choice(f"{decide} accept{option}", "ends it as it stands, a lower bound")
        yield Choice(f"{decide} continue {rounds}{option}", f"lets {more} run whatever the ceilings say")
        yield Choice(f"{decide} redraft{option}", "ends it, and sends the material back")
        yield from _wider(stand, option)
    yield Choice(f"drysweep stop {stand.name}{option}", "stops it as it stands; it can be resumed")


def resume_command(stand: Stand, option: str = "") -> str | None:
    """Return the ``resume`` that lets a campaign go on, with the ceilings that it needs; None where none would."""
    answer = None if stand.gone else resumed(stand.standing, stand.outlook)
    if answer is None:
        return None
    given = (("--rounds", answer.rounds), ("--calls", answer.calls))
    wider = "".join(f" {name} {ceiling}" for name, ceiling in given if ceiling is not None)
    return f"drysweep resume {stand.name}{wider}{option}"


def _wider(stand: Stand, option: str) -> Iterator[Choice]:
    """Yield the ``resume`` that widens the ceilings as far as it takes, where that lets a round run."""
    if command := resume_command(stand, option):
        yield Choice(command, f"widens the ceilings for good: {stand.outlook.basis}")

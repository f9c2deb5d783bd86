"""What a campaign tells of its work while it is under way, for whoever watches in the same process.

Nothing is recorded here and nothing is decided by it: what happened is in landing and ledger. Where nobody listens,
telling costs next to nothing, and a listener that fails is not heard of again; the search goes on.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tiding:
    """What happened in which round of a campaign; ``campaign`` is its sweep and id, joined by a slash."""

    campaign: str
    round: int


@dataclass(frozen=True, slots=True)
class Freezing(Tiding):
    """The material is read and frozen into a snapshot."""


@dataclass(frozen=True, slots=True)
class Searching(Tiding):
    """A wave begins, of these strategies."""

    strategies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StrategyBegan(Tiding):
    """A strategy begins to look, for the first time in the round or for another."""

    strategy: str
    attempt: int


@dataclass(frozen=True, slots=True)
class StrategyEnded(Tiding):
    """A strategy ran to its end, or counts as not run for a ``reason``; ``rows`` are those that it reported validly."""

    strategy: str
    ran: bool
    rows: int
    seconds: float
    reason: str | None


@dataclass(frozen=True, slots=True)
class TakenIn(Tiding):
    """What a wave reported was taken in: distinct findings, and those that are fresh or reopened."""

    distinct: int
    fresh: int
    reopened: int


@dataclass(frozen=True, slots=True)
class Judging(Tiding):
    """The judge is asked, and has answered so many of the times that it is to be asked."""

    answered: int
    asked: int


@dataclass(frozen=True, slots=True)
class Judged(Tiding):
    """The findings of a round were judged: how many, by verdict; ``failed`` is why the judge failed, if it did."""

    confirmed: int
    rejected: int
    undecided: int
    unjudged: int
    failed: str | None


@dataclass(frozen=True, slots=True)
class Decided(Tiding):
    """A round was decided: where the campaign stands, and what it has spent."""

    outcome: str
    reason: str | None
    quiet: int
    k: int
    calls: int
    calls_ceiling: int | None
    rounds_ceiling: int
    uncovered: bool = False
    """Quiet for K rounds, and not over: some angles were not used yet."""


Listener = Callable[[Tiding], None]


def _nobody(_: Tiding) -> None:
    """Hear nothing."""


_LISTENER: ContextVar[Listener] = ContextVar("drysweep_listener", default=_nobody)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Have a listener hear what the campaigns of this thread tell, until the block is left.

    It may be called from several threads at once: a wave has one for each strategy.
    """
    token = _LISTENER.set(_Guarded(listener))
    try:
        yield
    finally:
        _LISTENER.reset(token)


class Teller:
    """Tells what happens in one round of a campaign to whoever listened when it was made.

    It is made where the round is begun and handed to the threads that are started: those know no listener.
    """

    def __init__(self, campaign: str, round: int) -> None:
        self._campaign, self._round, self._listener = campaign, round, _LISTENER.get()

    def __call__(self, kind: Callable[..., Tiding], *what: object) -> None:
        """Tell a tiding of some kind; ``what`` is all of it but campaign and round."""
        if self._listener is not _nobody:
            self._listener(kind(self._campaign, self._round, *what))


class _Guarded:
    """A listener whose failure is its own: it hears no more, and the search does not notice."""

    def __init__(self, listener: Listener) -> None:
        self._listener: Listener | None = listener

    def __call__(self, tiding: Tiding) -> None:
        if self._listener is None:
            return
        try:
            self._listener(tiding)
        except Exception:  # a terminal that is gone is no reason to lose a round
            self._listener = None

"""How a journal ends, said a second time: from the text of the rules, over the whole journal, with nothing remembered.

It shares no code with the product and is slow on purpose: every question is answered by looking at all entries again.
A journal is a sequence of decided rounds and of what people answered in between.
"""

from collections.abc import Sequence
from dataclasses import dataclass

ASKED_FOR_MONEY = ("rounds", "calls")


@dataclass(frozen=True, slots=True)
class Agreed:
    """What a campaign agreed to before it started."""

    k: int
    rounds: int
    calls: int | None = None
    ask: bool = False
    manual: bool = False
    price: int = 2


@dataclass(frozen=True, slots=True)
class Round:
    """A decided round; ``calls`` is all that the campaign has spent by its end, ``price`` what the next one costs."""

    quiet: bool
    down: frozenset[str] = frozenset()
    churn: bool = False
    tripped: str | None = None
    calls: int = 0
    price: int = 2
    covered: bool = True
    """Whether every angle was used on the snapshot, where the campaign asks for that."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a person answered."""

    kind: str
    rounds: int | None = None
    calls: int | None = None


Entry = Round | Said
Ending = tuple[str, str | None, int, int]


def ending(journal: Sequence[Entry], agreed: Agreed) -> Ending:
    """Return outcome, reason, rounds and the quiet rounds in a row at the end."""
    rounds = [entry for entry in journal if isinstance(entry, Round)]
    outcome, reason = _why(journal, agreed)
    return outcome, reason, len(rounds), quiet_at_the_end(rounds)


def quiet_at_the_end(rounds: Sequence[Round]) -> int:
    """Count the quiet rounds after the last one that was not."""
    return next((n for n, each in enumerate(reversed(rounds)) if not each.quiet), len(rounds))


def _why(journal: Sequence[Entry], agreed: Agreed) -> tuple[str, str | None]:
    if not journal:
        return "running", None
    last, before = journal[-1], journal[:-1]
    if isinstance(last, Said):
        ended = {"accept": "accepted", "redraft": "returned", "stop": "stopped"}
        kept = _why(before, agreed)[1] if last.kind in ("accept", "redraft") else None
        return ended.get(last.kind, "running"), kept
    rounds = [entry for entry in journal if isinstance(entry, Round)]
    if quiet_at_the_end(rounds) >= agreed.k and last.covered:
        return "converged", None
    if _down_three_times(journal):
        return "failed", "not_run"
    if last.churn:
        return "needs_decision", "churn"
    ceiling = forbidding(journal, agreed, last.tripped)
    if ceiling is not None:
        return ("needs_decision" if agreed.ask else "budget_exceeded"), ceiling
    return ("needs_decision", "turn") if agreed.manual else ("running", None)


def _down_three_times(journal: Sequence[Entry]) -> bool:
    """Tell whether a strategy did not run in the last three rounds; a resume begins the counting again."""
    resumed = [n for n, entry in enumerate(journal) if isinstance(entry, Said) and entry.kind == "resume"]
    since = [entry for entry in journal[max(resumed, default=-1) + 1 :] if isinstance(entry, Round)]
    return len(since) >= 3 and bool(since[-1].down & since[-2].down & since[-3].down)


def ceilings(journal: Sequence[Entry], agreed: Agreed) -> tuple[int, int | None]:
    """Return the ceilings on rounds and calls as people widened them last."""
    rounds, calls = agreed.rounds, agreed.calls
    for entry in journal:
        if isinstance(entry, Said) and entry.kind == "resume":
            rounds = rounds if entry.rounds is None else entry.rounds
            calls = calls if entry.calls is None else entry.calls
    return rounds, calls


def is_free(journal: Sequence[Entry]) -> bool:
    """Tell whether a person's ``continue`` frees the next round from all ceilings."""
    given = [n for n, entry in enumerate(journal) if isinstance(entry, Said) and entry.kind == "continue"]
    if not given:
        return False
    played = sum(isinstance(entry, Round) for entry in journal[given[-1] :])
    said = journal[given[-1]]
    assert isinstance(said, Said)
    assert said.rounds is not None
    return played < said.rounds


def forbidding(journal: Sequence[Entry], agreed: Agreed, tripped: str | None = None) -> str | None:
    """Return the ceiling that forbids the next round: one that tripped inside, else rounds, else calls."""
    if is_free(journal):
        return None
    rounds = [entry for entry in journal if isinstance(entry, Round)]
    most_rounds, most_calls = ceilings(journal, agreed)
    spent, price = (rounds[-1].calls, rounds[-1].price) if rounds else (0, agreed.price)
    if tripped is not None:
        return tripped
    if len(rounds) + 1 > most_rounds:
        return "rounds"
    return "calls" if most_calls is not None and spent + price > most_calls else None


def is_allowed(journal: Sequence[Entry], said: Said, agreed: Agreed) -> bool:
    """Tell whether a person may answer this to a campaign with this journal."""
    outcome, reason = _why(journal, agreed)
    if said.kind in ("accept", "redraft"):
        return outcome == "needs_decision"
    if said.kind == "continue":
        return outcome == "needs_decision" and said.rounds is not None and said.rounds >= 1
    if said.kind == "go":
        return (outcome, reason) == ("needs_decision", "turn")
    if said.kind == "stop":
        return outcome in ("running", "needs_decision")
    if outcome in ("converged", "accepted", "returned"):
        return False
    if outcome == "needs_decision" and reason not in ASKED_FOR_MONEY:
        return False
    return outcome == "running" or forbidding([*journal, said], agreed) is None

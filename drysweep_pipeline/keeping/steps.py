"""What was landed of a sweep as steps, in the order in which the ledger took them in.

Within a campaign the order follows from what the steps are; between campaigns it is that of the instants which they
landed. A clock that was set back can put a campaign's steps after those of another, never among its own.
"""

import heapq
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from drysweep_pipeline.convergence import Answer, Standing, after_answer
from drysweep_pipeline.engine import actions, journal, judging, rounds
from drysweep_pipeline.engine.campaign import Campaign, campaigns, load
from drysweep_pipeline.home import Home
from drysweep_pipeline.ledger import Ledger
from drysweep_pipeline.ledger import journal as ledger_journal

Commit = Callable[[Ledger, Standing], Standing]
Kind = Literal["record", "intake", "judged", "decision", "action"]


@dataclass(frozen=True, slots=True)
class Step:
    """Something that a campaign landed and a ledger takes in, in a round or as an action with a number.

    ``commit`` takes it in, in the caller's transaction, given where the campaign stood before; it returns where it
    stands then. ``decided`` tells whether its round was decided.
    """

    campaign: Campaign
    kind: Kind
    at: datetime
    commit: Commit
    round: int = 0
    decided: bool = False
    number: int = 0


def steps_of(home: Home, sweep: str) -> Iterator[Step]:
    """Yield what all campaigns of a sweep landed, in order; each campaign is read as it is reached."""
    alike = [_dated(load(home, sweep, name)) for name in campaigns(home, sweep)]
    for _, _, step in heapq.merge(*alike, key=lambda each: each[:2]):
        yield step


def take_in(ledger: Ledger, step: Step, before: Standing) -> Standing:
    """Take a step into the ledger, whole, and return where its campaign stands then."""
    with ledger.transaction():
        return step.commit(ledger, before)


def begun(campaign: Campaign) -> Standing:
    """Return where a campaign stands before its first step, an answer that came before its first round among them."""
    return journal.at_first(campaign)


def _dated(campaign: Campaign) -> Iterator[tuple[datetime, int, Step]]:
    """Yield a campaign's steps with the latest instant that any of them had so far, and the campaign's sequence."""
    latest = campaign.started_at
    for step in _of(campaign):
        latest = max(latest, step.at)
        yield latest, campaign.seq, step


def _of(campaign: Campaign) -> Iterator[Step]:
    """Yield a campaign's steps: its record, then its rounds with what was done in between."""
    yield Step(campaign, "record", campaign.started_at, _record(campaign))
    said = deque(_actions(campaign))
    for step in _rounds(campaign):
        # What is done while a round is under way lies between its steps, and before its decision at the latest.
        while said and said[0][0] < step.round and (said[0][1].at < step.at or step.kind == "decision"):
            yield said.popleft()[1]
        yield step
    yield from (step for _, step in said)


def _actions(campaign: Campaign) -> Iterator[tuple[int, Step]]:
    """Yield what was done in a campaign, with the round after which it was."""
    for number, action in enumerate(journal.read_actions(campaign), start=1):
        at = datetime.fromisoformat(action["at"])
        yield action["after_round"], Step(campaign, "action", at, _done(campaign, number, action), number=number)


def _rounds(campaign: Campaign) -> Iterator[Step]:
    """Yield the steps of a campaign's rounds, as far as they were taken."""
    round = 1
    while (landed := journal.read_landed(campaign, round)) is not None:
        taken_at, decided_at = landed.committed_at, journal.decided_at(campaign, round)
        decided = decided_at is not None
        yield Step(campaign, "intake", taken_at, _intake(campaign, round, landed), round, decided)
        judged_at = journal.judged_at(campaign, round) or decided_at or _judged_for_nothing(campaign, round, taken_at)
        if judged_at is not None:
            yield Step(campaign, "judged", judged_at, _judged(campaign, round, judged_at), round, decided)
        if decided_at is None:
            return
        yield Step(campaign, "decision", decided_at, _decision(campaign, round, decided_at), round, decided)
        round += 1


def _judged_for_nothing(campaign: Campaign, round: int, at: datetime) -> datetime | None:
    """Return an instant where there was nothing to judge in a round: when that was taken in makes no difference."""
    file = judging.landed_file(campaign, round)
    return at if file is not None and not file.rows else None


def _record(campaign: Campaign) -> Commit:
    def commit(ledger: Ledger, before: Standing) -> Standing:
        ledger_journal.record_campaign(
            ledger,
            campaign.id,
            campaign.seq,
            campaign.as_of,
            campaign.policy.rule,
            campaign.policy.k,
            campaign.declaration.digest,
            campaign.started_at,
        )
        return before

    return commit


def _intake(campaign: Campaign, round: int, landed: journal.Landed) -> Commit:
    def commit(ledger: Ledger, before: Standing) -> Standing:
        rounds.commit_intake(ledger, campaign, round, landed)
        return before

    return commit


def _judged(campaign: Campaign, round: int, at: datetime) -> Commit:
    def commit(ledger: Ledger, before: Standing) -> Standing:
        judging.commit_landed(ledger, campaign, round, at)
        return before

    return commit


def _decision(campaign: Campaign, round: int, at: datetime) -> Commit:
    def commit(ledger: Ledger, before: Standing) -> Standing:
        result = journal.read_result(campaign, round)
        assert result is not None, "a round that has an instant of its decision was decided"
        return rounds.commit_decision(ledger, campaign, result, before, at)

    return commit


def _done(campaign: Campaign, number: int, action: dict[str, Any]) -> Commit:
    def commit(ledger: Ledger, before: Standing) -> Standing:
        actions.commit(ledger, campaign, number, action)
        if action["action"] != "answer":
            return before
        return after_answer(before, Answer(**action["answer"]))[0]

    return commit

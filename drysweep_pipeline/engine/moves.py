"""What a round's sightings do to the lives of findings: risks that ran out or lapse, fixes that did not hold.

No finder undoes what a person settled: a risk lapses because the material is no longer what it was accepted for, and
what the material is comes from the snapshot, never from what a finder says of it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from drysweep_pipeline import sandbox
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.journal import Landed, Lapsed
from drysweep_pipeline.engine.planning import read_plan, snapshot_of
from drysweep_pipeline.ledger import Ledger, journal, lives
from drysweep_pipeline.values import Event, Place, Rule, State

_SHA256 = "select path, sha256 from files"


@dataclass(frozen=True, slots=True)
class Moved:
    """What a round did to lives: fingerprints whose risk ran out or lapsed, and those that are reopened."""

    expired: tuple[str, ...]
    lapsed: tuple[Lapsed, ...]
    reopened: tuple[str, ...]


def move(
    ledger: Ledger,
    campaign: Campaign,
    round: int,
    not_run: Mapping[str, str],
    now: datetime,
    landed: Landed | None,
) -> Moved:
    """Move findings as the round asks for, log it all in order, and return what was moved.

    ``not_run`` says why each strategy that did not run did not; ``landed`` is what a first intake found. Deeds that
    were landed are in the ledger already.
    """
    moved = _moved(ledger, campaign, round, landed)
    for state, was, fps in (
        (State.OPEN, State.ACCEPTED_RISK, (*moved.expired, *(each.fp for each in moved.lapsed))),
        (State.REOPENED, State.FIXED, moved.reopened),
    ):
        for fp in map(UUID, fps):
            # Between an intake that died and the one that is done again, a person may have settled it.
            if lives.standing_of(ledger, fp)[1] is was:
                lives.record_life(ledger, fp, state, campaign.place(round))
    events = [Event("acceptance_expired", round, fp=fp) for fp in moved.expired]
    events += [Event("acceptance_lapsed", round, fp=e.fp, reason=e.reason, evidence=e.evidence) for e in moved.lapsed]
    events += [Event("finder_not_run", round, actor=name, reason=why) for name, why in not_run.items()]
    events += [Event("finding_reopened", round, fp=fp) for fp in moved.reopened]
    journal.log(ledger, campaign.id, now, events)
    return moved


def _moved(ledger: Ledger, campaign: Campaign, round: int, landed: Landed | None) -> Moved:
    """Return what the round moves: as its first intake found, as far as that was landed."""
    # Whoever looks again looks at what others have dealt with since: no risk runs out or lapses by it.
    again = campaign.looked_again is not None
    expired, lapsed = (landed.expired, landed.lapsed) if landed else (None, None)
    if expired is None:
        expired = () if again else tuple(str(fp) for fp in lives.expired_by(ledger, campaign.as_of))
    if lapsed is None:
        lapsed = () if again else tuple(each for each in _lapsed(ledger, campaign, round) if each.fp not in expired)
    reopened = landed.reopened if landed else tuple(str(fp) for fp in _refuted(ledger, campaign, round))
    return Moved(expired, lapsed, reopened)


def _snapshot_place(campaign: Campaign, round: int) -> Place:
    """Return the place of a round's snapshot; one that is looked at again was frozen where its own campaign stands."""
    again = campaign.looked_again
    if again is not None:
        return Place(campaign.as_of, again.seq, 0)
    return Place(campaign.as_of, campaign.seq, snapshot_round(campaign, round))


def snapshot_round(campaign: Campaign, round: int) -> int:
    """Return the place of a round's snapshot: all rounds of a dry campaign read the one from before the first (R16)."""
    return 0 if campaign.policy.rule is Rule.DRY else round


def _refuted(ledger: Ledger, campaign: Campaign, round: int) -> list[UUID]:
    return lives.sighted_after_fix(ledger, campaign.id, campaign.place(round), _snapshot_place(campaign, round))


def _lapsed(ledger: Ledger, campaign: Campaign, round: int) -> Iterator[Lapsed]:
    """Yield accepted risks that the round sighted where the file they were accepted for is another one now."""
    place = campaign.place(round)
    accepted = lives.accepted_and_sighted(ledger, campaign.id, place, snapshot_round(campaign, round))
    now = _sha256(campaign, round) if accepted else {}
    for fp, basis in accepted:
        path, _, was = basis.rpartition(" ")
        if now.get(path) != was:
            yield Lapsed(str(fp), f"{path} is no longer what the risk was accepted for", f"{path} {now.get(path)}")


def _sha256(campaign: Campaign, round: int) -> dict[str, str | None]:
    """Return what each file of a round's snapshot holds; the snapshot is checked once, however many risks there are."""
    planned = read_plan(campaign, round)
    snapshot = snapshot_of(campaign, planned.snapshot) if planned is not None else None
    if snapshot is None:
        return {}
    with sandbox.locked(snapshot.database) as connection:
        return dict(connection.execute(_SHA256).fetchall())

"""Findings that a campaign did not see although a strategy that once saw them looked again in the same way.

What of that is proof of a fix is decided in ``engine.closings``; here is only what the ledger can tell.
"""

from dataclasses import dataclass
from uuid import UUID

from drysweep_pipeline.ledger.store import Ledger
from drysweep_pipeline.values import Place

# A backfilled campaign says nothing of findings that a later one sighted, or that somebody moved later in the order.
_ABSENCES = """
    with earlier as (
        select campaign
        from campaigns
        where (as_of, seq) < (cast($as_of as timestamptz), $seq)
    ), open_findings as (
        select s.fp
        from (select distinct fp from sightings semi join earlier using (campaign)) s
        left join current_lives life using (fp)
        left join current_verdicts v using (fp)
        where
            coalesce(life.state, 'open') in ('open', 'reopened')
            and not (coalesce(life.state, 'open') = 'open' and coalesce(v.verdict, 'none') = 'rejected')
            and (life.fp is null or (life.as_of, life.seq, life.round) < (cast($as_of as timestamptz), $seq, 0))
            and not exists (
                select 1
                from sightings again
                join campaigns c using (campaign)
                where again.fp = s.fp and (c.as_of, c.seq) >= (cast($as_of as timestamptz), $seq)
            )
    ), ran as (
        select distinct r.campaign, r.round, r.strategy, r.angle, rounds.snapshot
        from strategy_runs r
        join rounds using (campaign, round)
        where
            r.status = 'ok'
            and not exists (
                select 1
                from events e
                where
                    e.name = 'finder_not_run' and e.campaign = r.campaign and e.round = r.round
                    and e.actor = r.strategy
            )
    )
    select
        s.fp, s.strategy, s.campaign, s.round, seen.snapshot, seen.angle, unseen.round, unseen.snapshot
    from sightings s
    semi join open_findings using (fp)
    semi join earlier using (campaign)
    join campaigns c using (campaign)
    join ran seen using (campaign, round, strategy)
    join ran unseen
        on unseen.campaign = $campaign
        and unseen.strategy = s.strategy
        and unseen.angle = seen.angle
        and unseen.snapshot <> seen.snapshot
    qualify row_number() over (
        partition by s.fp, s.strategy, s.campaign, seen.angle, seen.snapshot, unseen.snapshot
        order by s.round desc, unseen.round
    ) = 1
    order by s.fp, c.as_of desc, c.seq desc, s.round desc, s.strategy
"""


@dataclass(frozen=True, slots=True)
class Absence:
    """A strategy's sighting of a finding, and its complete run at the same angle, on other material, without it."""

    fp: UUID
    strategy: str
    campaign: str
    round: int
    snapshot: str
    angle: str
    unseen_round: int
    unseen_snapshot: str


def absences(ledger: Ledger, campaign: str, place: Place) -> list[Absence]:
    """Return the absences of open findings from a campaign at ``place``, by finding, the newest sighting first."""
    named = {"campaign": campaign, "as_of": place.as_of, "seq": place.seq}
    return [Absence(*row) for row in ledger.connection.execute(_ABSENCES, named).fetchall()]

"""Verdicts and states of findings in the ledger: what the judge said last, and where people moved them.

Both are append-only; the newest row of a finding counts. Which moves are allowed is ``lifecycle``'s business.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pyarrow as pa

from drysweep_pipeline.ledger.store import Ledger
from drysweep_pipeline.spelling import rank
from drysweep_pipeline.values import Place, State, Verdict

if TYPE_CHECKING:
    from drysweep_pipeline.judges.question import Ruling

_TO_JUDGE = """
    with undecided as (
        select fp from current_verdicts where verdict = 'undecided'
    ), mine as (
        select fp, max(round) as round
        from sightings
        where campaign = $campaign and (round = $round or fp in (select fp from undecided))
        group by fp
    )
    select mine.fp, mine.round
    from mine
    left join current_verdicts v using (fp)
    where v.verdict is null or v.verdict = 'undecided'
"""
_ADD_VERDICTS = """
    insert into verdicts
    select
        cast(fp as uuid), $campaign, cast($round as integer), $judge, verdict, reason, calls,
        (select coalesce(max(ord), 0) from verdicts) + row_number() over (order by fp)
    from given
    -- What a person said while the judge was asked is not overruled by the judge's answer.
    where
        starts_with($judge, 'person:')
        or not exists (
            select 1
            from verdicts said
            where said.fp = cast(given.fp as uuid) and starts_with(said.judge, 'person:')
        )
"""
_REOPENED = """
    select life.fp
    from current_lives life
    semi join sightings seen on seen.fp = life.fp and seen.campaign = $campaign and seen.round = $round
    where
        life.state = 'fixed'
        and (
            (life.as_of, life.seq, life.round) < (cast($as_of as timestamptz), $frozen_by, $snapshot)
            -- Evidence that the campaign gave when it stopped, and that it refutes now that it goes on.
            or (life.actor = 'evidence' and life.seq = $seq)
        )
    order by life.fp
"""
_ACCEPTED = """
    select life.fp, life.basis
    from current_lives life
    semi join sightings seen on seen.fp = life.fp and seen.campaign = $campaign and seen.round = $round
    where
        life.state = 'accepted_risk'
        and life.basis is not null
        and (life.as_of, life.seq, life.round) < (cast($as_of as timestamptz), $seq, $snapshot)
    order by life.fp
"""
_SIGHTED_IN = """
    select campaign, max(round) as round
    from sightings
    join campaigns using (campaign)
    where fp = ?
    group by campaign, seq
    order by campaign = ? desc, seq desc
"""
_EXPIRED = "select fp from current_lives where state = 'accepted_risk' and expires < cast(? as date) order by fp"
_ADD_LIFE = """
    insert into lives
    select ?, ?, cast(? as timestamptz), cast(? as integer), cast(? as integer), ?, cast(? as date),
        (select coalesce(max(ord), 0) + 1 from lives), ?, ?, ?
"""
_STANDING = """
    select
        coalesce((select arg_max(verdict, ord) from verdicts where fp = cast($fp as uuid)), 'none'),
        coalesce((select arg_max(state, ord) from lives where fp = cast($fp as uuid)), 'open')
"""
_UNSETTLED = f"""
    with raised as (
        select fp, min({rank("severity")}) as worst
        from read_parquet(?, hive_partitioning = false)
        group by fp
    )
    select count(*)
    from raised
    left join current_verdicts v using (fp)
    left join current_lives l using (fp)
    where
        raised.worst in (select unnest(cast(? as integer[])))
        and coalesce(l.state, 'open') <> all (cast(? as varchar[]))
        and coalesce(v.verdict, 'none') <> 'rejected'
"""


@dataclass(frozen=True, slots=True)
class Pending:
    """A finding that waits for a verdict, and the round of this campaign whose files hold its newest payload."""

    fp: UUID
    round: int


@dataclass(frozen=True, slots=True)
class Because:
    """What made a finding move: who, what a fix touched and at which revision, until when and for what a risk holds.

    ``basis`` names the configuration that a risk was accepted for, as ``file`` and SHA-256 in one text.
    """

    actor: str | None = None
    scope: str | None = None
    expires: date | None = None
    revision: str | None = None
    basis: str | None = None


NO_REASON = Because()


@dataclass(frozen=True, slots=True)
class SightedIn:
    """A campaign that sighted a finding, and its last round that did."""

    campaign: str
    round: int


def to_judge(ledger: Ledger, campaign: str, round: int) -> list[Pending]:
    """Return the findings of a campaign, sighted in this round or still undecided, that have no verdict."""
    rows = ledger.connection.execute(_TO_JUDGE, {"campaign": campaign, "round": round}).fetchall()
    return [Pending(fp, at) for fp, at in rows]


def record_verdicts(
    ledger: Ledger, campaign: str, round: int, judge: str, rulings: Sequence[tuple["Ruling", int]]
) -> None:
    """Append what a judge said, with the calls each ruling took."""
    table = pa.table(
        {
            "fp": pa.array([str(ruling.fp) for ruling, _ in rulings], pa.string()),
            "verdict": pa.array([ruling.verdict.value for ruling, _ in rulings], pa.string()),
            "reason": pa.array([ruling.reason for ruling, _ in rulings], pa.string()),
            "calls": pa.array([calls for _, calls in rulings], pa.int32()),
        }
    )
    ledger.connection.register("given", table)
    try:
        ledger.connection.execute(_ADD_VERDICTS, {"campaign": campaign, "round": round, "judge": judge})
    finally:
        ledger.connection.unregister("given")


def standing_of(ledger: Ledger, fp: UUID) -> tuple[Verdict, State]:
    """Return the verdict and the state of one finding."""
    verdict, state = ledger.connection.execute(_STANDING, {"fp": str(fp)}).fetchall()[0]
    return Verdict(verdict), State(state)


def record_life(ledger: Ledger, fp: UUID, state: State, at: Place, because: Because = NO_REASON) -> None:
    """Append a finding's new state, with the place in the order where it took it and what made it."""
    values: list[Any] = [fp, state.value, at.as_of, at.seq, at.round, because.scope, because.expires]
    ledger.connection.execute(_ADD_LIFE, [*values, because.actor, because.revision, because.basis])


def sighted_after_fix(ledger: Ledger, campaign: str, place: Place, snapshot: Place) -> list[UUID]:
    """Return fixed findings that this round sighted on a snapshot taken after their fix (R10)."""
    parameters = {**_sighted_at(campaign, place, snapshot.round), "frozen_by": snapshot.seq}
    return [row[0] for row in ledger.connection.execute(_REOPENED, parameters).fetchall()]


def accepted_and_sighted(ledger: Ledger, campaign: str, place: Place, snapshot_round: int) -> list[tuple[UUID, str]]:
    """Return (finding, what its risk was accepted for) of what this round sighted on material from after that."""
    parameters = _sighted_at(campaign, place, snapshot_round)
    return [(fp, basis) for fp, basis in ledger.connection.execute(_ACCEPTED, parameters).fetchall()]


def sighted_in(ledger: Ledger, fp: UUID, campaign: str) -> list[SightedIn]:
    """Return the campaigns that sighted a finding: the one asked about first, then the one recorded last."""
    found = ledger.connection.execute(_SIGHTED_IN, [str(fp), campaign]).fetchall()
    return [SightedIn(name, round) for name, round in found]


def _sighted_at(campaign: str, place: Place, snapshot_round: int) -> dict[str, Any]:
    return {
        "campaign": campaign,
        "round": place.round,
        "as_of": place.as_of,
        "seq": place.seq,
        "snapshot": snapshot_round,
    }


def expired_by(ledger: Ledger, as_of: datetime) -> list[UUID]:
    """Return findings whose accepted risk has run out; the last day still counts."""
    return [row[0] for row in ledger.connection.execute(_EXPIRED, [as_of.date()]).fetchall()]


def unsettled(ledger: Ledger, files: Iterable[str], ranks: list[int], settled: list[str]) -> int:
    """Count the findings raised in verified files at a blocking severity that nothing settles (R3, clean rule)."""
    paths = list(files)
    if not paths:
        return 0
    return int(ledger.connection.execute(_UNSETTLED, [paths, ranks, settled]).fetchall()[0][0])

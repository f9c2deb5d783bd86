"""What the history holds of findings, as plain rows: where they stand, and one finding's sightings, verdicts, events.

Instants come as ISO 8601 texts in UTC ending in ``Z``. What a life amounts to is told in ``biography``.
"""

import json
from collections.abc import Sequence
from uuid import UUID

import duckdb

from drysweep_pipeline.history.reading import Row, rows
from drysweep_pipeline.instants import zulu_of
from drysweep_pipeline.spelling import rank

_HEADS = """
    select sweep, campaign, epoch_us(as_of) as as_of, outcome, reason, k, rounds
    from campaigns
    where
        ($sweep is null or sweep = $sweep)
        and (campaign = $campaign or ($campaign is null and looked_again is null))
    qualify row_number() over (partition by sweep order by rounds > 0 desc, as_of desc, seq desc) = 1
    order by sweep
"""
_COLUMNS = """
    sweep, cast(fp as varchar) as fp, coalesce(label, cast(fp as varchar)) as label, status, state, verdict, severity,
    subject, kind, scope, title, path, line, owner, evidence, attributes, state_by, state_reason,
    cast(expires as varchar) as expires, fixed_revision, first_campaign, first_round,
    epoch_us(first_as_of) as first_as_of, last_campaign, last_round, epoch_us(last_as_of) as last_as_of, sightings,
    strategies, not_observed, outcome
"""
_LISTED = f"""
    select {_COLUMNS}
    from all_findings f
    where
        ($sweep is null or sweep = $sweep)
        and (
            $campaign is null
            or exists (
                select 1
                from published.sightings s
                where s.sweep = f.sweep and s.fp = f.fp and s.campaign = $campaign
            )
        )
        and (len(cast($status as varchar[])) = 0 or list_contains(cast($status as varchar[]), status))
        and (len(cast($severity as varchar[])) = 0 or list_contains(cast($severity as varchar[]), severity))
        and ($owner is null or owner = $owner)
    order by
        not (state in ('open', 'reopened', 'escalated') and status <> 'rejected'),
        {rank("severity")},
        label,
        fp
"""
_ONE = f"select {_COLUMNS} from all_findings where sweep = ? and fp = ?"
_MOVES = """
    select
        l.state, l.event as name, c.campaign, l.round, epoch_us(l.known_at) as "at",
        coalesce(l.actor, l.logged_by) as actor, l.reason, l.evidence, l.verified,
        cast(l.expires as varchar) as expires, l.revision, l.scope, l.basis
    from published.known_lives l
    join published.campaigns c on c.sweep = l.sweep and c.seq = l.seq
    where l.sweep = ? and l.fp = ?
    order by l.ord
"""
_VERDICTS = """
    select v.campaign, epoch_us(c.as_of) as as_of, c.seq, v.round, v.judge, v.verdict, v.reason, v.calls, v.ord
    from published.verdicts v
    join published.campaigns c using (sweep, campaign)
    where v.sweep = ? and v.fp = ?
    order by v.ord
"""
_EVENTS = """
    select
        e.campaign, epoch_us(c.as_of) as as_of, c.seq, e.round, e.seq as nth, epoch_us(e."at") as "at", e.name, e.actor,
        e.reason, e.evidence, e.verified, cast(e.expires as varchar) as expires
    from published.events e
    join published.campaigns c using (sweep, campaign)
    where e.sweep = ? and e.fp = ?
    order by e.seq
"""
_WITHHELD = """
    select campaign, last(reason order by seq) as reason
    from published.events
    where sweep = ? and name = 'closing_withheld'
    group by campaign
"""
_LOST = """
    select distinct sweep, campaign, round, actor as strategy
    from published.events
    where name = 'finder_not_run'
"""
_SIGHTINGS = """
    with angles as (
        select distinct on (sweep, campaign, round, strategy) *
        from published.strategy_runs
        order by sweep, campaign, round, strategy, attempt desc
    )
    select
        s.campaign, epoch_us(p.as_of) as as_of, p.seq, s.round, s.strategy, a.angle, s.hits, r.snapshot, p.outcome
    from published.sightings s
    join published.places p using (sweep, campaign, round)
    join published.rounds r using (sweep, campaign, round)
    left join angles a using (sweep, campaign, round, strategy)
    where s.sweep = ? and s.fp = ?
    order by p.place, s.strategy
"""
_RUNS = f"""
    select distinct on (t.campaign, t.round, t.strategy)
        t.campaign, t.round, t.strategy, t.angle, r.snapshot, t.status = 'ok' and lost.strategy is null as ran
    from published.strategy_runs t
    join published.rounds r using (sweep, campaign, round)
    left join ({_LOST}) lost using (sweep, campaign, round, strategy)
    where t.sweep = $sweep and t.strategy in (
        select strategy from published.sightings where sweep = $sweep and fp = $fp
    )
    order by t.campaign, t.round, t.strategy, t.attempt desc
"""
_CAMPAIGNS = """
    select campaign, epoch_us(as_of) as as_of, seq, rounds, outcome, reason, k, looked_again
    from campaigns
    where sweep = ? and rounds > 0
    order by as_of, seq
"""
_INSTANTS = ("as_of", "at", "first_as_of", "last_as_of")


def heads(connection: duckdb.DuckDBPyConnection, sweep: str | None, campaign: str | None) -> list[Row]:
    """Return where the campaign stands, else the newest one of the sweep, else that of each sweep."""
    return _told(rows(connection, _HEADS, {"sweep": sweep, "campaign": campaign}))


def listed(
    connection: duckdb.DuckDBPyConnection,
    *,
    sweep: str | None = None,
    campaign: str | None = None,
    status: Sequence[str] = (),
    severity: Sequence[str] = (),
    owner: str | None = None,
) -> list[Row]:
    """Return findings, rejected ones included, those that are open first and the worst of them first."""
    given = {"sweep": sweep, "campaign": campaign, "status": list(status), "severity": list(severity), "owner": owner}
    return [_plain(row) for row in _told(rows(connection, _LISTED, given))]


def one(connection: duckdb.DuckDBPyConnection, sweep: str, fp: UUID) -> Row:
    """Return one finding as the views have it."""
    return _plain(_told(rows(connection, _ONE, [sweep, fp]))[0])


def moves(connection: duckdb.DuckDBPyConnection, sweep: str, fp: UUID) -> list[Row]:
    """Return the states that a finding took, each with who, when, why and what was pointed at, in recorded order."""
    return _told(rows(connection, _MOVES, [sweep, fp]))


def verdicts(connection: duckdb.DuckDBPyConnection, sweep: str, fp: UUID) -> list[Row]:
    """Return what was said of a finding, in recorded order; the last word counts."""
    return _told(rows(connection, _VERDICTS, [sweep, fp]))


def events(connection: duckdb.DuckDBPyConnection, sweep: str, fp: UUID) -> list[Row]:
    """Return what happened to a finding, in recorded order."""
    return _told(rows(connection, _EVENTS, [sweep, fp]))


def sightings(connection: duckdb.DuckDBPyConnection, sweep: str, fp: UUID) -> list[Row]:
    """Return every sighting of a finding with the strategy's angle, in the order of looking."""
    return _told(rows(connection, _SIGHTINGS, [sweep, fp]))


def runs(connection: duckdb.DuckDBPyConnection, sweep: str, fp: UUID) -> list[Row]:
    """Return the runs, in all campaigns, of the strategies that ever sighted a finding; ``ran`` is to its end."""
    return rows(connection, _RUNS, {"sweep": sweep, "fp": fp})


def withheld(connection: duckdb.DuckDBPyConnection, sweep: str) -> dict[str, str]:
    """Return why evidence closed less than they did not see, by campaign."""
    return {row["campaign"]: row["reason"] for row in rows(connection, _WITHHELD, [sweep])}


def campaigns(connection: duckdb.DuckDBPyConnection, sweep: str) -> list[Row]:
    """Return a sweep's campaigns that have a decided round, in the order of looking."""
    return _told(rows(connection, _CAMPAIGNS, [sweep]))


def _told(found: list[Row]) -> list[Row]:
    return [{name: zulu_of(value) if name in _INSTANTS else value for name, value in row.items()} for row in found]


def _plain(row: Row) -> Row:
    """Return a finding with its attributes as a mapping."""
    return {**row, "attributes": json.loads(row["attributes"]) if row["attributes"] else {}}

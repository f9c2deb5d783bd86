"""How a campaign looked and what came of it, as plain rows: each strategy's looks, who shared what, when it arrived.

What is worked out from these rows for people is ``reports.figures``' business.
"""

import json

from drysweep_pipeline.history.campaign import Past
from drysweep_pipeline.history.reading import Row, rows

# A strategy that was asked again in a round has an attempt each; the last one is what the round went by. One that a
# ceiling kept from being asked has none.
_RUNS = """
    with asked as (
        select
            round, strategy, last(angle order by attempt) as angle,
            cast(last(rows order by attempt) as bigint) as rows,
            count(*) as attempts, sum(seconds) as seconds, cast(sum(calls) as bigint) as calls,
            cast(sum(tokens) as bigint) as tokens, sum(cost_usd) as cost_usd,
            last(isolation order by attempt) as isolation
        from published.strategy_runs
        where sweep = $sweep and campaign = $campaign
        group by round, strategy
    ), lost as (
        select round, actor as strategy, any_value(reason) as reason
        from published.events
        where sweep = $sweep and campaign = $campaign and name = 'finder_not_run'
        group by round, actor
    )
    select
        round, strategy, if(lost.strategy is null, 'ran', 'not_run') as status, lost.reason, asked.angle,
        coalesce(asked.rows, 0) as rows, coalesce(asked.attempts, 0) as attempts,
        coalesce(asked.seconds, 0) as seconds, coalesce(asked.calls, 0) as calls,
        coalesce(asked.tokens, 0) as tokens, coalesce(asked.cost_usd, 0) as cost_usd, asked.isolation
    from asked
    full join lost using (round, strategy)
    order by round, strategy
"""
_ARRIVALS = """
    with mine as (
        select fp, min(round) as round
        from published.sightings
        where sweep = $sweep and campaign = $campaign
        group by fp
    ), worst as (
        select severity from published.blocking where sweep = $sweep and campaign = $campaign
    )
    select
        mine.round, count(*) as findings, count(*) filter (f.status = 'rejected') as rejected,
        count(*) filter (f.status <> 'rejected' and worst.severity is not null) as blocking
    from mine
    join all_findings f on f.sweep = $sweep and f.fp = mine.fp
    left join worst on worst.severity = f.severity
    group by mine.round
    order by mine.round
"""
_OVERLAP = """
    with finders as (
        select fp, list_sort(list(distinct strategy)) as strategies
        from published.sightings
        where sweep = $sweep and campaign = $campaign
        group by fp
    )
    select strategies, count(*) as findings
    from finders
    group by strategies
    order by findings desc, len(strategies), strategies
"""
_RULINGS = """
    with mine as (
        select distinct fp from published.sightings where sweep = $sweep and campaign = $campaign
    )
    select cast(v.fp as varchar) as fp, v.campaign, v.round, v.judge, v.verdict, v.reason
    from published.verdicts v
    semi join mine on mine.fp = v.fp
    where v.sweep = $sweep
    qualify row_number() over (partition by v.fp order by v.ord desc) = 1
"""
_HAPPENED = """
    with mine as (
        select distinct fp from published.sightings where sweep = $sweep and campaign = $campaign
    )
    select
        cast(e.fp as varchar) as fp, e.name, e.campaign, e.round,
        strftime(e."at" at time zone 'UTC', '%Y-%m-%d') as day, e.actor,
        e.reason, e.evidence, e.verified, cast(e.expires as varchar) as expires
    from published.events e
    semi join mine on mine.fp = e.fp
    where e.sweep = $sweep
    order by e.seq
"""


def runs(past: Past) -> list[Row]:
    """Return each look of each strategy, by round: whether it ``ran`` to its end, at which angle, and what it took."""
    return [{**row, "angle": json.loads(row["angle"]) if row["angle"] else {}} for row in _of(past, _RUNS)]


def arrivals(past: Past) -> list[Row]:
    """Return how many findings the campaign sighted for the first time in each round, known ones from before included.

    ``rejected`` are counted apart, and of the others those whose severity blocks. A round without any has no row.
    """
    return _of(past, _ARRIVALS)


def overlap(past: Past) -> list[Row]:
    """Return how many findings each set of strategies, and no other strategy, sighted; the most findings first."""
    return _of(past, _OVERLAP)


def rulings(past: Past) -> list[Row]:
    """Return the verdict that counts of each finding that the campaign sighted, with who gave it and why."""
    return _of(past, _RULINGS)


def happened(past: Past) -> list[Row]:
    """Return what happened to the findings that the campaign sighted, in any campaign, in the order of the ledger."""
    return _of(past, _HAPPENED)


def _of(past: Past, sql: str) -> list[Row]:
    return rows(past.connection, sql, {"sweep": past.sweep, "campaign": past.campaign})

"""What the history holds of campaigns that looked again: since when their findings are there, as far as anybody looked.

Instants come as ISO 8601 texts in UTC ending in ``Z``.
"""

from collections.abc import Mapping
from datetime import datetime

import duckdb

from drysweep_pipeline.history.reading import Row, rows
from drysweep_pipeline.instants import zulu_of

# Since when: the first sighting by anybody, and before it the last snapshot at which these went quiet without it.
_SINCE = """
    with looked as (
        select campaign, as_of, outcome, until
        from campaigns
        join (
            select unnest(cast($campaigns as varchar[])) as campaign, unnest(cast($until as timestamptz[])) as until
        ) using (campaign)
        where sweep = $sweep
    ), mine as (
        select s.fp, list_sort(list(distinct s.strategy)) as strategies, min(l.as_of) as first_looked,
            max(l.until) as last_looked, count(distinct s.campaign) as snapshots
        from published.sightings s
        join looked l using (campaign)
        where s.sweep = $sweep
        group by s.fp
    ), others as (
        select s.fp, min(c.as_of) as known
        from published.sightings s
        join campaigns c on c.sweep = s.sweep and c.campaign = s.campaign
        where s.sweep = $sweep and c.looked_again is null
        group by s.fp
    )
    select
        cast(f.fp as varchar) as fp, coalesce(f.label, cast(f.fp as varchar)) as label, f.status, f.severity,
        mine.strategies, epoch_us(f.first_as_of) as first_seen, f.first_campaign,
        epoch_us(mine.last_looked) as last_seen,
        cast(mine.snapshots as integer) as snapshots,
        epoch_us((
            select max(if(l.until < f.first_as_of, l.until, l.as_of))
            from looked l
            where l.as_of < f.first_as_of and l.outcome = 'converged'
        )) as not_seen,
        epoch_us(others.known) as known_since
    from all_findings f
    join mine using (fp)
    left join others using (fp)
    where f.sweep = $sweep
    order by f.first_as_of, label, f.fp
"""
_INSTANTS = ("first_seen", "last_seen", "not_seen", "known_since")


def since(connection: duckdb.DuckDBPyConnection, sweep: str, campaigns: Mapping[str, datetime]) -> list[Row]:
    """Return the findings that campaigns which looked again sighted, rejected ones included, the oldest first.

    ``campaigns`` says of each until when the snapshot that it looked at was what the material was.
    ``first_seen`` is the earliest sighting by anybody; ``not_seen`` the last snapshot before it at which these
    strategies went quiet without it, null where there is none: it may be older. ``known_since`` is the earliest
    sighting by a campaign that looked at the material itself, null where none sighted it.
    """
    found = rows(connection, _SINCE, {"sweep": sweep, "campaigns": list(campaigns), "until": list(campaigns.values())})
    return [{name: zulu_of(value) if name in _INSTANTS else value for name, value in row.items()} for row in found]

"""Where findings stood when a campaign had decided so many of its rounds, which a replay of fewer rounds comes to."""

from drysweep_pipeline.history.campaign import Past
from drysweep_pipeline.history.edition import findings_of
from drysweep_pipeline.history.reading import Row, rows

_UP_TO = """
    (as_of, seq, round) <= (
        select (as_of, seq, $round) from published.campaigns where sweep = $sweep and campaign = $campaign
    )
"""
_SPOKEN = f"""
    exists (
        select 1
        from published.places p
        where
            p.sweep = known_verdicts.sweep and p.campaign = known_verdicts.campaign
            and p.round = known_verdicts.round and {_UP_TO.replace("(as_of, seq, round)", "(p.as_of, p.seq, p.round)")}
    )
"""
_MINE = "sweep = $sweep and"
_THERE = findings_of(sighting=f"{_MINE} {_UP_TO}", verdict=f"{_MINE} {_SPOKEN}", life=f"{_MINE} {_UP_TO}")
# Whatever the campaign sighted by then it sighted last of all, since no place up to there comes after it.
_SIGHTED = f"""
    select cast(fp as varchar) as fp, coalesce(label, cast(fp as varchar)) as label, status, verdict
    from ({_THERE})
    where last_campaign = $campaign
    order by label, fp
"""
_SEEN = """
    select count(distinct fp) as seen
    from published.sightings
    where sweep = $sweep and not (campaign = $campaign and round > $round)
"""


def sighted(past: Past, round: int) -> list[Row]:
    """Return the findings that a campaign had sighted after a round, by label, as they stood then."""
    return rows(past.connection, _SIGHTED, {"sweep": past.sweep, "campaign": past.campaign, "round": round})


def seen(past: Past, round: int) -> int:
    """Return how many findings all campaigns of the sweep have seen, but for this campaign's later rounds."""
    return int(
        rows(past.connection, _SEEN, {"sweep": past.sweep, "campaign": past.campaign, "round": round})[0]["seen"]
    )

-- Where every finding stands, from the sightings, verdicts and lives that three conditions let through.
-- Places come by number, since comparing one integer is cheaper than comparing (as_of, seq, round).
with places as (
    select *
    from published.places
    where $sighting
), by_strategy as (
    select
        s.sweep,
        s.fp,
        s.strategy,
        count(*) as sightings,
        min(p.place) as first_place,
        max(p.place) as last_place
    from published.sightings s
    join places p using (sweep, campaign, round)
    group by s.sweep, s.fp, s.strategy
), sighted as (
    select
        sweep,
        fp,
        cast(sum(sightings) as bigint) as sightings,
        min(first_place) as first_place,
        max(last_place) as last_place,
        list_sort(list(strategy)) as strategies
    from by_strategy
    group by sweep, fp
), judged as (
    select
        sweep,
        fp,
        arg_max(verdict, ord) as verdict
    from published.known_verdicts
    where $verdict
    group by sweep, fp
), lived as (
    select
        sweep,
        fp,
        arg_max({'state': state, 'expires': expires}, ord) as life
    from published.known_lives
    where $life
    group by sweep, fp
)
select
    sighted.sweep,
    sighted.fp,
    payload.label,
    case
        when coalesce(lived.life.state, 'open') = 'open' and judged.verdict in ('rejected', 'undecided')
            then judged.verdict
        else coalesce(lived.life.state, 'open')
    end as status,
    coalesce(lived.life.state, 'open') as state,
    coalesce(judged.verdict, 'none') as verdict,
    payload.severity,
    payload.subject,
    payload.kind,
    payload.scope,
    payload.title,
    payload.path,
    payload.line,
    payload.owner,
    payload.evidence,
    payload.attributes,
    lived.life.expires as expires,
    first.campaign as first_campaign,
    first.round as first_round,
    first.as_of as first_as_of,
    last.campaign as last_campaign,
    last.round as last_round,
    last.as_of as last_as_of,
    sighted.sightings,
    sighted.strategies,
    last.outcome
from sighted
join published.places first on first.sweep = sighted.sweep and first.place = sighted.first_place
join published.places last on last.sweep = sighted.sweep and last.place = sighted.last_place
left join published.payload payload on payload.sweep = sighted.sweep and payload.fp = sighted.fp
left join judged on judged.sweep = sighted.sweep and judged.fp = sighted.fp
left join lived on lived.sweep = sighted.sweep and lived.fp = sighted.fp

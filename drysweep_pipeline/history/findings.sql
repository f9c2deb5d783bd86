-- Where every finding stands, from the sightings, verdicts and lives that three conditions let through, and from what
-- findings said of themselves by then.
-- Places come by number, since comparing one integer is cheaper than comparing (as_of, seq, round).
with places as (
    select
        *,
        -- Every place here is a decided round, so a campaign without one is not counted. One that looked again at a
        -- stored snapshot counts as the campaign before it: it says nothing of what it was not asked to look for.
        count(distinct campaign) filter (ordinary) over (
            partition by sweep
            order by as_of, seq
            range between unbounded preceding and current row
        ) as nth_campaign
    from $published.places
    where $sighting
), newest as (
    select
        sweep,
        max(nth_campaign) as nth_campaign
    from places
    group by sweep
), by_strategy as (
    select
        s.sweep,
        s.fp,
        s.strategy,
        count(*) as sightings,
        min(p.place) as first_place,
        max(p.place) as last_place
    from $published.sightings s
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
    from $published.known_verdicts
    where $verdict
    group by sweep, fp
), lived as (
    select
        sweep,
        fp,
        arg_max(
            {
                'state': state,
                'expires': expires,
                'by': coalesce(actor, logged_by),
                'reason': reason,
                'revision': case when state = 'fixed' then revision end
            },
            ord
        ) as life
    from $published.known_lives
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
    lived.life.revision as fixed_revision,
    lived.life.by as state_by,
    lived.life.reason as state_reason,
    first.campaign as first_campaign,
    first.round as first_round,
    first.as_of as first_as_of,
    last.campaign as last_campaign,
    last.round as last_round,
    last.as_of as last_as_of,
    sighted.sightings,
    sighted.strategies,
    cast(newest.nth_campaign - last.nth_campaign as integer) as not_observed,
    last.outcome
from sighted
join newest on newest.sweep = sighted.sweep
join places first on first.sweep = sighted.sweep and first.place = sighted.first_place
join places last on last.sweep = sighted.sweep and last.place = sighted.last_place
left join $payload payload on payload.sweep = sighted.sweep and payload.fp = sighted.fp
left join judged on judged.sweep = sighted.sweep and judged.fp = sighted.fp
left join lived on lived.sweep = sighted.sweep and lived.fp = sighted.fp

-- title: Strategies that no longer earn what they cost
-- question: Which strategies brought nothing lately that nobody else did?
-- parameter sweep = only: the sweep
-- parameter last = 3: over how many of the newest campaigns
-- reading: `fresh` counts the findings first sighted in these campaigns that the strategy reported in the very round in
--   which they were fresh, `fresh_alone` those that it alone reported then; rejected ones are left out. `canaries` is
--   how many of the planted problems it saw, where that was measured. The least useful come first, the dearest of them
--   before the others.
-- caution: A strategy that brings nothing may be what makes the quiet worth something: what it looks at is quiet too.
--   Before it goes, look at its canaries, and at whether all its angles were tried. Who came first was alone: what
--   another reported a round later counts as `fresh_alone` all the same, so see strategy_yield for what nobody else saw.
--   `outcomes` says how the campaigns ended.
-- example: -p last=2
with recent as (
    select
        sweep,
        campaign,
        outcome
    from campaigns
    where sweep = $sweep and rounds > 0 and looked_again is null
    order by as_of desc, seq desc
    limit $last
), spent as (
    select
        r.strategy,
        count(distinct (r.campaign, r.round)) filter (r.status = 'ok') as rounds,
        cast(sum(r.calls) as bigint) as calls,
        sum(r.cost_usd) as cost_usd,
        cast(sum(r.canaries_seen) as bigint) || '/' || cast(sum(r.canaries_expected) as bigint) as canaries,
        count(distinct r.campaign) as campaigns
    from strategy_runs r
    join recent using (sweep, campaign)
    group by r.strategy
), arrived as (
    select
        s.strategy,
        s.fp,
        count(*) over (partition by s.fp) as strategies
    from findings f
    join recent on recent.sweep = f.sweep and recent.campaign = f.first_campaign
    join sightings s
        on s.sweep = f.sweep and s.fp = f.fp and s.campaign = f.first_campaign and s.round = f.first_round
), brought as (
    select
        strategy,
        count(*) as fresh,
        count(*) filter (strategies = 1) as fresh_alone
    from arrived
    group by strategy
)
select
    spent.strategy,
    spent.campaigns,
    spent.rounds,
    spent.calls,
    spent.cost_usd,
    coalesce(brought.fresh, 0) as fresh,
    coalesce(brought.fresh_alone, 0) as fresh_alone,
    spent.canaries,
    (select string_agg(distinct outcome, ', ' order by outcome) from recent) as outcomes
from spent
left join brought using (strategy)
order by fresh_alone, fresh, spent.cost_usd desc, spent.calls desc, spent.strategy

-- title: How far strategies overlap
-- question: Do the strategies see the same things, or does each see its own?
-- parameter sweep = only: the sweep
-- parameter campaign = latest: one of its campaigns
-- reading: One row a pair of strategies: how many findings each sighted in the campaign, how many both did, and what
--   part that is of the smaller of the two. Rejected findings count: this is about looking, not about being right.
-- caution: Little overlap means that each strategy sees what the others cannot, and hints that there is more that none
--   of them sees. Much overlap does not mean that all is found: they may share a blind spot.
-- example: -p campaign=20250601T000000Z
with found as (
    select distinct
        strategy,
        fp
    from sightings
    where sweep = $sweep and campaign = $campaign
), shared as (
    select
        a.strategy,
        b.strategy as other,
        count(*) as both_found
    from found a
    join found b using (fp)
    where a.strategy < b.strategy
    group by a.strategy, b.strategy
)
select
    x.strategy,
    y.strategy as other,
    x.found,
    y.found as other_found,
    coalesce(shared.both_found, 0) as both_found,
    round(coalesce(shared.both_found, 0) / nullif(least(x.found, y.found), 0), 2) as of_the_smaller,
    x.outcome
from strategy_yield x
join strategy_yield y on y.sweep = x.sweep and y.campaign = x.campaign and x.strategy < y.strategy
left join shared on shared.strategy = x.strategy and shared.other = y.strategy
where x.sweep = $sweep and x.campaign = $campaign
order by both_found desc, x.strategy, y.strategy

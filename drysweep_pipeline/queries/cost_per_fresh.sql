-- title: What a fresh finding cost
-- question: What did each campaign spend for every finding that nobody had seen?
-- parameter sweep = only: the sweep
-- reading: One row a campaign, in the order (as_of, seq); `calls` are finder and judge calls of its decided rounds.
--   Where nothing was fresh, the cost of one is blank and the calls are what it cost to know that.
-- caution: The price of the last findings is far above the average. A campaign that found nothing new was not in vain:
--   it is the quiet that the outcome rests on. Where the outcome is not converged, `fresh` is a lower bound.
--   Do not add it up over campaigns: what one that was backfilled met first stays fresh in the later one that had seen it
--   before. How many findings there are, `all_findings` says.
with fresh as (
    select
        sweep,
        campaign,
        cast(sum(fresh) as bigint) as fresh
    from rounds
    group by sweep, campaign
)
select
    c.campaign,
    coalesce(fresh.fresh, 0) as fresh,
    c.calls,
    c.tokens,
    c.cost_usd,
    c.calls / nullif(fresh.fresh, 0) as calls_per_fresh,
    c.cost_usd / nullif(fresh.fresh, 0) as cost_usd_per_fresh,
    c.outcome
from campaigns c
left join fresh on fresh.sweep = c.sweep and fresh.campaign = c.campaign
where c.sweep = $sweep
order by c.as_of, c.seq

-- title: Campaigns that were cut short
-- question: Which campaigns did not go quiet, why, and what was still arriving?
-- parameter sweep = null: the sweep; all of them unless given
-- reading: One row a campaign that ended without converging, or waits for a person; `reason` is the ceiling that
--   stopped it, or churn or not_run. `last_fresh` is what its last round brought: above zero, findings were still
--   arriving.
-- caution: What these campaigns left unfound is unknown. `at_least` counts what they sighted, and is a lower bound;
--   files that were `not_searched` come on top.
select
    c.sweep,
    c.campaign,
    c.outcome,
    c.reason,
    c.rounds,
    c.quiet,
    c.k,
    last.fresh as last_fresh,
    c.seen as at_least,
    c.not_searched
from campaigns c
left join rounds last on last.sweep = c.sweep and last.campaign = c.campaign and last.round = c.rounds
where
    c.outcome not in ('converged', 'running')
    and (cast($sweep as varchar) is null or c.sweep = $sweep)
order by c.sweep, c.as_of, c.seq

-- title: Fresh findings a round
-- question: What did each round bring that nobody had seen, and has the search gone quiet?
-- parameter sweep = only: the sweep
-- parameter campaign = latest: one of its campaigns
-- reading: `fresh` is what the round brought that no earlier round of any campaign had, `so_far` the sum of it, and
--   `quiet` whether the round counts toward K. A round that is not complete is never quiet, however little it brought.
-- caution: Two quiet rounds say that these strategies find no more. A `repeat` among them looked along nothing new, and
--   so says less; and while the outcome is not converged, `so_far` is a lower bound. Over several
--   campaigns it is no number of findings: what one that was backfilled met first stays fresh in the later one too.
-- example: -p campaign=20250601T000000Z
select
    round,
    fresh,
    cast(sum(fresh) over (order by round) as bigint) as so_far,
    reopened,
    complete,
    quiet,
    repeat,
    calls,
    campaign_outcome as outcome
from rounds
where sweep = $sweep and campaign = $campaign
order by round

-- title: The late tail
-- question: Which findings came late, when most searches would have been called off?
-- parameter sweep = only: the sweep
-- parameter campaign = latest: one of its campaigns
-- parameter after = 2: the last round that does not count as late
-- reading: One row a finding whose first sighting ever was in the campaign, after round `after`. Their severities say
--   what it would have cost to stop there. Rejected ones are left out.
-- caution: Where the outcome is not converged there may be more to come. A backfill that sighted a finding at an
--   earlier date takes it out of this list, though not out of the campaign's own count of fresh findings.
-- example: -p campaign=20250601T000000Z
select
    f.first_round as round,
    f.label,
    f.severity,
    f.status,
    f.strategies as sighted_by,
    c.outcome
from findings f
join campaigns c on c.sweep = f.sweep and c.campaign = f.first_campaign
where f.sweep = $sweep and f.first_campaign = $campaign and f.first_round > $after
order by f.first_round, f.label

-- title: Found by one strategy only
-- question: Which findings would nobody know of without that one strategy?
-- parameter sweep = only: the sweep
-- parameter campaign = latest: one of its campaigns
-- reading: One row a finding that a single strategy sighted in the campaign; `round` is when it first did. Rejected
--   ones are left out.
-- caution: That the others did not report it is no sign that it is wrong: they look elsewhere, and in a campaign that
--   was cut short they may not have come to the angle that shows it.
-- example: -p campaign=20250601T000000Z
with alone as (
    select
        sweep,
        fp,
        min(strategy) as strategy,
        min(round) as round,
        any_value(outcome) as outcome
    from sightings
    where sweep = $sweep and campaign = $campaign
    group by sweep, fp
    having count(distinct strategy) = 1
)
select
    alone.strategy,
    f.label,
    f.severity,
    f.status,
    alone.round,
    alone.outcome
from alone
join findings f using (sweep, fp)
order by alone.strategy, alone.round, f.label

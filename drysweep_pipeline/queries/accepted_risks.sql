-- title: Risks that people accepted
-- question: Which risks were accepted, by whom, why, and until when?
-- parameter sweep = only: the sweep
-- reading: One row a finding that somebody accepted as a risk; `days_left` counts from the `as_of` of the sweep's
--   newest campaign to the last day of it. Where no day was given it holds until somebody withdraws it, or what it was
--   accepted for changes.
-- caution: An accepted risk is still there. It settles the finding for as long as it holds, and one that has expired is
--   open again in the next campaign, not before.
with newest as (
    select
        sweep,
        max(as_of) as as_of,
        arg_max(outcome, (as_of, seq)) as outcome
    from campaigns
    group by sweep
)
select
    f.label,
    f.severity,
    f.state_by as accepted_by,
    f.state_reason as reason,
    f.expires,
    date_diff('day', cast(newest.as_of as date), f.expires) as days_left,
    newest.outcome
from findings f
join newest using (sweep)
where f.sweep = $sweep and f.state = 'accepted_risk'
order by f.expires nulls last, f.label

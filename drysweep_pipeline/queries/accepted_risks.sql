-- title: Risks that people accepted
-- question: Which risks were accepted, by whom, why, and until when?
-- parameter sweep = only: the sweep
-- reading: One row a finding that somebody accepted as a risk, those that hold first. `days_left` counts from the `as_of`
--   of the sweep's newest campaign to the last day of it. Where no day was given it holds until somebody withdraws it, or
--   what it was accepted for changes. Expired ones are listed for as long as nobody has dealt with the finding since.
-- caution: An accepted risk is still there. It settles the finding for as long as it holds, and one that has expired is
--   open again in the next campaign, not before.
with newest as (
    select
        sweep,
        max(as_of) as as_of,
        arg_max(outcome, (as_of, seq)) as outcome
    from campaigns
    where looked_again is null
    group by sweep
),
accepted as (
    select
        sweep,
        fp,
        last(name order by seq) as last_said,
        last(actor order by seq) filter (name = 'risk_accepted') as accepted_by,
        last(reason order by seq) filter (name = 'risk_accepted') as reason,
        last(expires order by seq) filter (name = 'risk_accepted') as expires
    from events
    where name in ('risk_accepted', 'risk_withdrawn', 'acceptance_expired', 'acceptance_lapsed')
    group by sweep, fp
),
listed as (
    select
        f.sweep,
        f.label,
        f.severity,
        f.state <> 'accepted_risk' or coalesce(a.expires < cast(newest.as_of as date), false) as expired,
        coalesce(a.accepted_by, f.state_by) as accepted_by,
        a.reason,
        a.expires,
        newest.as_of,
        newest.outcome
    from findings f
    join accepted a using (sweep, fp)
    join newest using (sweep)
    where f.state = 'accepted_risk' or (f.state in ('open', 'escalated') and a.last_said = 'acceptance_expired')
)
select
    label,
    severity,
    if(expired, 'expired', 'holds') as acceptance,
    accepted_by,
    reason,
    expires,
    date_diff('day', cast(as_of as date), expires) as days_left,
    outcome
from listed
where sweep = $sweep
order by listed.expired, expires nulls last, label

-- title: What is open, and whose
-- question: Who has how much open, how bad, and for how long?
-- parameter sweep = only: the sweep
-- reading: One row an owner and severity over what is open, reopened or escalated; `oldest_days` counts from the
--   `as_of` of the first sighting to that of the newest campaign. `not_observed` of them were not sighted by the newest
--   campaign: they may be fixed without anybody saying so.
-- caution: These are the findings that were found, a lower bound of what there is, and the more so where the newest
--   campaign, whose outcome stands in the last column, did not converge. Campaigns that looked again are none of those.
with newest as (
    select
        sweep,
        arg_max(outcome, (as_of, seq)) as outcome
    from campaigns
    where looked_again is null
    group by sweep
)
select
    coalesce(f.owner, 'nobody') as owner,
    f.severity,
    count(*) as open,
    count(*) filter (f.state = 'reopened') as reopened,
    count(*) filter (f.not_observed > 0) as not_observed,
    max(f.age_days) as oldest_days,
    newest.outcome
from open_findings f
join newest using (sweep)
where f.sweep = $sweep
group by f.owner, f.severity, newest.outcome
order by
    owner,
    case f.severity when 'blocker' then 0 when 'major' then 1 when 'minor' then 2 else 3 end

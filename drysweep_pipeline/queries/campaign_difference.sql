-- title: What changed between two campaigns
-- question: What is fresh, still there, reopened, gone or only not observed since the campaign before?
-- parameter sweep = only: the sweep
-- parameter older = previous: the earlier campaign
-- parameter newer = latest: the later campaign
-- reading: How many findings changed in which way, by severity. `fresh` were first sighted after the older campaign: by
--   none up to it, be it an earlier one. `gone` were fixed and not sighted again; `not_observed` were open and not
--   sighted, and nothing says that they are fixed; `settled` were not sighted, and somebody had settled them.
--   `days_apart` is the distance of the two, by their `as_of`. The findings themselves are in `campaign_diff('OLDER',
--   'NEWER')`.
-- caution: Not observed is not gone. Of those, `looked_for` counts the ones for which the newer campaign converged and
--   a strategy that once sighted them looked again at the same angle, on material that they were never sighted on. Of
--   the others it says nothing: see angles_not_tried. With an outcome that is not converged, every number is a lower bound.
select
    change,
    severity,
    count(*) as findings,
    count(*) filter (looked_for) as looked_for,
    days_apart,
    outcome_a as older_outcome,
    outcome_b as newer_outcome
from campaign_diff($older, $newer)
where sweep = $sweep
group by change, severity, days_apart, outcome_a, outcome_b
order by
    change,
    case severity when 'blocker' then 0 when 'major' then 1 when 'minor' then 2 else 3 end

-- title: Findings that come and go
-- question: Which findings were there, then not, then there again?
-- parameter sweep = only: the sweep
-- reading: `seen_in` counts the campaigns that sighted the finding, `missed_in` those between its first and its last
--   sighting that did not, `missed_in_converged` those among them that converged; `reopened` counts how often it came
--   back after a fix.
-- caution: Not being sighted is an observation, not a state: each campaign looks along other angles, and one that was
--   cut short looked along fewer. Only what was reopened is known to have been fixed in between.
with places as (
    select
        sweep,
        campaign,
        outcome,
        row_number() over (order by as_of, seq) as place
    from campaigns
    where sweep = $sweep and rounds > 0 and looked_again is null
), sighted as (
    select distinct
        s.fp,
        p.place
    from sightings s
    join places p using (sweep, campaign)
), spans as (
    select
        fp,
        min(place) as first_place,
        max(place) as last_place,
        count(*) as seen_in
    from sighted
    group by fp
), missed as (
    select
        spans.fp,
        count(*) as missed_in,
        count(*) filter (p.outcome = 'converged') as missed_in_converged
    from spans
    join places p on p.place between spans.first_place and spans.last_place
    anti join sighted on sighted.fp = spans.fp and sighted.place = p.place
    group by spans.fp
), back as (
    select
        fp,
        count(*) as reopened
    from events
    where sweep = $sweep and name = 'finding_reopened'
    group by fp
)
select
    f.label,
    f.severity,
    f.status,
    spans.seen_in,
    coalesce(missed.missed_in, 0) as missed_in,
    coalesce(missed.missed_in_converged, 0) as missed_in_converged,
    coalesce(back.reopened, 0) as reopened,
    f.outcome
from findings f
join spans using (fp)
left join missed using (fp)
left join back using (fp)
where f.sweep = $sweep and (missed.missed_in > 0 or back.reopened > 0)
order by reopened desc, missed_in desc, f.label

-- title: From first sight to fixed
-- question: How long did it take from the first sighting of a finding until somebody fixed it?
-- parameter sweep = only: the sweep
-- reading: One row a fix. `days` goes from the `as_of` of the first sighting to that of the campaign after which the
--   fix was recorded, `days_on_record` from when the first sighting was taken in to when the fix was recorded, by the
--   clock; the two differ for material that was swept after its time. `fix` counts the fixes of one finding: more than
--   one means that it came back.
-- caution: Only what was fixed is here, so the slow ones that are still open are missing: read it beside open_by_owner.
--   A finding may be older than its first sighting; the days are a lower bound.
with fixes as (
    select
        sweep,
        fp,
        campaign,
        actor,
        "at",
        row_number() over (partition by sweep, fp order by seq) as fix
    from events
    where sweep = $sweep and name = 'finding_fixed'
)
select
    f.label,
    f.severity,
    f.status,
    date_diff('day', f.first_as_of, c.as_of) as days,
    date_diff('day', first.taken_at, fixes."at") as days_on_record,
    fixes.fix,
    fixes.actor as fixed_by,
    fixes.campaign as after_campaign,
    c.outcome
from fixes
join findings f on f.sweep = fixes.sweep and f.fp = fixes.fp
join campaigns c on c.sweep = fixes.sweep and c.campaign = fixes.campaign
join rounds first on first.sweep = f.sweep and first.campaign = f.first_campaign and first.round = f.first_round
order by days desc, f.label, fixes.fix

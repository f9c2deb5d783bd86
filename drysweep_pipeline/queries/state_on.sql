-- title: How things stood on a date
-- question: What was true of the material on a date, and what of that was known at the time?
-- parameter sweep = only: the sweep
-- parameter at: the instant, as 2026-01-31 or 2026-01-31T06:00:00Z
-- reading: One row for each pair of statuses: what is known today of the material up to that instant, and what had been
--   recorded by it. That nobody knew yet means that a backfill, or a late record, brought it; that it is of later
--   material means that it was known, of material from after that instant. Rejected findings are left out.
-- caution: The first changes when older material is swept later; the second never does. Both hold what had been found,
--   a lower bound of what there was. `findings_as_of('...')` and `findings_known_at('...')` list the findings.
-- example: -p at=2025-06-10
select
    coalesce(material.status, 'of later material') as of_the_material,
    coalesce(record.status, 'nobody knew yet') as on_record,
    count(*) as findings,
    string_agg(
        distinct coalesce(material.outcome, record.outcome), ', '
        order by coalesce(material.outcome, record.outcome)
    ) as outcomes
from findings_as_of($at) material
full join findings_known_at($at) record on record.sweep = material.sweep and record.fp = material.fp
where coalesce(material.sweep, record.sweep) = $sweep
group by material.status, record.status
order by findings desc, of_the_material, on_record

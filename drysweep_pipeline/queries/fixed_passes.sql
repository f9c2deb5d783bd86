-- title: What a fixed number of passes would have missed
-- question: Had somebody stopped after so many rounds, what of what this campaign met would be missing?
-- parameter sweep = only: the sweep
-- parameter campaign = latest: one of its campaigns
-- reading: One row a number of passes: what had been met by then, and what came later. Of the missed, `missed_rejected`
--   were found to be none, and `missed_blocking` are blockers and majors among the others.
-- caution: Missed is measured against what the campaign met, not against what there is: that is at least as much. Where
--   it did not converge, the last row misses an unknown number too.
-- example: -p campaign=20250601T000000Z
with met as (
    select
        s.fp,
        min(s.round) as round
    from sightings s
    where s.sweep = $sweep and s.campaign = $campaign
    group by s.fp
), known as (
    select
        met.round,
        a.status = 'rejected' as rejected,
        a.status <> 'rejected' and a.severity in ('blocker', 'major') as blocking
    from met
    join all_findings a on a.sweep = $sweep and a.fp = met.fp
)
select
    r.round as passes,
    count(*) filter (known.round <= r.round) as found,
    count(*) filter (known.round > r.round) as missed,
    count(*) filter (known.round > r.round and known.rejected) as missed_rejected,
    count(*) filter (known.round > r.round and known.blocking) as missed_blocking,
    r.campaign_outcome as outcome
from rounds r
left join known on true
where r.sweep = $sweep and r.campaign = $campaign
group by r.round, r.campaign_outcome
order by passes

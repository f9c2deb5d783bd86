-- title: Rejected, and reported again
-- question: Which findings does the judge keep rejecting, and how often do they come back?
-- parameter sweep = only: the sweep
-- reading: One row a rejected finding that was sighted in more than one round; `rounds` is in how many, over all
--   campaigns. They are seen, so none of them ever counted as fresh again: without that, the search would not have gone
--   quiet.
-- caution: A rejection is the judge's word, not proof. Many of one kind point at a strategy that is too broad, or at a
--   judge that is wrong. This query asks for rejected findings; no report shows them.
with last_word as (
    select
        sweep,
        fp,
        arg_max(judge, ord) as judge,
        arg_max(reason, ord) as reason
    from verdicts
    group by sweep, fp
)
select
    a.label,
    a.severity,
    count(distinct (s.campaign, s.round)) as rounds,
    count(distinct s.campaign) as campaigns,
    list_sort(list(distinct s.strategy)) as sighted_by,
    last_word.judge,
    last_word.reason,
    a.outcome
from all_findings a
join sightings s on s.sweep = a.sweep and s.fp = a.fp
join last_word on last_word.sweep = a.sweep and last_word.fp = a.fp
where a.sweep = $sweep and a.status = 'rejected'
group by a.label, a.severity, last_word.judge, last_word.reason, a.outcome
having count(distinct (s.campaign, s.round)) > 1
order by rounds desc, a.label

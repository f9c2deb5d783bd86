-- title: Angles that were not tried
-- question: Along which of its declared angles did the campaign never look?
-- parameter sweep = only: the sweep
-- parameter campaign = latest: one of its campaigns
-- reading: One row an angle that the campaign's declaration has and along which no decided round of it looked;
--   `not_run` is how often it was to and did not run to its end. `in_others` is how many other campaigns of the sweep
--   looked along it.
-- caution: Such a campaign may have converged all the same: its quiet rounds speak of the angles that they took.
--   `cover: all_angles` asks for the rest. The other campaigns looked at other material, maybe with another query under
--   the same name.
select
    a.strategy,
    a.position,
    a.angle,
    a.not_run,
    count(distinct other.campaign) as in_others,
    a.outcome
from angles a
left join angles other
    on
        other.sweep = a.sweep
        and other.campaign <> a.campaign
        and other.strategy = a.strategy
        and other.angle = a.angle
        and other.looked > 0
where a.sweep = $sweep and a.campaign = $campaign and a.looked = 0
group by a.strategy, a.position, a.angle, a.not_run, a.outcome
order by a.strategy, a.position

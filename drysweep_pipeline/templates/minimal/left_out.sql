-- Services that say nothing of $wanted, which is the angle of the round.
select
  service,
  'left_out' as problem,
  $wanted as what,
  case when $wanted = 'owner' then 'major' else 'minor' end as severity,
  service || ' says nothing of ' || $wanted as title,
  path
from services
where
  not exists (
    select 1 from settings
    where settings.file = services.path and split_part(settings.pointer, '/', 2) = $wanted
  )
  -- A file that cannot be read says nothing of anything. The report names it as not searched instead.
  and not exists (select 1 from unreadable where unreadable.file = services.path)

-- Confirms a finding unless the material excuses it: the charter exempts this very field of the service,
-- the endpoint never leaves the machine, or the service is drained and takes no traffic.
-- No strategy looks at any of the three.
with exempted as (
  select
    charter.service,
    substr(charter.key, length('exempt/') + 1) as field,
    min(charter.value) as agreed
  from charter
  where starts_with(charter.key, 'exempt/')
  group by all
),
loopback as (
  select
    services.service,
    'plaintext_endpoint' as failure_mode,
    min(settings.value) as url
  from services
  join settings on settings.file = services.path
  where settings.pointer = '/endpoint/url'
    and regexp_matches(settings.value, '^https?://(127\.\d+\.\d+\.\d+|localhost|\[::1\])(:\d+)?(/|$)')
  group by services.service
),
drained as (
  select
    live.service,
    'missing_probe' as failure_mode
  from live
  where live.key = 'state'
    and live.value = 'drained'
  group by live.service
)
select
  findings.fp,
  case
    when coalesce(exempted.service, loopback.service, drained.service) is null then 'confirmed'
    else 'rejected'
  end as verdict,
  case
    when exempted.service is not null then 'the charter exempts it: ' || exempted.agreed
    when loopback.service is not null then 'the endpoint never leaves the machine: ' || loopback.url
    when drained.service is not null then 'the service is drained and takes no traffic'
    else 'nothing in the material excuses it'
  end as reason
from findings
left join exempted
  on exempted.service = findings.service
  and exempted.field = findings.field
left join loopback
  on loopback.service = findings.service
  and loopback.failure_mode = findings.failure_mode
left join drained
  on drained.service = findings.service
  and drained.failure_mode = findings.failure_mode
order by findings.fp

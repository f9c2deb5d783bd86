-- Looks at the definitions of the services last modified within a window, whatever they are called
-- ($window_start inclusive, $window_end exclusive).
-- Blind to services last modified at another time, and to labels, config files and live state.
with rules(pointer, field, failure_mode, severity) as (
  values
    ('/endpoint/url', 'endpoint', 'plaintext_endpoint', 'blocker'),
    ('/endpoint/url', 'endpoint', 'deprecated_hostname', 'major'),
    ('/endpoint/url', 'port', 'wrong_port', 'major'),
    ('/tls/enabled', 'tls', 'absent_tls', 'blocker'),
    ('/tls/not_after', 'tls', 'expired_tls', 'blocker'),
    ('/health/path', 'health', 'missing_probe', 'major'),
    ('/debug', 'debug', 'debug_on', 'minor'),
    ('/timeouts/request_ms', 'timeout', 'unbounded_timeout', 'major'),
    ('/oncall', 'owner', 'stale_owner', 'minor'),
    ('/replicas', 'replicas', 'replica_drift', 'minor'),
    ('/image', 'image', 'floating_image', 'minor')
),
chosen as (
  select
    services.service,
    services.path,
    services.modified_at,
    max(settings.value) filter (where settings.pointer = '/owner') as owner,
    max(settings.value) filter (where settings.pointer = '/port') as port,
    max(settings.value) filter (where settings.pointer = '/scaling/max') as most
  from services
  join settings on settings.file = services.path
  where services.modified_at >= cast($window_start as timestamptz)
    and services.modified_at < cast($window_end as timestamptz)
  group by services.service, services.path, services.modified_at
)
select
  chosen.service,
  rules.field,
  rules.failure_mode,
  rules.severity,
  chosen.service || ': ' || replace(rules.failure_mode, '_', ' ') as title,
  chosen.path,
  settings.line,
  chosen.owner,
  coalesce(rules.pointer || ' = ' || settings.value, 'no ' || rules.pointer) as evidence
from chosen
cross join rules
left join settings
  on settings.file = chosen.path
  and settings.pointer = rules.pointer
where case rules.failure_mode
    when 'plaintext_endpoint' then starts_with(settings.value, 'http://')
    when 'deprecated_hostname' then contains(settings.value, '.legacy.example.net')
    when 'wrong_port' then regexp_extract(settings.value, ':(\d+)$', 1) <> chosen.port
    when 'absent_tls' then settings.value = 'false'
    when 'expired_tls' then try_cast(settings.value || 'T00:00:00Z' as timestamptz) < chosen.modified_at
    when 'missing_probe' then settings.value is null
    when 'debug_on' then settings.value = 'true'
    when 'unbounded_timeout' then settings.value = '0'
    when 'stale_owner' then settings.value <> chosen.owner || '-oncall'
    when 'replica_drift' then try_cast(settings.value as integer) > try_cast(chosen.most as integer)
    when 'floating_image' then settings.value like '%:latest'
  end
order by chosen.service, rules.field, rules.failure_mode

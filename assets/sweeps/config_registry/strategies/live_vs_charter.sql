-- Looks at where a running service differs from what its charter agreed, one area a round ($area).
-- Blind to services that have no live state or no charter under the same name, as after a renaming,
-- and to what was agreed wrongly.
with rules(key, field, failure_mode, severity) as (
  values
    ('net/scheme', 'endpoint', 'plaintext_endpoint', 'blocker'),
    ('net/host', 'endpoint', 'deprecated_hostname', 'major'),
    ('net/port', 'port', 'wrong_port', 'major'),
    ('run/replicas', 'replicas', 'replica_drift', 'minor'),
    ('run/debug', 'debug', 'debug_on', 'minor'),
    ('run/version', 'image', 'floating_image', 'minor'),
    ('probe/path', 'health', 'missing_probe', 'major'),
    ('tls/enabled', 'tls', 'absent_tls', 'blocker'),
    ('own/team', 'owner', 'stale_owner', 'minor')
),
running as (
  select distinct live.service
  from live
)
select
  charter.service,
  rules.field,
  rules.failure_mode,
  rules.severity,
  charter.service || ': ' || replace(rules.failure_mode, '_', ' ') as title,
  services.path,
  'agreed ' || charter.key || ' = ' || charter.value || ', live ' || coalesce(live.value, 'nothing') as evidence
from charter
join rules on rules.key = charter.key
join running on running.service = charter.service
join services on services.service = charter.service
left join live
  on live.service = charter.service
  and live.key = charter.key
where starts_with(charter.key, $area || '/')
  and live.value is distinct from charter.value
order by charter.service, rules.field, rules.failure_mode

-- Looks at container labels, one family of labels a round ($label_prefix).
-- Blind to containers whose app.service label names another service than the one that carries it,
-- as after a renaming, and to whatever no label says.
with rules(key, field, failure_mode, severity) as (
  values
    ('app.debug', 'debug', 'debug_on', 'minor'),
    ('app.owner', 'owner', 'stale_owner', 'minor'),
    ('app.replicas', 'replicas', 'replica_drift', 'minor'),
    ('app.version', 'image', 'floating_image', 'minor'),
    ('traefik.http.routers.main.rule', 'endpoint', 'deprecated_hostname', 'major'),
    ('traefik.http.routers.main.tls', 'tls', 'absent_tls', 'blocker'),
    ('traefik.http.services.main.loadbalancer.server.scheme', 'endpoint', 'plaintext_endpoint', 'blocker'),
    ('traefik.http.services.main.loadbalancer.server.port', 'port', 'wrong_port', 'major'),
    ('traefik.http.services.main.loadbalancer.responsetimeout', 'timeout', 'unbounded_timeout', 'major'),
    ('probe.enabled', 'health', 'missing_probe', 'major'),
    ('prometheus.scheme', 'endpoint', 'plaintext_endpoint', 'blocker'),
    ('backup.owner', 'owner', 'stale_owner', 'minor')
),
declared as (
  select
    services.service,
    services.path,
    max(settings.value) filter (where settings.pointer = '/owner') as owner,
    max(settings.value) filter (where settings.pointer = '/port') as port,
    max(settings.value) filter (where settings.pointer = '/scaling/max') as most
  from services
  join settings on settings.file = services.path
  group by services.service, services.path
)
select
  labels.service,
  rules.field,
  rules.failure_mode,
  rules.severity,
  labels.service || ': ' || replace(rules.failure_mode, '_', ' ') as title,
  declared.path,
  settings.line,
  declared.owner,
  labels.key || '=' || labels.value as evidence
from labels
join rules on rules.key = labels.key
join declared on declared.service = labels.service
join labels as tie
  on tie.service = labels.service
  and tie.key = 'app.service'
  and tie.value = labels.service
left join settings
  on settings.file = declared.path
  and settings.pointer = '/labels/' || labels.key
where starts_with(labels.key, $label_prefix)
  and case rules.failure_mode
    when 'debug_on' then labels.value = 'true'
    when 'stale_owner' then labels.value <> declared.owner
    when 'replica_drift' then try_cast(labels.value as integer) > try_cast(declared.most as integer)
    when 'floating_image' then labels.value = 'latest'
    when 'deprecated_hostname' then contains(labels.value, '.legacy.example.net')
    when 'absent_tls' then labels.value = 'false'
    when 'plaintext_endpoint' then labels.value = 'http'
    when 'wrong_port' then labels.value <> declared.port
    when 'unbounded_timeout' then regexp_matches(labels.value, '^0(ms|s)?$')
    when 'missing_probe' then labels.value = 'false'
  end
order by labels.service, rules.field, rules.failure_mode, labels.key

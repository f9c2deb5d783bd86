-- Looks at the compose services whose own name starts with a prefix, one a round ($prefix), whatever blueprint.
-- Blind to services of other names, and to what the charter sets at deployment.
with rules(place, pattern, failure_mode, severity) as (
  values
    ('^image$', ':latest$', 'image_tag_latest', 'minor'),
    ('^image$', '^([^@$]*/)?[^/:@$]+$', 'image_tag_missing', 'minor'),
    ('^ports/\d+$', ':', 'host_port_published', 'minor'),
    ('^ports/\d+/published$', '.', 'host_port_published', 'minor'),
    ('^volumes/\d+(/source|/target)?$', 'docker\.sock(:|$)', 'docker_socket_mounted', 'major'),
    ('^container_name$', '.', 'container_name_fixed', 'minor')
),
chosen as (
  select
    services.service as blueprint,
    services.path
  from services
),
parts as (
  select
    chosen.blueprint,
    chosen.path,
    settings.line,
    settings.value,
    split_part(settings.pointer, '/', 3) as service,
    regexp_replace(settings.pointer, '^/services/[^/]+/?', '') as place,
    -- As compose reads it where nobody sets the variable.
    regexp_replace(settings.value, '\$\{\w+:?-([^}]*)\}', '\1', 'g') as text
  from chosen
  join settings on settings.file = chosen.path
  where starts_with(settings.pointer, '/services/')
),
needed as (
  select
    parts.*,
    case
      when regexp_matches(parts.place, '^depends_on/\d+$') then parts.value
      else split_part(parts.place, '/', 2)
    end as wanted
  from parts
  where starts_with(parts.place, 'depends_on/')
),
published as (
  select
    parts.*,
    regexp_extract(parts.text, '([^:]+):[^:]+$', 1) as port,
    case when parts.text like '%/udp' then 'udp' else 'tcp' end as protocol
  from parts
  where regexp_matches(parts.place, '^ports/\d+$')
    and contains(parts.text, ':')
),
found as (
  select
    parts.blueprint,
    parts.service,
    rules.failure_mode,
    rules.severity,
    parts.path,
    parts.line,
    parts.value as evidence
  from parts
  join rules on regexp_matches(parts.place, rules.place) and regexp_matches(parts.text, rules.pattern)
  union all
  select
    needed.blueprint,
    needed.service,
    'depends_on_missing',
    'blocker',
    needed.path,
    needed.line,
    needed.wanted
  from needed
  where not exists (
    select 1
    from parts
    where parts.blueprint = needed.blueprint
      and parts.service = needed.wanted
  )
  union all
  -- Within a blueprint only: blueprints are alternatives, seldom deployed on one host together.
  select
    published.blueprint,
    published.service,
    'duplicate_host_port',
    'blocker',
    published.path,
    published.line,
    published.value
  from published
  where exists (
    select 1
    from published as other
    where other.blueprint = published.blueprint
      and other.service <> published.service
      and other.port = published.port
      and other.protocol = published.protocol
  )
)
select
  found.blueprint,
  found.service,
  found.failure_mode,
  found.severity,
  found.blueprint || '/' || found.service || ': ' || replace(found.failure_mode, '_', ' ') as title,
  found.path,
  found.line,
  found.evidence
from found
where starts_with(found.service, $prefix)
order by found.blueprint, found.service, found.failure_mode, found.line

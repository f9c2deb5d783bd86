-- Looks at the settings of all compose files as they are written, through patterns, one area a round ($area).
-- Blind to what only two settings together say (a name that no service has, a port taken twice), and to the charter.
with rules(area, place, pattern, failure_mode, severity) as (
  values
    ('latest', 'image', ':latest$', 'image_tag_latest', 'minor'),
    ('untagged', 'image', '^([^@$]*/)?[^/:@$]+$', 'image_tag_missing', 'minor'),
    ('ports', 'ports/\d+', '^(\d[\d.-]*|\$\{\w+(:?-[^}]*)?\}):', 'host_port_published', 'minor'),
    ('ports', 'ports/\d+/published', '.', 'host_port_published', 'minor'),
    ('mounts', 'volumes/\d+(/source|/target)?', 'docker\.sock(:|$)', 'docker_socket_mounted', 'major'),
    ('names', 'container_name', '.', 'container_name_fixed', 'minor'),
    ('defaults', 'image', ':-([^}]*:)?latest\}$', 'image_tag_latest', 'minor'),
    ('defaults', 'image', '^\$\{\w+:?-([^@$}]*/)?[^/:@$}]+\}$', 'image_tag_missing', 'minor')
),
written as (
  select
    services.service as blueprint,
    services.path,
    settings.line,
    settings.value,
    split_part(settings.pointer, '/', 3) as service,
    regexp_replace(settings.pointer, '^/services/[^/]+/', '') as place
  from services
  join settings on settings.file = services.path
  where starts_with(settings.pointer, '/services/')
)
select
  written.blueprint,
  written.service,
  rules.failure_mode,
  rules.severity,
  written.blueprint || '/' || written.service || ': ' || replace(rules.failure_mode, '_', ' ') as title,
  written.path,
  written.line,
  written.value as evidence
from written
join rules
  on regexp_full_match(written.place, rules.place)
  and regexp_matches(written.value, rules.pattern)
where rules.area = $area
order by written.blueprint, written.service, rules.failure_mode, written.line

-- Looks at where the compose file differs from what template and catalogue entry say of it, one area a round ($area):
-- routes, versions, images as the template's variables make them, and the catalogue itself.
-- Blind to what both say alike, however wrong.
with places as (
  select
    live.service as blueprint,
    split_part(live.key, '/', 2) as service,
    regexp_replace(live.key, '^services/[^/]+/?', '') as place,
    live.value
  from live
  where starts_with(live.key, 'services/')
),
-- What the template sets for the compose file, as a mapping or as lines NAME=value, with its own variables filled in.
given as (
  select
    charter.service as blueprint,
    case
      when regexp_matches(charter.key, '^config/env/\d+$') then split_part(charter.value, '=', 1)
      else regexp_replace(charter.key, '^config/env/', '')
    end as name,
    case
      when regexp_matches(charter.key, '^config/env/\d+$') then regexp_replace(charter.value, '^[^=]*=', '')
      else charter.value
    end as value
  from charter
  where starts_with(charter.key, 'config/env/')
),
env as (
  select
    given.blueprint,
    given.name,
    min(coalesce(variables.value, given.value)) as value
  from given
  left join charter as variables
    on variables.service = given.blueprint
    and variables.key = 'variables/' || regexp_extract(given.value, '^\$\{(\w+)\}$', 1)
  group by given.blueprint, given.name
),
pieces as (
  select
    places.blueprint,
    places.service,
    places.value,
    generate_subscripts(regexp_extract_all(places.value, '\$\{[^}]*\}|[^$]+|\$'), 1) as number,
    unnest(regexp_extract_all(places.value, '\$\{[^}]*\}|[^$]+|\$')) as piece
  from places
  where places.place = 'image'
),
images as (
  select
    pieces.blueprint,
    pieces.service,
    pieces.value,
    string_agg(
      coalesce(nullif(env.value, ''), nullif(regexp_extract(pieces.piece, '^\$\{\w+:?-(.*)\}$', 1), ''), pieces.piece),
      '' order by pieces.number
    ) as text
  from pieces
  left join env
    on env.blueprint = pieces.blueprint
    and env.name = regexp_extract(pieces.piece, '^\$\{(\w+)', 1)
  group by pieces.blueprint, pieces.service, pieces.value
),
tags as (
  select
    images.blueprint,
    images.service,
    images.text,
    replace(lower(regexp_extract(regexp_replace(images.text, '@.*$', ''), ':([^/:]+)$', 1)), '_', '.') as tag
  from images
),
-- A version can be compared where every service runs an image whose tag is known.
comparable as (
  select
    tags.blueprint,
    string_agg(tags.text, ', ' order by tags.service) as evidence
  from tags
  where not exists (
    select 1
    from places
    where places.blueprint = tags.blueprint
      and (places.place = 'build' or starts_with(places.place, 'build/'))
      and not exists (
        select 1
        from images
        where images.blueprint = places.blueprint
          and images.service = places.service
      )
  )
  group by tags.blueprint
  having not bool_or(contains(tags.text, '$'))
),
versions as (
  select
    charter.service as blueprint,
    charter.value as version,
    -- The first word, since some say more than the version; compared without its v.
    replace(regexp_replace(lower(regexp_extract(charter.value, '^\S+')), '^v', ''), '_', '.') as plain
  from charter
  where charter.key = 'version'
),
carried as (
  select distinct versions.blueprint
  from versions
  join tags on tags.blueprint = versions.blueprint
  where regexp_matches(tags.tag, '(^|[^0-9a-z.])v?' || regexp_escape(versions.plain) || '($|[^0-9a-z])')
    or (versions.plain = 'latest' and tags.tag = '')
),
routes as (
  select
    service.service as blueprint,
    service.key,
    service.value as service,
    port.value as port
  from charter as service
  left join charter as port
    on port.service = service.service
    and port.key = regexp_replace(service.key, 'serviceName$', 'port')
  where regexp_matches(service.key, '^config/(domains|mounts)/\d+/serviceName$')
),
listening as (
  select
    places.blueprint,
    places.service,
    regexp_extract(
      regexp_replace(places.value, '\$\{\w+:?-([^}]*)\}', '\1', 'g'), '([^:/]+)(/\w+)?$', 1
    ) as port
  from places
  where regexp_matches(places.place, '^(ports|expose)/\d+(/target)?$')
),
found as (
  select
    'routes' as area,
    routes.blueprint,
    routes.service,
    case when starts_with(routes.key, 'config/mounts/') then 'charter_mount_unknown_service'
      else 'charter_route_unknown_service'
    end as failure_mode,
    'major' as severity,
    routes.key || ' = ' || routes.service as evidence
  from routes
  where not exists (
    select 1
    from places
    where places.blueprint = routes.blueprint
      and places.service = routes.service
  )
  union all
  select
    'routes',
    routes.blueprint,
    routes.service,
    'route_port_not_exposed',
    'minor',
    'port ' || routes.port || ' of ' || routes.key
  from routes
  where exists (
      select 1
      from listening
      where listening.blueprint = routes.blueprint
        and listening.service = routes.service
    )
    and not exists (
      select 1
      from listening
      where listening.blueprint = routes.blueprint
        and listening.service = routes.service
        and (
          listening.port = routes.port
          or contains(listening.port, '$')
          or try_cast(routes.port as integer) between try_cast(split_part(listening.port, '-', 1) as integer)
          and try_cast(split_part(listening.port, '-', 2) as integer)
        )
    )
    and routes.port is not null
  union all
  select
    'versions',
    versions.blueprint,
    '-',
    case when versions.plain = 'latest' then 'charter_says_latest' else 'charter_version_differs' end,
    'minor',
    'version ' || versions.version || ', images ' || comparable.evidence
  from versions
  join comparable on comparable.blueprint = versions.blueprint
  where not exists (
    select 1
    from carried
    where carried.blueprint = versions.blueprint
  )
  union all
  select
    'images',
    images.blueprint,
    images.service,
    case when images.text like '%:latest' then 'image_tag_latest' else 'image_tag_missing' end,
    'minor',
    images.value || ' becomes ' || images.text
  from images
  where contains(images.value, '$')
    and (images.text like '%:latest' or regexp_matches(images.text, '^([^@$]*/)?[^/:@$]+$'))
  union all
  select
    'catalogue',
    services.service,
    '-',
    case when unreadable.file = services.path then 'compose_unreadable' else 'charter_unreadable' end,
    'major',
    unreadable.file || ': ' || unreadable.reason
  from services
  join unreadable on starts_with(unreadable.file, regexp_replace(services.path, '[^/]+$', ''))
  union all
  select
    'catalogue',
    services.service,
    '-',
    'charter_missing',
    'major',
    case when entry.service is null then 'no entry in the catalogue' else 'no template' end
  from services
  left join (select distinct charter.service from charter where charter.key = 'id') as entry
    on entry.service = services.service
  left join files as template
    on template.path = regexp_replace(services.path, '[^/]+$', 'template.toml')
  where (entry.service is null or template.path is null)
    and not exists (
      select 1
      from unreadable
      where unreadable.file = regexp_replace(services.path, '[^/]+$', 'meta.json')
    )
  union all
  select
    'catalogue',
    charter.service,
    '-',
    'charter_entry_repeated',
    'major',
    count(*) || ' entries in the catalogue'
  from charter
  where charter.key = 'id'
  group by charter.service
  having count(*) > 1
)
select
  found.blueprint,
  found.service,
  found.failure_mode,
  found.severity,
  found.blueprint || '/' || found.service || ': ' || replace(found.failure_mode, '_', ' ') as title,
  services.path,
  found.evidence
from found
join services on services.service = found.blueprint
where found.area = $area
order by found.blueprint, found.service, found.failure_mode, found.evidence

-- Confirms a finding, with what the material shows, unless the material excuses it: the name or the tag comes out
-- right once variables are filled in as the template and their defaults say, or the router needs no such declaration.
with places as (
  select
    live.service as blueprint,
    split_part(live.key, '/', 2) as service,
    regexp_replace(live.key, '^services/[^/]+/?', '') as place,
    live.value
  from live
  where starts_with(live.key, 'services/')
),
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
    places.place,
    generate_subscripts(regexp_extract_all(places.value, '\$\{[^}]*\}|[^$]+|\$'), 1) as number,
    unnest(regexp_extract_all(places.value, '\$\{[^}]*\}|[^$]+|\$')) as piece
  from places
  where places.place = 'image'
    or regexp_matches(places.place, '^depends_on/\d+$')
),
filled as (
  select
    pieces.blueprint,
    pieces.service,
    pieces.place,
    string_agg(
      coalesce(nullif(env.value, ''), nullif(regexp_extract(pieces.piece, '^\$\{\w+:?-(.*)\}$', 1), ''), pieces.piece),
      '' order by pieces.number
    ) as text
  from pieces
  left join env
    on env.blueprint = pieces.blueprint
    and env.name = regexp_extract(pieces.piece, '^\$\{(\w+)', 1)
  group by pieces.blueprint, pieces.service, pieces.place
),
tagged as (
  select
    filled.blueprint,
    filled.service,
    filled.text
  from filled
  where filled.place = 'image'
    and regexp_matches(filled.text, ':[^/:$]+$')
    and filled.text not like '%:latest'
),
-- What a service waits for, and whether all of it exists: as a list, or as the keys of a mapping.
awaited as (
  select
    filled.blueprint,
    filled.service,
    filled.text as wanted
  from filled
  where starts_with(filled.place, 'depends_on/')
  union
  select
    places.blueprint,
    places.service,
    split_part(places.place, '/', 2)
  from places
  where regexp_matches(places.place, '^depends_on/.*[^/\d][^/]*')
),
resolved as (
  select
    awaited.blueprint,
    awaited.service,
    string_agg(awaited.wanted, ', ' order by awaited.wanted) as wanted
  from awaited
  left join (select distinct places.blueprint, places.service from places) as there
    on there.blueprint = awaited.blueprint
    and there.service = awaited.wanted
  group by awaited.blueprint, awaited.service
  having count(*) = count(there.service)
),
apart as (
  select
    places.blueprint,
    places.service
  from places
  where places.place = 'network_mode'
),
said as (
  select
    findings.fp,
    findings.evidence,
    case
      when findings.failure_mode in ('image_tag_latest', 'image_tag_missing') and tagged.text is not null
        then 'with the template''s variables it is ' || tagged.text
      when findings.failure_mode = 'depends_on_missing' and resolved.wanted is not null
        then 'with its variables filled in every service it waits for exists: ' || resolved.wanted
      when findings.failure_mode = 'route_port_not_exposed' and apart.service is null
        then 'the router reaches a port of the network whether or not compose declares it'
    end as excuse
  from findings
  left join tagged
    on tagged.blueprint = findings.blueprint
    and tagged.service = findings.service
  left join resolved
    on resolved.blueprint = findings.blueprint
    and resolved.service = findings.service
  left join apart
    on apart.blueprint = findings.blueprint
    and apart.service = findings.service
)
select
  said.fp,
  case when said.excuse is null then 'confirmed' else 'rejected' end as verdict,
  coalesce(said.excuse, 'nothing in the material excuses it: ' || said.evidence) as reason
from said
order by said.fp

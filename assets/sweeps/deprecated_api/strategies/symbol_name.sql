-- Looks at identifiers in Python source, at the deprecated name in one form a round ($form): with a member behind it,
-- bare, inside a longer path, or in another case.
-- Blind to imports, to files that are no Python source, and to whatever goes by another name once it is imported.
with asked as (
  select
    token_regex,
    replace(token_regex, '\b', '') as api,
    cast(base_date as timestamptz) as base_date
  from api
),
-- Line numbers move with every edit above them. Lines of a file with the same identifiers are counted instead.
referring as (
  select
    asked.api,
    asked.token_regex,
    lines.path,
    lines.line,
    lines.tokens,
    array_to_string(lines.tokens, ' ') as reference,
    row_number() over (partition by lines.path, lines.tokens order by lines.line) as nth
  from lines
  -- A pattern that comes from a table is compiled for every row: few are to be left for it.
  join asked
    on case
      when contains(lower(array_to_string(lines.tokens, ' ')), lower(asked.api))
        then regexp_matches(array_to_string(lines.tokens, ' '), '(?i)' || asked.token_regex)
    end
),
used as (
  select
    referring.*,
    unnest(referring.tokens) as token
  from referring
  where referring.path like '%.py'
    and not exists (
      select 1
      from imports
      where imports.path = referring.path
        and imports.line = referring.line
    )
),
formed as (
  select
    used.*,
    case
      when used.token = used.api then 'bare'
      when starts_with(used.token, used.api || '.') then 'member'
      when regexp_matches(used.token, used.token_regex) then 'inside'
      when regexp_matches(used.token, '(?i)' || used.token_regex) then 'cased'
    end as form
  from used
)
select
  formed.api,
  formed.path,
  formed.reference,
  formed.nth,
  'deprecated_reference' as kind,
  'minor' as severity,
  formed.path as subject,
  'refers to ' || formed.api || ': ' || formed.reference as title,
  formed.line,
  string_agg(formed.token, ', ' order by formed.token) as evidence
from formed
where formed.form = $form
group by formed.api, formed.path, formed.reference, formed.nth, formed.line
order by formed.path, formed.line

-- Looks at import statements, one form a round ($form): of the whole module, of members of it, of modules below it, or
-- of any of these under another name.
-- Blind to what is done with an import, to imports by a function, and to files that Python cannot parse.
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
imported as (
  select
    referring.*,
    imports.module,
    coalesce(imports.name, '') as name,
    coalesce(imports.alias, '') as alias
  from referring
  join imports
    on imports.path = referring.path
    and imports.line = referring.line
    and (imports.module = referring.api or starts_with(imports.module, referring.api || '.'))
)
select
  imported.api,
  imported.path,
  imported.reference,
  imported.nth,
  'deprecated_reference' as kind,
  'minor' as severity,
  imported.path as subject,
  'refers to ' || imported.api || ': ' || imported.reference as title,
  imported.line,
  string_agg(
    concat_ws(' ', imported.module, nullif(imported.name, ''), nullif(imported.alias, '')), ', ' order by imported.name
  ) as evidence
from imported
where case $form
    when 'renamed' then imported.alias <> ''
    when 'whole' then imported.module = imported.api and imported.name = ''
    when 'member' then imported.module = imported.api and imported.name <> ''
    when 'below' then imported.module <> imported.api
  end
group by imported.api, imported.path, imported.reference, imported.nth, imported.line
order by imported.path, imported.line

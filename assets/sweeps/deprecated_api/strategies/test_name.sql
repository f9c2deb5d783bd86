-- Looks where tests lead whose name has the deprecated name in it, one direction a round ($look): the test itself, the
-- rest of its file, or the module that its file is named after.
-- Blind to everything that no test is named after.
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
named as (
  select
    tests.*,
    regexp_replace(tests.path, '^.*/', '') as file
  from tests
  join asked on regexp_matches(lower(tests.test_name), '(^|_)' || lower(asked.api) || '(_|$)')
),
led as (
  select
    referring.*,
    named.test_name
  from referring
  join named
    on case $look
      when 'test' then referring.path = named.path and referring.line between named.line and named.end_line
      when 'file' then referring.path = named.path and referring.line not between named.line and named.end_line
      when 'module' then regexp_replace(referring.path, '^.*/', '') in (
        regexp_replace(named.file, '_test\.py$', '.py'), regexp_replace(named.file, '^test_', '')
      )
      and referring.path <> named.path
    end
)
select
  led.api,
  led.path,
  led.reference,
  led.nth,
  'deprecated_reference' as kind,
  'minor' as severity,
  led.path as subject,
  'refers to ' || led.api || ': ' || led.reference as title,
  led.line,
  string_agg(led.test_name, ', ' order by led.test_name) as evidence
from led
group by led.api, led.path, led.reference, led.nth, led.line
order by led.path, led.line

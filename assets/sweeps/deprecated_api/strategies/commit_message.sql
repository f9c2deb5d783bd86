-- Looks at every line that names the deprecated name in files touched by commits whose message names it, one place of
-- the message a round ($says): its subject, its body, or the subject spelled in another way.
-- Blind to files that no such commit touched, and to those that have been moved since.
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
-- The log may go on after the day that is looked at, and the migration in it would give the answer away.
known as (
  select
    commits.*,
    case
      when regexp_matches(commits.subject, asked.token_regex) then 'subject'
      when list_contains(commits.body_mentions, asked.api) then 'body'
      when regexp_matches(commits.subject, '(?i)' || replace(asked.token_regex, '_', '[-_ ]?')) then 'respelled'
    end as says
  from commits
  join asked on cast(commits.committed_at as timestamptz) <= asked.base_date
),
touched as (
  select
    unnest(known.files) as path,
    known.committed_at,
    left(known.sha, 12) || ': ' || known.subject as message
  from known
  where known.says = $says
),
latest as (
  select
    touched.path,
    max_by(touched.message, cast(touched.committed_at as timestamptz)) as message
  from touched
  group by touched.path
)
select
  referring.api,
  referring.path,
  referring.reference,
  referring.nth,
  'deprecated_reference' as kind,
  'minor' as severity,
  referring.path as subject,
  'refers to ' || referring.api || ': ' || referring.reference as title,
  referring.line,
  latest.message as evidence
from referring
join latest on latest.path = referring.path
order by referring.path, referring.line

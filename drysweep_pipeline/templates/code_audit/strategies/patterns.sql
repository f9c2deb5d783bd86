-- Looks at lines of text, at one pattern a round ($pattern) in files of some names ($files).
-- Blind to what takes more than a line, and to whether a match is code, comment or text.
with lines as (
  select
    files.path,
    unnest(string_split(files.text, chr(10))) as text,
    generate_subscripts(string_split(files.text, chr(10)), 1) as line
  from files
  where regexp_matches(files.path, $files)
),
matching as (
  select
    lines.path,
    lines.line,
    -- Indentation changes with what is around a line.
    trim(regexp_replace(lines.text, '\s+', ' ', 'g')) as text
  from lines
  where regexp_matches(lines.text, $pattern)
)
select
  matching.path,
  $rule as kind,
  $severity as severity,
  $message || case when $shown then ': ' || matching.text else '' end as title,
  min(matching.line) as line,
  min_by(matching.text, matching.line) as evidence
from matching
group by all
order by matching.path, line

-- Looks at the lines of config files through patterns, one area a round ($area); commented lines do not match.
-- Blind to config files named after no known service, as after a renaming, and to what the definition,
-- the labels or the running service say.
with rules(area, pattern, field, failure_mode, severity) as (
  values
    ('net', '(?i)^\s*public_url\s*=\s*http://', 'endpoint', 'plaintext_endpoint', 'blocker'),
    ('net', '(?i)^\s*public_url\s*=\s*\w+://[^/:]+\.legacy\.', 'endpoint', 'deprecated_hostname', 'major'),
    ('run', '(?i)^\s*debug\s*=\s*(true|on|1)\s*$', 'debug', 'debug_on', 'minor'),
    ('run', '(?i)^\s*request_timeout_ms\s*=\s*0\s*$', 'timeout', 'unbounded_timeout', 'major'),
    ('tls', '(?i)^\s*tls_enabled\s*=\s*(false|off|0)\s*$', 'tls', 'absent_tls', 'blocker'),
    ('probe', '(?i)^\s*health_path\s*=\s*(off|none)?\s*$', 'health', 'missing_probe', 'major'),
    ('log', '(?i)^\s*log_level\s*=\s*(debug|trace)\s*$', 'debug', 'debug_on', 'minor')
),
config_lines as (
  select
    files.path,
    regexp_extract(files.path, '^config/(.+)\.(env|ini)$', 1) as service,
    generate_subscripts(string_split(files.text, chr(10)), 1) as line,
    unnest(string_split(files.text, chr(10))) as text
  from files
  where files.path like 'config/%'
)
select
  services.service,
  rules.field,
  rules.failure_mode,
  rules.severity,
  services.service || ': ' || replace(rules.failure_mode, '_', ' ') as title,
  config_lines.path,
  config_lines.line,
  config_lines.text as evidence
from config_lines
join services on services.service = config_lines.service
join rules on regexp_matches(config_lines.text, rules.pattern)
where rules.area = $area
order by services.service, rules.field, rules.failure_mode, config_lines.line

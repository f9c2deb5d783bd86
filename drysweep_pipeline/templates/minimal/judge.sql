-- Confirms a finding, unless the service's own file excuses it: excused: {timeout_s: "why"}.
select
  findings.fp,
  case when excuse.value is null then 'confirmed' else 'rejected' end as verdict,
  coalesce('its file says: ' || excuse.value, 'nothing excuses it') as reason
from findings
left join settings as excuse
  on excuse.file = findings.path and excuse.document = 0 and excuse.pointer = '/excused/' || findings.what

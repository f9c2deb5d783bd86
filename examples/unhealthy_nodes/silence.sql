select node_id, 'no_heartbeat' as failure_mode, 'blocker' as severity, heartbeat_age_s || ' s' as evidence
from nodes
where role = $role and heartbeat_age_s > 60

select node_id, 'certificate_expires' as failure_mode, 'in ' || certificate_days || ' days' as evidence
from nodes
where zone = $zone and certificate_days < 7

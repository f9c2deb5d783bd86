-- The angle says which resource; a node that is out of one is not said to be out of the other.
select node_id, $resource || '_pressure' as failure_mode, used || ' of 1.0 used' as evidence
from (select node_id, case $resource when 'disk' then disk_used else memory_used end as used from nodes)
where used > 0.9

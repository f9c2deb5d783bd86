-- Whoever does not run what most of its role run.
select nodes.node_id, 'version_drift' as failure_mode, 'minor' as severity, nodes.version as evidence
from nodes
join (select role, mode(version) as version from nodes group by role) as usual using (role)
where nodes.version <> usual.version

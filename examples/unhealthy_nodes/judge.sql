-- A node that is cordoned is being repaired: that it is silent is known.
select
    findings.fp,
    case when nodes.cordoned then 'rejected' else 'confirmed' end as verdict,
    case when nodes.cordoned then 'the node is cordoned' else 'the node is in service' end as reason
from findings
join nodes on nodes.node_id = findings.node_id

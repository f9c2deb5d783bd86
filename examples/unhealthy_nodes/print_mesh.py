"""Print the state of a made-up mesh, as a program that asks a real one would: the same mesh whenever it is asked.

A real one would ask an API here. What matters is the end: a mesh that was not asked to its end gets no mark.
"""

import json
import random

rng = random.Random(7)
nodes = [
    {
        "node_id": f"n{number:02d}",
        "role": "gateway" if number % 6 == 0 else "worker",
        "zone": "abc"[number % 3],
        "version": "4.2.1",
        "cordoned": False,
        "disk_used": round(rng.uniform(0.2, 0.8), 2),
        "memory_used": round(rng.uniform(0.2, 0.8), 2),
        "heartbeat_age_s": rng.randrange(1, 20),
        "certificate_days": rng.randrange(20, 90),
    }
    for number in range(1, 49)
]
links = [
    {"source": one["node_id"], "target": other["node_id"], "loss": round(rng.uniform(0.0, 0.02), 3)}
    for one, other in zip(nodes, nodes[1:] + nodes[:1], strict=True)
]

# What is wrong with it: some nodes have one fault, some several, and two are being repaired already.
for node in rng.sample(nodes, 5):
    node["disk_used"] = round(rng.uniform(0.93, 0.99), 2)
for node in rng.sample(nodes, 4):
    node["memory_used"] = round(rng.uniform(0.95, 0.99), 2)
for node in rng.sample(nodes, 6):
    node["heartbeat_age_s"] = rng.randrange(300, 900)
for node in rng.sample(nodes, 5):
    node["certificate_days"] = rng.randrange(0, 6)
for node in rng.sample(nodes, 3):
    node["version"] = "4.1.0"
for node in rng.sample([node for node in nodes if node["heartbeat_age_s"] > 60], 2):
    node["cordoned"] = True
# A ring: where two of its links are lossy, what lies between them is cut off.
for link in (links[20], links[24]):
    link["loss"] = 0.9

for node in nodes:
    print(json.dumps({"table": "nodes", "row": node}))
for link in links:
    print(json.dumps({"table": "links", "row": link}))
print(json.dumps({"drysweep": "end", "count": len(nodes) + len(links)}))

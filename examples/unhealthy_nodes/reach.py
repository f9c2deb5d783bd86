"""Which nodes the larger part of the mesh cannot reach, where links that lose more than so much are taken for cut."""


def cut_off(material, angle, rng):
    beside = {row["node_id"]: set() for row in material.table("nodes")}
    for link in material.table("links"):
        if link["loss"] <= angle["most_loss"]:
            beside[link["source"]].add(link["target"])
            beside[link["target"]].add(link["source"])
    parts = _parts(beside)
    largest = max(parts, key=len)
    for part in parts:
        for node in sorted(part) if part is not largest else ():
            yield {"node_id": node, "failure_mode": "unreachable", "severity": "blocker", "scope": f"with {min(part)}"}


def _parts(beside):
    left, parts = set(beside), []
    while left:
        part, coming = set(), [min(left)]
        while coming:
            node = coming.pop()
            if node not in part:
                part.add(node)
                coming += beside[node]
        parts.append(part)
        left -= part
    return parts

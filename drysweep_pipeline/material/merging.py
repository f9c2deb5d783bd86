"""One file of two: a registry's file that tells of many services, with the entries of another such file at its end.

What stands in the first keeps its lines. How the two are put together is tried and then read back, never assumed.
"""

from drysweep_pipeline.material.registry import Keyed, Registry
from drysweep_pipeline.material.settings import Leaf, Unreadable, read_settings


def merged(path: str, ours: str, theirs: str, registry: Registry) -> tuple[str, list[Leaf]] | None:
    """Return the text that says what both say, and its leaves; None where there is no such text."""
    for text in (_spliced(ours, theirs), _appended(ours, theirs)):
        leaves = _holding_both(path, text, ours, theirs, registry) if text is not None else None
        if text is not None and leaves is not None:
            return text, leaves
    return None


def _holding_both(path: str, text: str, ours: str, theirs: str, registry: Registry) -> list[Leaf] | None:
    """Return the leaves of a text if they are those of both, the first ones where they were; else None."""
    try:
        first, second, both = (read_settings(path, each) for each in (ours, theirs, text))
        values = [leaf.value for leaf in both]
        same = both[: len(first)] == first and values[len(first) :] == [leaf.value for leaf in second]
        rows = _rows(registry, path, [both]) == _rows(registry, path, [first, second])
    except Unreadable:
        return None
    return both if same and rows else None


def _rows(registry: Registry, path: str, files: list[list[Leaf]]) -> list[Keyed]:
    """Return what files say about services, in an order of its own."""
    said = [row for leaves in files for row in registry.rows(path, leaves)]
    return sorted(said, key=lambda row: (row.table, row.service, row.key, row.value))


def _spliced(ours: str, theirs: str) -> str | None:
    """Return one JSON mapping or list of two; None where they are not both that."""
    first, second = ours.rstrip(), theirs.strip()
    if not first or not second or first[-1] not in "}]" or first[-1] != second[-1]:
        return None
    inner = second[1:-1].strip("\r\n")
    return f"{first[:-1].rstrip()},\n{inner}\n{first[-1]}\n"


def _appended(ours: str, theirs: str) -> str:
    return ours + ("" if ours.endswith("\n") else "\n") + theirs

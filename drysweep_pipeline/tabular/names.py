"""Names of columns: whatever a file calls them, but for none at all and two that SQL cannot tell apart."""

from collections.abc import Sequence

from drysweep_pipeline.tabular.wanted import Unread


def checked(names: Sequence[str]) -> list[str]:
    """Return the names of columns. Raises ``Unread`` where there is none, one is empty or two are the same."""
    if not names:
        raise Unread("has no header, which names the columns")
    known: set[str] = set()
    for number, name in enumerate(names, 1):
        if not name.strip() or "\0" in name:
            raise Unread(f"column {number} has no name in the header")
        if name.lower() in known:
            raise Unread(f"two columns are called {name!r}")
        known.add(name.lower())
    return list(names)

"""The ledger of a sweep: one DuckDB file, one writer, opened briefly. Rebuildable from landing.

``seen`` and ``sightings`` are thin and have no index: an index costs several times the disk and the rewrite and buys no
faster lookup; uniqueness is kept by the single-writer transaction. Analysts never open this file, see ``history``.
"""

from drysweep_pipeline.ledger.store import (
    Ledger,
    check_readable,
    is_sound,
    locked,
    locked_to_look,
    open_ledger,
    opened,
    rebuild_it,
)

__all__ = ["Ledger", "check_readable", "is_sound", "locked", "locked_to_look", "open_ledger", "opened", "rebuild_it"]

"""Material: what is searched, and the snapshot that it is frozen into.

``freeze`` turns a registry, a directory, tables or what a program prints into a ``Snapshot``: Parquet tables and
one DuckDB file with the same tables. Running SQL over a snapshot lives with the finders.
"""

from drysweep_pipeline.material.paths import dates_of, readable_folder, resolve_path
from drysweep_pipeline.material.snapshot import Material, Snapshot, check_reachable, freeze, place_of

__all__ = [
    "Material",
    "Snapshot",
    "check_reachable",
    "dates_of",
    "freeze",
    "place_of",
    "readable_folder",
    "resolve_path",
]

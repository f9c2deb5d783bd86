"""Planting files: those of a folder of canaries, as the rows that a snapshot of them among the material would have.

A planted file has a time like those of the material's files, and its revision. Where both have a file that tells of
many services, it becomes one.
"""

from dataclasses import replace
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from drysweep_pipeline.declaration.folder import folder_digest
from drysweep_pipeline.declaration.model import Canaries, FilesMaterial, RegistryMaterial, Sweep
from drysweep_pipeline.errors import MaterialError
from drysweep_pipeline.material.listing import Listing, list_files
from drysweep_pipeline.material.merging import merged
from drysweep_pipeline.material.paths import AS_OF, Location
from drysweep_pipeline.material.planted_times import times_like
from drysweep_pipeline.material.registry import KEYED_TABLES, Registry, modified_times
from drysweep_pipeline.material.schema import TABLES
from drysweep_pipeline.material.snapshot import Snapshot
from drysweep_pipeline.material.tables import setting_rows, write_tables


class Files:
    """The files of a folder of canaries, on their way into a copy of a snapshot."""

    def __init__(
        self,
        sweep: Sweep,
        material: RegistryMaterial | FilesMaterial,
        declared: Canaries,
        folder: Path,
        original: Snapshot,
    ) -> None:
        """Raise ``MaterialError`` where the folder is not as it was when the sweep was read."""
        self.material, self.declared, self.folder, self.original = material, declared, folder, original
        self.registry = registry_of(sweep)
        self.sweep = sweep
        self._check_declared()
        self.listing = self._listing()

    def write(self, planted: Path, shared: Path) -> list[str]:
        """Write the rows of what is planted into one folder, and of files that are of both into another.

        Returns the paths of the latter. Raises ``MaterialError`` where something of the material is in the way.
        """
        write_tables(planted, self.listing, self.registry, self.material.max_bytes)
        self._check_readable(planted)
        both = self._check_paths(planted)
        self._check_services(planted)
        self._merge(both, planted, shared)
        return both

    def _check_declared(self) -> None:
        try:
            found = folder_digest(self.folder)
        except (OSError, ValueError) as error:
            raise self._refused(f"cannot be planted: {error}") from error
        if found != self.declared.digest:
            what = "is not what it was when the sweep was read, and the campaign started with that"
            raise self._refused(what, "restore it, or start another campaign")

    def _listing(self) -> Listing:
        """Return the files to plant, with times and a revision as those of the material have."""
        listing = list_files(self.folder, self.material.ignore)
        times = {**_times_like_theirs(listing, self.original), **self._declared_times(listing)}
        dated = listing.dated(times)
        revision = self.original.revision
        return replace(dated, files=tuple(replace(file, revision=revision) for file in dated.files))

    def _declared_times(self, listing: Listing) -> dict[str, datetime]:
        """Return the times that the canaries bring along, in a file such as the map says the material's are in."""
        file = _file_of_times(self.sweep)
        if file is None or not (self.folder / file).is_file():
            return {}
        assert isinstance(self.material, RegistryMaterial)
        assert self.material.map.modified is not None
        return modified_times(self.material.map.modified, Location(self.folder, None), listing)

    def _check_readable(self, planted: Path) -> None:
        for row in rows_of(planted, "unreadable"):
            raise self._refused(f"{row['file']} cannot be searched: {row['reason']}")
        for row in rows_of(planted, "files"):
            if row["text"] is None:
                raise self._refused(f"{row['path']} is not text")

    def _check_paths(self, planted: Path) -> list[str]:
        """Return the files that both have and that tell of many services. Raises ``MaterialError`` at any other."""
        there = column_of(self.original.folder, "files", "path") | column_of(self.original.folder, "unreadable", "file")
        folders = {str(above) for path in there for above in PurePosixPath(path).parents}
        both = []
        for path in sorted(column_of(planted, "files", "path")):
            if path in there and is_shared(self.sweep, path):
                both.append(path)
                continue
            above = {str(each) for each in PurePosixPath(path).parents} & there
            if path in there or path in folders or above:
                clash = min(above, default=path)
                raise self._refused(f"{path} cannot be planted: the material has {clash}", "give it another name")
        return both

    def _check_services(self, planted: Path) -> None:
        for service in sorted(services_of(planted) & services_of(self.original.folder)):
            what = f"tells of the service {service!r}, which is in the material"
            raise self._refused(what, "plant services of its own")

    def _merge(self, paths: list[str], planted: Path, shared: Path) -> None:
        """Write the rows of the files that both have, as one file each."""
        ours, theirs = (_files(folder, paths) for folder in (self.original.folder, planted))
        files: list[dict[str, Any]] = []
        settings: list[dict[str, Any]] = []
        for path in paths:
            text, rows = self._one_of_two(path, ours.get(path, {}).get("text"), theirs[path]["text"])
            # With the hash and the size of the material's: a finding that names them is the same one without canaries.
            files.append({**ours[path], "text": text})
            settings += rows
        for name, found in (("files", files), ("settings", settings)):
            pq.write_table(pa.Table.from_pylist(found, schema=TABLES[name]), shared / f"{name}.parquet")

    def _one_of_two(self, path: str, ours: str | None, theirs: str) -> tuple[str, list[dict[str, Any]]]:
        assert self.registry is not None, "only a registry has files that tell of many services"
        both = merged(path, ours, theirs, self.registry) if ours is not None else None
        if both is None:
            what = f"the entries of {path} cannot be put at the end of the material's {path}"
            raise self._refused(what, "write them in the same form, as a file of its own would have them")
        text, leaves = both
        columns = TABLES["settings"].names
        return text, [dict(zip(columns, row, strict=True)) for row in setting_rows(path, leaves)]

    def _refused(self, what: str, help: str | None = None) -> MaterialError:
        return MaterialError(what, file=self.folder, key="canaries.path", help=help)


def registry_of(sweep: Sweep) -> Registry | None:
    """Return how the map of a registry is read; None where the material is none. Raises ``MaterialError``."""
    return Registry.of(sweep.material.map) if isinstance(sweep.material, RegistryMaterial) else None


def is_shared(sweep: Sweep, path: str) -> bool:
    """Tell whether a file tells of many services or files, so that the material's and the canaries' are one."""
    registry = registry_of(sweep)
    return registry is not None and (registry.shares(path) or path == _file_of_times(sweep))


def _file_of_times(sweep: Sweep) -> str | None:
    """Return the file inside the material that says when others were modified, or None."""
    modified = sweep.material.map.modified if isinstance(sweep.material, RegistryMaterial) else None
    file = modified if modified is None or isinstance(modified, str) else modified.file
    return None if file is None or AS_OF in file or ".." in file.split("/") else file


def _times_like_theirs(listing: Listing, original: Snapshot) -> dict[str, datetime]:
    """Return for each file a time such as the material's files have, always the same one for the same content."""
    times = [row["modified_at"] for row in rows_of(original.folder, "files", "modified_at") if row["modified_at"]]
    return times_like(times, {file.path: file.sha256 for file in listing.files if file.sha256})


def _files(folder: Path, paths: list[str]) -> dict[str, dict[str, Any]]:
    """Return the rows of some files by path; those of others are not read, since their texts may be large."""
    found = pq.read_table(folder / "files.parquet", filters=[("path", "in", paths)]) if paths else None
    return {row["path"]: row for row in found.to_pylist()} if found is not None else {}


def services_of(folder: Path) -> set[str]:
    """Return the services that the tables of a registry tell of."""
    tables = ("services", *KEYED_TABLES)
    return {name for table in tables for name in column_of(folder, table, "service")}


def column_of(folder: Path, table: str, column: str) -> set[str]:
    """Return the values in a column of a table; none where there is no such table."""
    return {row[column] for row in rows_of(folder, table, column)}


def rows_of(folder: Path, table: str, *columns: str) -> list[dict[str, Any]]:
    """Return the rows of a table; none where there is no such table."""
    path = folder / f"{table}.parquet"
    return pq.read_table(path, columns=list(columns) or None).to_pylist() if path.exists() else []

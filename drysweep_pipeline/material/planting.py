"""Planting canaries: a copy of a snapshot that holds the files of another folder as well, told apart by nothing.

The snapshot stays as it is. The copy is a snapshot of its own form, so that whoever searches the one can search the
other. What is planted must clash with nothing and be mentioned nowhere in the material: only then can what stems from
it be told from what is real.
"""

import hashlib
import json
import tempfile
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from drysweep_pipeline import canaries
from drysweep_pipeline.declaration.folder import folder_digest
from drysweep_pipeline.declaration.model import Canaries, FilesMaterial, RegistryMaterial, Sweep
from drysweep_pipeline.declaration.yaml_reader import dotted
from drysweep_pipeline.errors import IntegrityError, MaterialError
from drysweep_pipeline.material.listing import Listing, list_files
from drysweep_pipeline.material.merging import merged
from drysweep_pipeline.material.paths import AS_OF, Location
from drysweep_pipeline.material.registry import KEYED_TABLES, Registry, modified_times
from drysweep_pipeline.material.schema import TABLES
from drysweep_pipeline.material.snapshot import Snapshot, frozen
from drysweep_pipeline.material.tables import Written, setting_rows, write_tables
from drysweep_pipeline.scratch import scratch

FORMAT = "planted1"
# Which column the rows of a table are in the order of; other tables tell of services.
_ORDER = {"files": "path", "settings": "file", "unreadable": "file", "services": "path"}
_BY_FILE = ("files", "settings")
# Whose rows come after whose where two stand at one place: those of the material first.
_UNITED = """
    copy (
        select * exclude (came, file_row_number)
        from ({rows})
        order by {order}, came, file_row_number
    ) to ? (format parquet, compression zstd)
"""
_ROWS = "select *, {came} as came from read_parquet(?, file_row_number = true, hive_partitioning = false) {where}"
_MENTIONED = """
    with texts as (
        select path as place, path as text from read_parquet($files, hive_partitioning = false)
        union all select path, text from read_parquet($files, hive_partitioning = false) where text is not null
        union all select file, file from read_parquet($unreadable, hive_partitioning = false)
    )
    select name, min(place)
    from texts, (select unnest($names) as name)
    where contains(lower(text), lower(name))
    group by name
    order by name
"""


@dataclass(frozen=True, slots=True)
class Planted:
    """A copy of a snapshot with canaries in it, and the names by which what stems from them is known."""

    snapshot: Snapshot
    names: tuple[str, ...]


def plant(sweep: Sweep, base: Path, original: Snapshot, store: Path) -> Planted:
    """Return the copy of a snapshot in which a sweep's canaries are planted, made in ``store`` where it is not there.

    ``base``: the folder of the declaring file. Raises ``MaterialError`` where the folder of the canaries is not as it
    was declared, and where something planted clashes with the material, or may be taken for a part of it.
    """
    assert sweep.canaries is not None, "nobody asks where nothing is planted"
    folder = store / _digest(original, sweep.canaries)
    try:
        copy = Snapshot.open(folder)
    except IntegrityError:
        copy = _Plot(sweep, sweep.canaries, base / sweep.canaries.path, original).copied(folder)
    return Planted(copy, _names(sweep, copy.folder, original))


def named_by_paths(sweep: Sweep, folder: Path) -> tuple[str, ...]:
    """Return the planted names of a folder of canaries as far as its paths tell, and the marks; it need not be sound.

    Raises ``MaterialError`` where the map of a registry names no service.
    """
    assert sweep.canaries is not None, "nobody asks where nothing is planted"
    registry = _registry(sweep)
    listed = (file.path for file in list_files(folder, _material(sweep).ignore).files)
    own = [path for path in listed if not _is_shared(sweep, registry, path)]
    services = [registry.service_of(path) for path in own] if registry is not None else []
    return tuple(sorted({*own, *(each for each in services if each), *sweep.canaries.marks}))


class _Plot:
    """The files of a folder of canaries, on their way into a copy of a snapshot."""

    def __init__(self, sweep: Sweep, declared: Canaries, folder: Path, original: Snapshot) -> None:
        self.sweep, self.declared, self.folder, self.original = sweep, declared, folder, original
        self.material, self.registry = _material(sweep), _registry(sweep)
        self._check_declared()
        self.listing = self._listing()

    def copied(self, place: Path) -> Snapshot:
        """Return the planted copy, made at a place. Raises ``MaterialError`` where something is in its way."""
        with tempfile.TemporaryDirectory() as scratch_place:
            planted, shared = Path(scratch_place, "planted"), Path(scratch_place, "shared")
            planted.mkdir()
            shared.mkdir()
            write_tables(planted, self.listing, self.registry, self.material.max_bytes)
            self._check_readable(planted)
            merged_paths = self._check_paths(planted)
            self._check_services(planted)
            self._check_names(planted)
            self._merge(merged_paths, planted, shared)
            like = Listing(self.folder, (), (), self.original.revision, self.original.dirty)
            folders = (self.original.folder, planted, shared)
            return frozen(place, like, lambda building: _united(building, folders, merged_paths))

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
        times = {**_borrowed_times(listing, self.original), **self._declared_times(listing)}
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
        for row in _rows(planted, "unreadable"):
            raise self._refused(f"{row['file']} cannot be searched: {row['reason']}")
        for row in _rows(planted, "files"):
            if row["text"] is None:
                raise self._refused(f"{row['path']} is not text")

    def _check_paths(self, planted: Path) -> list[str]:
        """Return the files that both have and that tell of many services. Raises ``MaterialError`` at any other."""
        there = _column(self.original.folder, "files", "path") | _column(self.original.folder, "unreadable", "file")
        folders = {str(above) for path in there for above in PurePosixPath(path).parents}
        both = []
        for path in sorted(_column(planted, "files", "path")):
            if path in there and _is_shared(self.sweep, self.registry, path):
                both.append(path)
                continue
            above = {str(each) for each in PurePosixPath(path).parents} & there
            if path in there or path in folders or above:
                clash = min(above, default=path)
                raise self._refused(f"{path} cannot be planted: the material has {clash}", "give it another name")
        return both

    def _check_services(self, planted: Path) -> None:
        for service in sorted(_services(planted) & _services(self.original.folder)):
            what = f"tells of the service {service!r}, which is in the material"
            raise self._refused(what, "plant services of its own")

    def _check_names(self, planted: Path) -> None:
        """Raise ``MaterialError`` where what stems from a canary could be taken for real, or the other way round."""
        names = _names(self.sweep, planted, self.original)
        for keys, what, help in canaries.problems(self.sweep, names):
            raise MaterialError(what, file=self.folder, key=dotted(("canaries", *keys)), help=help)
        for name, place in _mentioned(self.original, names):
            raise self._refused(f"the planted name {name!r} stands in {place} of the material", "plant another name")
        texts = [row["text"] for row in _rows(planted, "files")]
        for mark in canaries.not_planted(self.declared, [*texts, *_column(planted, "files", "path")]):
            raise MaterialError(f"no canary holds the mark {mark!r}", file=self.folder, key="canaries.marks")

    def _merge(self, paths: list[str], planted: Path, shared: Path) -> None:
        """Write the rows of the files that both have, as one file each."""
        ours = {row["path"]: row for row in _rows(self.original.folder, "files") if row["path"] in paths}
        theirs = {row["path"]: row["text"] for row in _rows(planted, "files") if row["path"] in paths}
        files: list[dict[str, Any]] = []
        settings: list[dict[str, Any]] = []
        for path in paths:
            text, rows = self._one_of_two(path, ours.get(path, {}).get("text"), theirs[path])
            content = text.encode()
            sha256 = hashlib.sha256(content).hexdigest()
            files.append({**ours[path], "text": text, "bytes": len(content), "sha256": sha256})
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


def _material(sweep: Sweep) -> RegistryMaterial | FilesMaterial:
    assert isinstance(sweep.material, RegistryMaterial | FilesMaterial), "reading refuses canaries elsewhere"
    return sweep.material


def _registry(sweep: Sweep) -> Registry | None:
    return Registry.of(sweep.material.map) if isinstance(sweep.material, RegistryMaterial) else None


def _is_shared(sweep: Sweep, registry: Registry | None, path: str) -> bool:
    """Tell whether a file tells of many services or files, so that the material's and the canaries' are one."""
    return registry is not None and (registry.shares(path) or path == _file_of_times(sweep))


def _file_of_times(sweep: Sweep) -> str | None:
    """Return the file inside the material that says when others were modified, or None."""
    modified = sweep.material.map.modified if isinstance(sweep.material, RegistryMaterial) else None
    file = modified if modified is None or isinstance(modified, str) else modified.file
    return None if file is None or AS_OF in file or ".." in file.split("/") else file


def _borrowed_times(listing: Listing, original: Snapshot) -> dict[str, datetime]:
    """Return for each file the time of one of the material's, always the same one for the same content."""
    times = sorted(row["modified_at"] for row in _rows(original.folder, "files", "modified_at") if row["modified_at"])
    return {file.path: times[int((file.sha256 or "0")[:8], 16) % len(times)] for file in listing.files if times}


def _digest(original: Snapshot, declared: Canaries) -> str:
    text = json.dumps([FORMAT, original.digest, declared.digest])
    return hashlib.sha256(text.encode()).hexdigest()


def _names(sweep: Sweep, with_planted: Path, original: Snapshot) -> tuple[str, ...]:
    """Return the planted names: the paths and services that the original lacks, and the marks."""
    assert sweep.canaries is not None, "nobody asks where nothing is planted"
    registry = _registry(sweep)
    paths = _column(with_planted, "files", "path") - _column(original.folder, "files", "path")
    own = {path for path in paths if not _is_shared(sweep, registry, path)}
    services = _services(with_planted) - _services(original.folder)
    return tuple(sorted({*own, *services, *sweep.canaries.marks}))


def _services(folder: Path) -> set[str]:
    tables = ("services", *KEYED_TABLES)
    return {name for table in tables for name in _column(folder, table, "service")}


def _column(folder: Path, table: str, column: str) -> set[str]:
    return {row[column] for row in _rows(folder, table, column)}


def _rows(folder: Path, table: str, *columns: str) -> list[dict[str, Any]]:
    """Return the rows of a table; none where the material has no such table."""
    path = folder / f"{table}.parquet"
    return pq.read_table(path, columns=list(columns) or None).to_pylist() if path.exists() else []


def _mentioned(original: Snapshot, names: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return (name, file) of the names that stand anywhere in a snapshot, whatever their case."""
    given = {name: str(original.folder / f"{name}.parquet") for name in ("files", "unreadable")}
    with scratch() as connection:
        return connection.execute(_MENTIONED, {**given, "names": list(names)}).fetchall()


def _united(building: Path, folders: tuple[Path, Path, Path], shared: list[str]) -> Written:
    """Write each table with the rows of the material, of what is planted, and of the files that are of both."""
    rows = {}
    with scratch() as connection:
        for table in sorted(path.stem for path in folders[0].glob("*.parquet")):
            united = building / f"{table}.parquet"
            order = _ORDER.get(table, "service")
            parts, given = [], []
            for came, folder in enumerate(folders):
                if (folder / united.name).exists():
                    left_out = table in _BY_FILE and came < 2
                    where = f"where not list_contains(cast(? as varchar[]), {order})" if left_out else ""
                    parts.append(_ROWS.format(came=came, where=where))
                    given += [str(folder / united.name), *([shared] if left_out else [])]
            connection.execute(
                _UNITED.format(rows=" union all by name ".join(parts), order=order), [*given, str(united)]
            )
            rows[table] = pq.read_metadata(united).num_rows
    return Written(rows)

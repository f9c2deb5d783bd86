"""Freezing material into a snapshot: Parquet tables and one DuckDB file with the same tables.

A snapshot is named by a digest over what it was made from, so that the same material is frozen once. It is
built beside its place and renamed into it; whoever finds a snapshot finds a whole one.
"""

import contextlib
import hashlib
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
import pyarrow.parquet as pq

from drysweep_pipeline.declaration.model import CommandMaterial, FilesMaterial, RegistryMaterial, TablesMaterial
from drysweep_pipeline.durable import SEAL, is_sealed, seal, sha256_of, sync
from drysweep_pipeline.errors import IntegrityError, MaterialError
from drysweep_pipeline.material import command, commits, git
from drysweep_pipeline.material.apart import apart, check_apart, is_apart
from drysweep_pipeline.material.command import Printed, read_printed
from drysweep_pipeline.material.commits import Commit, Tree
from drysweep_pipeline.material.listing import File, Listing, list_files
from drysweep_pipeline.material.paths import Location, locate, readable, readable_folder, undated
from drysweep_pipeline.material.registry import Registry, modified_times, service_rows
from drysweep_pipeline.material.revisions import committed, left_out, revised
from drysweep_pipeline.material.tables import Written, write_tables, write_without_text
from drysweep_pipeline.material.tabular import READING, Read, list_sources, read_tables, sources
from drysweep_pipeline.spelling import literal

FORMAT = "snapshot1"
Material: TypeAlias = RegistryMaterial | FilesMaterial | TablesMaterial | CommandMaterial
MANIFEST = "snapshot.json"
DATABASE = "tables.duckdb"
_STALE_SECONDS = 24 * 3600


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Frozen material: a folder of Parquet tables and ``tables.duckdb`` with the same tables."""

    digest: str
    """Hex SHA-256 over what the snapshot was made from; the folder's name."""
    folder: Path
    not_searched: int
    """Rows of the table ``unreadable``: an unread file is counted, never silently clean."""
    revision: str | None = None
    """The commit that was checked out, where the material lies in a git checkout."""
    dirty: int = 0
    """How many files of the material were not as that commit has them."""
    tables: tuple[tuple[str, int], ...] = ()
    """The tables that the material itself has, by name with their rows; none where it has files."""

    @property
    def database(self) -> Path:
        """The DuckDB file; open it read-only."""
        return self.folder / DATABASE

    def unreadable(self) -> list[tuple[str, str]]:
        """Return (file, reason) of everything that was not searched, sorted."""
        table = pq.read_table(self.folder / "unreadable.parquet")
        return list(zip(table["file"].to_pylist(), table["reason"].to_pylist(), strict=True))

    @classmethod
    def open(cls, folder: Path) -> "Snapshot":
        """Open a snapshot after checking every file's SHA-256.

        Raises ``IntegrityError`` where the folder is not a whole snapshot.
        """
        manifest = _manifest(folder)
        try:
            for name, recorded in manifest["files"].items():
                _check(folder / name, recorded["sha256"])
            unread = int(manifest["files"]["unreadable.parquet"]["rows"])
            commit = manifest.get("git", {})
            tables = tuple(
                (name, int(manifest["files"][f"{name}.parquet"]["rows"])) for name in manifest.get("tables", ())
            )
            return cls(manifest["digest"], folder, unread, commit.get("revision"), int(commit.get("dirty", 0)), tables)
        except (KeyError, TypeError, AttributeError) as error:
            raise IntegrityError("is not a snapshot's manifest", file=folder / MANIFEST) from error

    @staticmethod
    def check_seal(folder: Path) -> None:
        """Raise ``IntegrityError`` where a manifest is not what was written; older ones have no seal."""
        try:
            raw = (folder / MANIFEST).read_bytes()
        except OSError as error:
            raise IntegrityError(f"is not a whole snapshot: {error}", file=folder) from error
        if f'"{SEAL}": "'.encode() in raw and not is_sealed(raw):
            raise IntegrityError("corrupt_artifact: it is not what was written", file=folder / MANIFEST)


def freeze(material: Material, base: Path, as_of: datetime, snapshots: Path, home: Path | None = None) -> Snapshot:
    """Freeze material as it is now into ``snapshots/<digest>``, or return the snapshot that is there already.

    ``base``: the folder of the declaring file. ``as_of`` picks dated material. Files that cannot be searched are
    listed in the snapshot, with the reason. ``home``: the home in use, which is left out where it lies in the material.
    Raises ``MaterialError`` where the material cannot be reached, is empty, or moves while it is read.
    """
    if isinstance(material, CommandMaterial):
        return _freeze_printed(material, command.run(material, base, as_of), snapshots)
    where = locate(material.path, base, as_of)
    check_apart(where.path, home)
    own = apart(where.path if where.path.is_dir() else where.path.parent, home)
    if where.commit is not None:
        with commits.extracted(where.commit) as tree, _told_of(where.commit, tree):
            return _freeze_here(material, Location(tree.path, None, where.commit), snapshots, own, tree)
    return _freeze_here(material, where, snapshots, own)


@contextlib.contextmanager
def _told_of(commit: Commit, tree: Tree) -> Iterator[None]:
    """Have errors name the commit, and not the folder that its files are in for the moment."""
    try:
        yield
    except MaterialError as error:
        if error.file is not None and error.file.startswith(str(tree.path)):
            below = f"{commit.below}{error.file.removeprefix(str(tree.path))}".lstrip("/")
            error.file = f"{commit.repository} at {commit.revision[:12]}: {below or '.'}"
        raise


def _freeze_here(
    material: RegistryMaterial | FilesMaterial | TablesMaterial,
    where: Location,
    snapshots: Path,
    own: frozenset[str],
    tree: Tree | None = None,
) -> Snapshot:
    if isinstance(material, TablesMaterial):
        return _freeze_tables(material, where, snapshots, own, tree)
    return freeze_at(material, where, snapshots, tree=tree, own=own)


def place_of(material: Material, base: Path) -> str:
    """Return where material comes from: its path with dates left open, or the program that prints it."""
    return json.dumps(material.argv) if isinstance(material, CommandMaterial) else undated(material.path, base)


def check_reachable(material: Material, base: Path, as_of: datetime) -> None:
    """Raise ``MaterialError`` where material is not there or may not be read; nothing is opened and no program run."""
    if isinstance(material, CommandMaterial):
        command.program(material, base, as_of)
        return
    where = locate(material.path, base, as_of)
    if where.commit is not None:
        return  # a commit that is known is there
    if isinstance(material, TablesMaterial):
        sources(material, readable(where.path))
    else:
        readable_folder(where.path)


def freeze_at(
    material: RegistryMaterial | FilesMaterial,
    where: Location,
    snapshots: Path,
    like: Snapshot | None = None,
    tree: Tree | None = None,
    own: frozenset[str] = frozenset(),
) -> Snapshot:
    """Freeze material from a place that is given, as ``freeze`` does.

    ``like``: a snapshot whose files lend theirs their times where they hold the same, for a copy made just now.
    ``tree``: what is known of a place that is a commit's files. ``own``: the paths in it that are the home in use.
    """
    listing = list_files(readable_folder(where.path), material.ignore, own=own)
    if like is not None:
        listing = listing.dated(_times(listing, like))
    listing = _in_git(
        listing, where, tree, lambda path: not left_out(path, material.ignore) and not is_apart(path, own)
    )
    registry = None
    if isinstance(material, RegistryMaterial):
        registry = Registry.of(material.map)
        if material.map.modified is not None:
            listing = listing.dated(modified_times(material.map.modified, where, listing))
    _refuse_empty(material, listing, registry)
    return frozen(
        snapshots / digest(material, listing),
        listing,
        lambda folder: write_tables(folder, listing, registry, material.max_bytes),
    )


def _in_git(listing: Listing, where: Location, tree: Tree | None, wanted: Callable[[str], bool]) -> Listing:
    """Return a listing with what git knows of it: the files of a commit, or of what is checked out."""
    if where.commit is not None and tree is not None:
        return committed(listing.dated(tree.times), where.commit.revision, tree.unreadable, wanted)
    checkout = git.checkout(where.path if where.path.is_dir() else where.path.parent)
    return listing if checkout is None else revised(listing, checkout, wanted)


def _freeze_tables(
    material: TablesMaterial, where: Location, snapshots: Path, own: frozenset[str], tree: Tree | None
) -> Snapshot:
    # When a file was written says nothing of what is in its tables, and the same tables are the same snapshot.
    path = readable(where.path)
    listing = list_sources(material, path, tree.unreadable if tree is not None else (), own)
    listing = _in_git(listing, where, tree, {file.path for file in listing.files}.__contains__).dated({})
    return _with_rows(
        material,
        path,
        frozen(
            snapshots / digest(material, listing),
            listing,
            lambda folder: _write_read(folder, listing, read_tables(material, path, listing, folder)),
        ),
    )


def _freeze_printed(material: CommandMaterial, printed: Printed, snapshots: Path) -> Snapshot:
    """Freeze what a program printed; the same rows are the same snapshot, whatever printed them and when."""
    nothing = Listing(snapshots, (), ())
    how = material.model_dump(mode="json", include={"kind", "tables", "max_rows", "max_bytes"})
    text = json.dumps([FORMAT, {**how, "reading": READING}, printed.sha256], sort_keys=True)
    folder = snapshots / hashlib.sha256(text.encode()).hexdigest()
    snapshot = frozen(folder, nothing, lambda to: _write_read(to, nothing, read_printed(material, printed, to)))
    return _with_rows(material, material.argv[0], snapshot)


def _with_rows(material: TablesMaterial | CommandMaterial, source: Path | str, snapshot: Snapshot) -> Snapshot:
    if not material.allow_empty and not any(rows for _, rows in snapshot.tables):
        unread = "; ".join(f"{file}: {why}" for file, why in snapshot.unreadable())
        help = f"not read: {unread}" if unread else "say allow_empty: true if that is as it should be"
        raise MaterialError("holds no row in any table", file=source, help=help)
    return snapshot


def _write_read(folder: Path, listing: Listing, read: Read) -> Written:
    unreadable = tuple(sorted({*listing.unreadable, *read.unreadable}))
    rows = write_without_text(folder, replace(listing, unreadable=unreadable))
    return Written({**rows, **read.rows}, tuple(sorted(read.rows)))


def digest(material: RegistryMaterial | FilesMaterial | TablesMaterial, listing: Listing) -> str:
    """Return the hex digest of what a snapshot is made from: files, times, how they are read, and in git the commit."""
    how = material.model_dump(mode="json", exclude={"path", "allow_empty", "timeout_s"})
    if isinstance(material, TablesMaterial):
        how["reading"] = READING
    files = [[file.path, file.sha256, _iso(file)] for file in listing.files]
    # SQL sees revisions, so the same files at two commits are two snapshots.
    revision = [listing.revision] if listing.revision is not None else []
    text = json.dumps([FORMAT, how, files, listing.unreadable, *revision], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _iso(file: File) -> str | None:
    return file.modified_at.isoformat() if file.modified_at is not None else None


def _times(listing: Listing, like: Snapshot) -> dict[str, datetime]:
    """Return when each listed file was modified: as a snapshot says where that has the same file, else as listed."""
    table = pq.read_table(like.folder / "files.parquet", columns=["path", "sha256", "modified_at"])
    known = {(row["path"], row["sha256"]): row["modified_at"] for row in table.to_pylist()}
    times = {file.path: known.get((file.path, file.sha256), file.modified_at) for file in listing.files}
    return {path: time for path, time in times.items() if time is not None}


def _refuse_empty(material: RegistryMaterial | FilesMaterial, listing: Listing, registry: Registry | None) -> None:
    found = service_rows(registry, listing) if registry is not None else listing.files
    if found or material.allow_empty:
        return
    what = f"no service: no file matches {registry.services!r}" if registry is not None else "no file"
    help = "say allow_empty: true if that is as it should be"
    if registry is not None and "{" in registry.services:
        help = f"braces stand for themselves in a pattern, services/*.* takes files of any ending; {help}"
    raise MaterialError(f"holds {what}", file=listing.root, help=help)


def frozen(folder: Path, listing: Listing, write: Callable[[Path], Written]) -> Snapshot:
    """Return the snapshot that is in a folder, or have its tables written there, whole or not at all.

    Raises ``MaterialError`` where there is no writing.
    """
    with contextlib.suppress(IntegrityError):
        return Snapshot.open(folder)
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _drop_stale(folder.parent)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name[:16]}.", dir=folder.parent) as place:
            building = Path(place, folder.name)
            building.mkdir(mode=0o700)
            written = write(building)
            _write_database(building, list(written.rows))
            _write_manifest(building, folder.name, written, listing)
            _put(building, folder)
    except (OSError, duckdb.Error) as error:
        raise MaterialError(f"the snapshot cannot be written: {error}", file=folder.parent) from error
    return Snapshot.open(folder)


def _drop_stale(snapshots: Path) -> None:
    """Remove what a killed process left half-built a day ago or earlier."""
    for left in snapshots.glob(".*.*"):
        with contextlib.suppress(OSError):
            if left.stat().st_mtime < time.time() - _STALE_SECONDS:
                shutil.rmtree(left, ignore_errors=True)


def _write_database(folder: Path, tables: list[str]) -> None:
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        # A literal, since DuckDB 1.5 binds no parameter here.
        connection.execute(f"attach {literal(str(folder / DATABASE))} as snapshot (storage_version 'v1.5.0')")
        for name in tables:
            source = str(folder / f"{name}.parquet")
            # In quotes, since a declared name may be a word of SQL; without what a folder's name may be taken for.
            sql = f'create table snapshot."{name}" as select * from read_parquet(?, hive_partitioning = false)'
            connection.execute(sql, [source])
        connection.execute("detach snapshot")


def _write_manifest(folder: Path, name: str, written: Written, listing: Listing) -> None:
    files = {
        path.name: {"rows": written.rows.get(path.stem), "bytes": path.stat().st_size, "sha256": sha256_of(path)}
        for path in sorted(folder.iterdir())
    }
    commit = {"git": {"revision": listing.revision, "dirty": listing.dirty}} if listing.revision is not None else {}
    tables = list(written.tables)
    text = json.dumps({"format": FORMAT, "digest": name, **commit, "tables": tables, "files": files}, indent=2)
    (folder / MANIFEST).write_bytes(seal(text.removesuffix("\n}").encode()))
    for path in folder.iterdir():
        path.chmod(0o600)
        sync(path)
    sync(folder)


def _put(building: Path, folder: Path) -> None:
    """Rename a finished snapshot into place; a whole one that came first stays, a broken one makes way."""
    try:
        building.rename(folder)
    except OSError:
        with contextlib.suppress(IntegrityError):
            Snapshot.open(folder)
            return
        with contextlib.suppress(FileNotFoundError):
            folder.rename(building.with_name("broken"))
        building.rename(folder)
    sync(folder.parent)


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise IntegrityError(f"is not a whole snapshot: {error}", file=folder) from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise IntegrityError(f"is not a snapshot of the format {FORMAT}", file=folder)
    if manifest.get("digest") != folder.name:
        raise IntegrityError(f"holds the snapshot {manifest.get('digest')}", file=folder)
    return manifest


def _check(path: Path, sha256: str) -> None:
    try:
        found = sha256_of(path)
    except OSError as error:
        raise IntegrityError(f"cannot be read: {error.strerror}", file=path) from error
    if found != sha256:
        raise IntegrityError("is not what was recorded", file=path, help="remove the snapshot and freeze again")

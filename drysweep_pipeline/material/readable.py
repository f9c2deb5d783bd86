"""What one snapshot showed that a later one may hide: what is not seen in the later one need not be gone.

A file that was deleted took its findings along. A file that cannot be read any more, was emptied, or was moved did not;
nor did one that all services share, such as a catalogue, take along what it said of them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

import pyarrow.parquet as pq

from drysweep_pipeline.declaration.model import RegistryMaterial
from drysweep_pipeline.material.globs import pattern
from drysweep_pipeline.material.registry import KEYED_TABLES, Registry
from drysweep_pipeline.material.snapshot import Material, Snapshot

# Material of which more than this is gone at once was cut off, more likely than mended.
_MOST_GONE = 0.5


@dataclass(frozen=True)
class Compared:
    """A snapshot that showed findings, beside a later one that did not."""

    then: Snapshot
    now: Snapshot
    material: Material

    def hidden(self, needs: Sequence[str] = ()) -> list[str]:
        """Return what may hide, from every strategy or one with these ``needs``, what was shown, sorted."""
        return sorted({*self._hidden, *self._unmatched(needs)})

    def moved(self, path: str | None) -> bool:
        """Tell whether a file that was shown is at another place now, as it was; without a path, whether any is."""
        return bool(self._moved) if path is None else path in self._moved

    @cached_property
    def _hidden(self) -> frozenset[str]:
        return frozenset(
            (*self._unread(), *self._emptied(), *self._lost_sources(), *self._lost_tables(), *self._cut_off())
        )

    @cached_property
    def _was(self) -> dict[str, str]:
        return _readable(self.then)

    @cached_property
    def _is(self) -> dict[str, str]:
        return _readable(self.now)

    @cached_property
    def _gone(self) -> frozenset[str]:
        return frozenset(self._was.keys() - self._is.keys())

    @cached_property
    def _moved(self) -> frozenset[str]:
        elsewhere = {self._is[new] for new in self._is.keys() - self._was.keys()}
        return frozenset(path for path in self._gone if self._was[path] in elsewhere)

    def _unread(self) -> Iterator[str]:
        """Yield what cannot be read now: what could be then, and what may be a file that is gone, renamed or moved."""
        paths = [PurePosixPath(path) for path in self._gone]
        folders, names = {str(path.parent) for path in paths}, {path.name for path in paths}
        before = {file for file, _ in self.then.unreadable()} | _paths(self.then)
        for file, _ in self.now.unreadable():
            new = file not in before and (
                str(PurePosixPath(file).parent) in folders or PurePosixPath(file).name in names
            )
            if file in self._was or new or _holds(file, self._was):
                yield file
        yield from self._gone & _paths(self.now)  # there, and not as text any more

    def _emptied(self) -> Iterator[str]:
        blank = _blank(self.now)
        yield from (self._was.keys() & blank) - _blank(self.then)

    def _lost_sources(self) -> Iterator[str]:
        """Yield the tables of a registry that lost what they said of services that are still there.

        A service may lose what was said of it. Most of them at once, or any beside a shared file that is gone, did not.
        """
        if not isinstance(self.material, RegistryMaterial):
            return
        sources = Registry.of(self.material.map).sources
        still = _services(self.now, "services")
        for table in KEYED_TABLES:
            had = _services(self.then, table) & still
            lost = had - _services(self.now, table)
            gone = {source.file for name, source in sources if name == table} & self._gone
            if lost and (gone or len(lost) > _MOST_GONE * len(had)):
                yield f"{', '.join(sorted(gone)) or table} (lost {len(lost)} services)"

    def _lost_tables(self) -> Iterator[str]:
        """Yield the tables that are not there any more, or lost most of their rows at once."""
        now = dict(self.now.tables)
        for table, rows in self.then.tables:
            if now.get(table, 0) < (1 - _MOST_GONE) * rows:
                yield f"{table} ({'lost most of its rows' if table in now else 'not read'})"

    def _cut_off(self) -> Iterator[str]:
        deleted = self._gone - self._moved - _paths(self.now)
        if len(deleted) > _MOST_GONE * len(self._was):
            yield f"{len(deleted)} files that are gone"

    def _unmatched(self, needs: Sequence[str]) -> Iterator[str]:
        """Yield needed files of which there were some and are none."""
        for glob in needs:
            if _matches(glob, self._was) and not _matches(glob, self._is):
                yield f"{glob} (gone)"


def _readable(snapshot: Snapshot) -> dict[str, str]:
    """Return the SHA-256 of each file that a strategy can search, by path."""
    unread = {file for file, _ in snapshot.unreadable()}
    table = pq.read_table(snapshot.folder / "files.parquet", columns=["path", "sha256", "text"])
    texts = table["text"].is_valid().to_pylist()
    rows = zip(table["path"].to_pylist(), table["sha256"].to_pylist(), texts, strict=True)
    return {path: sha256 for path, sha256, has_text in rows if has_text and path not in unread}


def _paths(snapshot: Snapshot) -> frozenset[str]:
    return frozenset(pq.read_table(snapshot.folder / "files.parquet", columns=["path"])["path"].to_pylist())


def _blank(snapshot: Snapshot) -> frozenset[str]:
    table = pq.read_table(snapshot.folder / "files.parquet", columns=["path", "text"])
    rows = zip(table["path"].to_pylist(), table["text"].to_pylist(), strict=True)
    return frozenset(path for path, text in rows if text is not None and text.strip() in ("", "{}", "[]"))


def _services(snapshot: Snapshot, table: str) -> set[str]:
    column = pq.read_table(snapshot.folder / f"{table}.parquet", columns=["service"])["service"]
    return set(column.unique().to_pylist())


def _matches(glob: str, paths: dict[str, str]) -> bool:
    return any(pattern(glob).fullmatch(path) for path in paths)


def _holds(folder: str, paths: dict[str, str]) -> bool:
    """Tell whether an unreadable folder is where some path was; ``.`` is all of the material."""
    return folder == "." or any(path.startswith(f"{folder}/") for path in paths)

"""The snapshot's files as files again, for programs that can read nothing else: a private copy, to look at only.

Only text is in it, because only that is in a snapshot; nothing is ever taken from the live material.
"""

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias

import pyarrow.parquet as pq

from drysweep_pipeline.children.program import scratch_folder
from drysweep_pipeline.errors import FinderError
from drysweep_pipeline.material.snapshot import DATABASE, Snapshot

_Stamp: TypeAlias = frozenset[tuple[str, int, int, int, int]]


@contextmanager
def laid_out(snapshot: Path | None) -> Iterator[Path]:
    """Yield a folder with every file of a snapshot whose text it holds; nothing in it can be written by accident.

    Binary files and files that could not be read are not in it. Of material that has tables, each is in it as
    ``<table>.parquet``. Raises ``FinderError`` where the material has none.
    """
    if snapshot is None:
        raise FinderError("the material has no files to lay out as {material}")
    with scratch_folder() as scratch:
        # Without links in it, so that a program that resolves its paths names files as it was told them.
        folder = scratch.resolve() / "material"
        folder.mkdir()
        _write(snapshot / "files.parquet", folder)
        for table, _ in Snapshot.open(snapshot).tables:
            shutil.copyfile(snapshot / f"{table}.parquet", folder / f"{table}.parquet")
            (folder / f"{table}.parquet").chmod(0o400)
        folders = [path for path in folder.rglob("*") if path.is_dir()]
        try:
            for path in (*folders, folder):
                path.chmod(0o500)
            yield folder
        finally:
            for path in (folder, *folders):
                if path.is_dir() and not path.is_symlink():
                    path.chmod(0o700)


def left_out(snapshot: Path) -> list[str]:
    """Return the files of a snapshot that no copy of it has, because it holds no text of them.

    None where the material has tables: those are in the copy.
    """
    if Snapshot.open(snapshot).tables:
        return []
    table = pq.read_table(snapshot / "files.parquet", columns=["path", "text"])
    return sorted(table.filter(table["text"].is_null())["path"].to_pylist())


@contextmanager
def copied(database: Path) -> Iterator[Path]:
    """Yield a folder with a copy of a snapshot's database, from where nothing leads to the place of the snapshot."""
    with scratch_folder() as scratch:
        folder = scratch.resolve() / "tables"
        folder.mkdir()
        shutil.copyfile(database, folder / database.name)
        (folder / database.name).chmod(0o400)
        yield folder


class Copy:
    """The copies of one snapshot that those who search it share: made when first asked for, gone with the block.

    Who searches as the same user could change them on purpose. That cannot be prevented here, but it does not pass for
    what the snapshot holds: ``check`` notices it.
    """

    def __init__(self, snapshot: Path | None) -> None:
        self._snapshot = snapshot
        self._lock = threading.Lock()
        self._made = ExitStack()
        self._current: dict[str, Path] = {}
        self._stamps: dict[Path, _Stamp] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._made.close()

    def files(self) -> Path | None:
        """Return a folder with the snapshot's files, as ``laid_out`` has them; None where the material has none."""
        return None if self._snapshot is None else self._given("files", laid_out(self._snapshot))

    def tables(self) -> Path | None:
        """Return a folder with the snapshot's database; None where the material has none."""
        return None if self._snapshot is None else self._given("tables", copied(self._snapshot / DATABASE))

    def check(self, folder: Path | None) -> None:
        """Raise ``FinderError`` where a folder that was given out is not as it was; the next to ask get a new one."""
        if folder is None or _stamp(folder) == self._stamps[folder]:
            return
        with self._lock:
            self._current = {name: each for name, each in self._current.items() if each != folder}
        raise FinderError("the copy of the material was changed while it was searched")

    def _given(self, name: str, made: AbstractContextManager[Path]) -> Path:
        with self._lock:
            if name not in self._current:
                folder = self._made.enter_context(made)
                self._current[name], self._stamps[folder] = folder, _stamp(folder)
            return self._current[name]


def _stamp(folder: Path) -> _Stamp:
    """Return what differs after any change in a folder: the kernel keeps the time of it, and nobody can set that."""
    found = set()
    for at, _, names in os.walk(folder):
        for path in (at, *(os.path.join(at, name) for name in names)):  # noqa: PTH118 - of thousands of files
            state = os.lstat(path)
            found.add((path, state.st_ino, state.st_size, state.st_mode, state.st_ctime_ns))
    return frozenset(found)


def _write(table: Path, folder: Path) -> None:
    for batch in pq.ParquetFile(table).iter_batches(columns=["path", "text"]):
        for row in batch.to_pylist():
            path = folder / row["path"]
            if row["text"] is None or not path.resolve().is_relative_to(folder):
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            # As bytes: what a line ends with is the file's own affair.
            path.write_bytes(row["text"].encode())
            path.chmod(0o400)

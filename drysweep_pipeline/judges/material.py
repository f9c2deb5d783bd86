"""The snapshot's files as files again, for programs that can read nothing else: a private copy, to look at only."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq

from drysweep_pipeline.child import scratch_folder
from drysweep_pipeline.errors import FinderError


@contextmanager
def laid_out(snapshot: Path | None) -> Iterator[Path]:
    """Yield a folder with every file of a snapshot whose text it holds; nothing in it can be written by accident.

    Binary files and files that could not be read are not in it. Raises ``FinderError`` where the material has none.
    """
    if snapshot is None:
        raise FinderError("the material has no files to lay out as {material}")
    with scratch_folder() as scratch:
        folder = scratch / "material"
        folder.mkdir()
        _write(snapshot / "files.parquet", folder)
        folders = [path for path in folder.rglob("*") if path.is_dir()]
        try:
            for path in (*folders, folder):
                path.chmod(0o500)
            yield folder
        finally:
            for path in (folder, *folders):
                path.chmod(0o700)


def _write(table: Path, folder: Path) -> None:
    for batch in pq.ParquetFile(table).iter_batches(columns=["path", "text"]):
        for row in batch.to_pylist():
            path = folder / row["path"]
            if row["text"] is None or not path.resolve().is_relative_to(folder.resolve()):
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            # As bytes: what a line ends with is the file's own affair.
            path.write_bytes(row["text"].encode())
            path.chmod(0o400)

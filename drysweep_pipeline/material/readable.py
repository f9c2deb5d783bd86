"""What a snapshot could read that a later one cannot: what is not seen in the later one may only be hidden."""

from pathlib import PurePosixPath

import pyarrow.parquet as pq

from drysweep_pipeline.material.snapshot import Snapshot


def hidden_since(then: Snapshot, now: Snapshot) -> list[str]:
    """Return what cannot be read now and may hide what could be read then, sorted.

    That is a file or folder that was readable, and an unreadable one that stands where a readable one is gone from:
    it may have been renamed. An unreadable file that only came along hides nothing of what was there before.
    """
    unread = {file for file, _ in now.unreadable()}
    if not unread:
        return []
    was, still = _readable(then), _readable(now)
    gone_from = {str(PurePosixPath(path).parent) for path in was - still - unread}
    return sorted(
        file for file in unread if file in was or _holds(file, was) or str(PurePosixPath(file).parent) in gone_from
    )


def _readable(snapshot: Snapshot) -> set[str]:
    paths = pq.read_table(snapshot.folder / "files.parquet", columns=["path"])["path"].to_pylist()
    return set(paths) - {file for file, _ in snapshot.unreadable()}


def _holds(folder: str, paths: set[str]) -> bool:
    """Tell whether an unreadable folder is where some path was; ``.`` is all of the material."""
    return folder == "." or any(path.startswith(f"{folder}/") for path in paths)

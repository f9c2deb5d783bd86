"""Which files of a listing are what a commit has, byte for byte, and how many things are not.

What is compared is content, by git's own object ids. No index is read and no filter is run, so a file that git would
show converted (line ends, large files kept elsewhere) counts as changed: it is not what the commit has.
"""

from collections.abc import Callable
from dataclasses import replace

from drysweep_pipeline.material.git import Checkout, tree
from drysweep_pipeline.material.globs import is_ignored
from drysweep_pipeline.material.listing import File, Listing, blob_id

_LINK, _SUBMODULE = "120000", "160000"


def revised(listing: Listing, checkout: Checkout, wanted: Callable[[str], bool]) -> Listing:
    """Return a listing with the revision of each file that is as committed, and the count of what is not.

    ``wanted``: whether a path is part of the material.

    A folder of which the commit has nothing is no git material: its listing is returned as it is.
    """
    committed = {path: entry for path, entry in tree(checkout).items() if wanted(path)}
    if not committed:
        return listing
    same = {file.path for file in listing.files if _is_committed(listing, file, committed, checkout.algorithm)}
    files = tuple(replace(file, revision=checkout.revision) if file.path in same else file for file in listing.files)
    unread = {path for path, _ in listing.unreadable}
    expected = {path for path, (mode, _) in committed.items() if mode != _SUBMODULE}
    links = {path for path in unread if committed.get(path, ("", ""))[0] == _LINK}
    there = {file.path for file in files} | unread
    dirty = len((expected | there) - same - links)
    return replace(listing, files=files, revision=checkout.revision, dirty=dirty)


def committed(
    listing: Listing, revision: str, unreadable: tuple[tuple[str, str], ...], wanted: Callable[[str], bool]
) -> Listing:
    """Return a listing of files that are all of one commit, with what else is in it and cannot be read."""
    files = tuple(replace(file, revision=revision) for file in listing.files)
    others = (each for each in unreadable if wanted(each[0]))
    return replace(listing, files=files, unreadable=tuple(sorted({*listing.unreadable, *others})), revision=revision)


def _is_committed(listing: Listing, file: File, committed: dict[str, tuple[str, str]], algorithm: str) -> bool:
    mode, oid = committed.get(file.path, (_LINK, ""))
    return file.sha256 is not None and mode != _LINK and blob_id(listing, file, algorithm) == oid


def left_out(path: str, ignore: tuple[str, ...]) -> bool:
    """Tell whether a path, or a folder above it, is ignored."""
    parts = path.split("/")
    above = ("/".join(parts[:depth]) for depth in range(1, len(parts)))
    return is_ignored(path, ignore, folder=False) or any(is_ignored(each, ignore, folder=True) for each in above)

"""What files a material has: path, size, time and SHA-256 of each, and what could not be looked at.

Contents are hashed here and read again when they are frozen; ``read_bytes`` holds the two readings equal.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO

from drysweep_pipeline.errors import MaterialError
from drysweep_pipeline.homes import has_ledgers
from drysweep_pipeline.material.apart import OF_A_HOME
from drysweep_pipeline.material.globs import is_ignored

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PIECE_BYTES = 1 << 20
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


@dataclass(frozen=True, slots=True, order=True)
class File:
    """A file of the material; ``path`` is relative, with forward slashes; no ``sha256`` where it may not be read.

    ``revision`` is the commit that has it just so, where the material lies in a git checkout.
    """

    path: str
    bytes: int
    modified_at: datetime | None
    sha256: str | None
    revision: str | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """All that a material holds: its files by path, and (file, reason) for what cannot be searched.

    ``revision`` is the commit that is checked out, for material in git; ``dirty`` counts what is not as it has it.
    """

    root: Path
    files: tuple[File, ...]
    unreadable: tuple[tuple[str, str], ...]
    revision: str | None = None
    dirty: int = 0

    def dated(self, times: dict[str, datetime]) -> "Listing":
        """Return the listing with modification times from elsewhere; a path without one has none."""
        return replace(self, files=tuple(replace(file, modified_at=times.get(file.path)) for file in self.files))


def list_files(
    root: Path,
    ignore: tuple[str, ...],
    wanted: Callable[[str], bool] | None = None,
    own: frozenset[str] = frozenset(),
) -> Listing:
    """List a folder, sorted by path; links are named but not followed, ``.git``, homes and ignored paths left out.

    ``wanted``: whether a path is meant at all, by default every one. ``own``: the paths that are the home in use.
    """
    files: list[File] = []
    unreadable: list[tuple[str, str]] = []
    for path, reason in walk(root, ignore, own):
        if wanted is not None and not wanted(path):
            continue
        if reason is None:
            reason = _list_one(root, path, files)
        if reason is not None:
            unreadable.append((_shown(path), reason))
    return Listing(root, tuple(sorted(files, key=lambda file: file.path)), tuple(sorted(unreadable)))


def read_bytes(listing: Listing, file: File) -> bytes:
    """Return the content of a listed file. Raises ``MaterialError`` if it is no longer what was listed."""
    try:
        with open(_open(listing.root / file.path), "rb") as stream:
            content = stream.read()
    except OSError as error:
        raise MaterialError(f"cannot be read any more: {error.strerror}", file=listing.root / file.path) from error
    _check_unmoved(listing, file, hashlib.sha256(content).hexdigest())
    return content


def read_into(listing: Listing, file: File, out: IO[bytes]) -> None:
    """Write the content of a listed file to a stream. Raises ``MaterialError`` if it is no longer what was listed."""
    sha256 = hashlib.sha256()
    try:
        with open(_open(listing.root / file.path), "rb") as stream:
            while piece := stream.read(_PIECE_BYTES):
                sha256.update(piece)
                out.write(piece)
    except OSError as error:
        raise MaterialError(f"cannot be read any more: {error.strerror}", file=listing.root / file.path) from error
    _check_unmoved(listing, file, sha256.hexdigest())


def blob_id(listing: Listing, file: File, algorithm: str) -> str:
    """Return the id that git gives a listed file's content. Raises ``MaterialError`` if it is no longer that."""
    oid, sha256 = hashlib.new(algorithm, b"blob %d\0" % file.bytes, usedforsecurity=False), hashlib.sha256()
    try:
        with open(_open(listing.root / file.path), "rb") as stream:
            while piece := stream.read(_PIECE_BYTES):
                oid.update(piece)
                sha256.update(piece)
    except OSError as error:
        raise MaterialError(f"cannot be read any more: {error.strerror}", file=listing.root / file.path) from error
    _check_unmoved(listing, file, sha256.hexdigest())
    return oid.hexdigest()


def _check_unmoved(listing: Listing, file: File, sha256: str) -> None:
    if sha256 != file.sha256:
        raise MaterialError(
            "changed while it was being frozen",
            file=listing.root / file.path,
            help="run again when nothing writes to the material",
        )


def walk(root: Path, ignore: tuple[str, ...], own: frozenset[str] = frozenset()) -> Iterator[tuple[str, str | None]]:
    """Yield (path, why it cannot be read) of everything below a folder, folders themselves excepted."""
    folders = [""]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(root / folder) as found:
                entries = list(found)
        except OSError as error:
            yield folder or ".", f"a folder that cannot be read: {error.strerror}"
            continue
        a_home = any(entry.name == "sweeps" for entry in entries) and has_ledgers(root / folder)
        if a_home and folder:
            continue
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            if path in own or (a_home and entry.name in OF_A_HOME):
                continue
            if entry.name == ".git" or is_ignored(path, ignore, folder=is_folder):
                continue
            if own and entry.is_symlink() and _leads_to(root, path, own):
                continue
            if is_folder:
                folders.append(path)
            else:
                yield path, "a link, not followed" if entry.is_symlink() else None


def _leads_to(root: Path, path: str, own: frozenset[str]) -> bool:
    """Tell whether a link leads to the home in use, which then goes by another name."""
    try:
        return (root / path).resolve() in {(root / each).resolve() for each in own}
    except (OSError, RuntimeError):
        return False


def _list_one(root: Path, path: str, files: list[File]) -> str | None:
    """Add one file to ``files``; return why it cannot be read, or None."""
    if not _is_text(path):
        return "its name is not UTF-8"
    try:
        found = os.lstat(root / path)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if not stat.S_ISREG(found.st_mode):
        return "not a regular file"
    sha256, reason = _hashed(root / path)
    files.append(File(path, found.st_size, _modified_at(found), sha256))
    return reason


def _hashed(path: Path) -> tuple[str | None, str | None]:
    try:
        with open(_open(path), "rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest(), None
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM):
            return None, "no right to read it"
        return None, f"cannot be read: {error.strerror}"


def _open(path: Path) -> int:
    return os.open(path, _FLAGS)


def _modified_at(found: os.stat_result) -> datetime | None:
    try:
        return _EPOCH + timedelta(microseconds=found.st_mtime_ns // 1000)
    except OverflowError:
        return None


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shown(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "backslashreplace")

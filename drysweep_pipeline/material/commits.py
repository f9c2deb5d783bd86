"""Material as a git repository had it at an instant: which commit that is, and its files in a folder of our own.

The line that is followed is the one of first parents from ``HEAD``, and a commit's time is its committer's. Where
clocks went backwards, a commit counts from when all before it do, so that no instant has what is later than it. The
commit of a material is the one that changed it last, so that two instants between which nothing of it changed have one
snapshot. Nothing is checked out, and only content as it was committed is seen.
"""

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from typing import IO

from drysweep_pipeline.errors import MaterialError
from drysweep_pipeline.material.git import printed, printing, said
from drysweep_pipeline.temporary import temporary_folder

_LINK, _SUBMODULE = "120000", "160000"
_PIECE_BYTES = 1 << 20
_CHUNK_BYTES = 1 << 14


@dataclass(frozen=True, slots=True)
class Commit:
    """The commit that changed a path of a repository last; ``at`` is when. ``below`` is empty for all of it."""

    repository: Path
    below: str
    revision: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Tree:
    """A folder with the files of a commit: when each was changed last, and what is not in the folder, and why.

    ``path`` is the folder, or the file where the commit's path is one.
    """

    path: Path
    times: dict[str, datetime]
    unreadable: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class _Entry:
    path: str
    oid: str


def is_repository(folder: Path) -> bool:
    """Tell whether a folder is the top of a git work tree, or a bare repository."""
    if not any((folder / name).exists() for name in (".git", "HEAD")) or shutil.which("git") is None:
        return False
    try:
        asked = ("rev-parse", "--is-bare-repository", "--is-inside-work-tree", "--show-prefix")
        bare, inside, prefix = [*said(folder, *asked).split("\n"), ""][:3]
        if bare == "true":
            return Path(said(folder, "rev-parse", "--absolute-git-dir")).resolve() == folder.resolve()
        return inside == "true" and not prefix
    except MaterialError:
        return False


def commit_at(repository: Path, below: str, as_of: datetime) -> Commit:
    """Return the commit that a path was left by at an instant.

    Raises ``MaterialError`` where there is none so old, or a clock that was ahead hides what there was.
    """
    line = _line(repository)
    counting = [revision for revision, since in _since(line).items() if since <= as_of]
    reached = counting[-1] if counting else None
    _check_clocks(repository, line[: len(line) - len(counting)], as_of)
    if reached is None:
        first = line[-1][1]
        what = f"no commit is of {as_of.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ} or earlier"
        raise MaterialError(what, file=repository, help=f"the first is of {_iso(first)}")
    last = said(repository, *_LAST, reached, "--", below or ".")
    times = dict(line)
    # Where the path was never there, any commit is as good a name, and reading it says what is missing.
    revision = last if last in times else reached
    return Commit(repository, below, revision, times[revision])


def days(repository: Path, below: str) -> list[datetime]:
    """Return the time of the last commit of each day (UTC) on which a path was changed, in order."""
    since = _since(_line(repository))
    changed = printed(repository, "rev-list", "--first-parent", "HEAD", "--", below or ".")
    latest: dict[str, datetime] = {}
    for revision in changed.decode("ascii").splitlines():
        at = since[revision]
        latest[f"{at:%Y-%m-%d}"] = max(at, latest.get(f"{at:%Y-%m-%d}", at))
    return sorted(latest.values())


@contextmanager
def extracted(commit: Commit) -> Iterator[Tree]:
    """Yield the files of a commit in a private folder that is gone afterwards. Raises ``MaterialError``."""
    is_file = _is_file(commit)
    entries, unreadable = ([_the_file(commit)], []) if is_file else _entries(commit)
    with temporary_folder() as place:
        top = place.resolve() / "tree"
        top.mkdir()
        unreadable += _write(commit.repository, entries, top)
        yield Tree(top / entries[0].path if is_file else top, _times(commit, entries), tuple(sorted(unreadable)))


_LAST = ("rev-list", "--first-parent", "--max-count=1")


def _line(repository: Path) -> list[tuple[str, datetime]]:
    """Return the commits on the line of ``HEAD`` with their times, the newest first."""
    try:
        listed = printed(repository, "rev-list", "--first-parent", "--timestamp", "HEAD")
    except MaterialError as error:
        raise MaterialError("holds no commit yet", file=repository, help=error.what) from None
    pairs = (line.split(" ") for line in listed.decode("ascii").splitlines())
    return [(revision, _instant(seconds)) for seconds, revision in pairs]


def _since(line: list[tuple[str, datetime]]) -> dict[str, datetime]:
    """Return from when on each commit of a line counts, the oldest first."""
    counts = accumulate((at for _, at in reversed(line)), max)
    return {revision: since for (revision, _), since in zip(reversed(line), counts, strict=True)}


def _check_clocks(repository: Path, hidden: list[tuple[str, datetime]], as_of: datetime) -> None:
    """Refuse to leave out what is of the past only for a commit of the future before it, for good."""
    ahead = [revision for revision, at in hidden if at > datetime.now(UTC)]
    if ahead and any(at <= as_of for _, at in hidden[: [revision for revision, _ in hidden].index(ahead[-1])]):
        at = dict(hidden)[ahead[-1]]
        what = f"the commit {ahead[-1][:12]} is of {_iso(at)}, which is yet to come, and later ones are not"
        raise MaterialError(what, file=repository, help="a clock was ahead; give a path without {as_of}")


def _named(commit: Commit) -> str:
    return f"{commit.revision}:{commit.below}"


def _is_file(commit: Commit) -> bool:
    """Tell whether a commit's path is a file, and not a folder. Raises ``MaterialError`` where it is neither."""
    try:
        kind = said(commit.repository, "cat-file", "-t", _named(commit))
    except MaterialError:
        kind = "missing"
    if kind not in ("blob", "tree"):
        what = f"has no {commit.below!r} in {commit.revision[:12]} of {_iso(commit.at)}"
        raise MaterialError(what, file=commit.repository, help="it is a path in the repository")
    return kind == "blob"


def _the_file(commit: Commit) -> _Entry:
    return _Entry(Path(commit.below).name, said(commit.repository, "rev-parse", "--verify", _named(commit)))


def _entries(commit: Commit) -> tuple[list[_Entry], list[tuple[str, str]]]:
    """Return the files of a commit below its path, and (path, why not) for what cannot be one."""
    entries, unreadable = [], []
    for listed in printed(commit.repository, "ls-tree", "-r", "-z", "--full-tree", _named(commit)).split(b"\0")[:-1]:
        about, _, path = listed.partition(b"\t")
        mode, _, oid = about.decode("ascii").split(" ")
        why = _why_not(mode, path)
        if why is None:
            entries.append(_Entry(path.decode(), oid))
        else:
            unreadable.append((path.decode("utf-8", "backslashreplace"), why))
    return entries, unreadable


def _why_not(mode: str, path: bytes) -> str | None:
    if mode == _LINK:
        return "a link, not followed"
    if mode == _SUBMODULE:
        return "a submodule, not looked into"
    try:
        parts = path.decode().split("/")
    except UnicodeDecodeError:
        return "its name is not UTF-8"
    return "no name that a file may have" if any(part.lower() in ("", ".", "..", ".git") for part in parts) else None


def _write(repository: Path, entries: list[_Entry], top: Path) -> list[tuple[str, str]]:
    """Write the content of files below a folder; return what is not there to be written."""
    missing = []
    with tempfile.TemporaryFile() as asked:
        asked.write("".join(f"{entry.oid}\n" for entry in entries).encode("ascii"))
        asked.seek(0)
        with printing(repository, "cat-file", "--batch", given=asked) as stream:
            for entry in entries:
                _, *about = stream.readline().decode("ascii", "replace").split()
                if about[:1] != ["blob"]:
                    if about != ["missing"]:
                        raise MaterialError("git cat-file: ended early", file=repository)
                    missing.append((entry.path, "its content is not in this repository"))
                    continue
                _copy(stream, int(about[1]), top, entry.path)
    return missing


def _copy(stream: IO[bytes], size: int, top: Path, path: str) -> None:
    target = top / path
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as out:
            left = size
            while left and (piece := stream.read(min(left, _PIECE_BYTES))):
                out.write(piece)
                left -= len(piece)
    except OSError as error:
        raise MaterialError(f"{path} of a commit cannot be written: {error.strerror}", file=target) from error
    if left or stream.read(1) != b"\n":
        raise MaterialError(f"git cat-file: ended in the middle of {path}")


def _times(commit: Commit, entries: list[_Entry]) -> dict[str, datetime]:
    """Return when each file was last changed on the line, the newest commits asked first and no more than needed."""
    wanted, times = {entry.path for entry in entries}, dict[str, datetime]()
    # Of our own for each question, so that no file can be called like it.
    mark = secrets.token_hex(16)
    asked = (*_CHANGES, f"--format=format:{mark} %ct", commit.revision, "--", commit.below or ".")
    at = commit.at
    with printing(commit.repository, *asked) as stream:
        for said_ in _parts(stream):
            name = said_
            if said_.startswith(f"{mark} "):
                about, _, name = said_.partition("\n")
                at = _instant(about.removeprefix(f"{mark} "))
            path = _below(name, commit.below)
            if path in wanted:
                times.setdefault(path, at)
                if len(times) == len(wanted):
                    break
    return times


_CHANGES = ("log", "--first-parent", "--diff-merges=first-parent", "--no-renames", "--name-only", "-z")


def _below(path: str, folder: str) -> str:
    return path.removeprefix(f"{folder}/") if path != folder else path.rpartition("/")[2]


def _parts(stream: IO[bytes]) -> Iterator[str]:
    """Yield what a stream holds between zero bytes."""
    rest = b""
    while piece := stream.read(_CHUNK_BYTES):
        *whole, rest = (rest + piece).split(b"\0")
        yield from (os.fsdecode(each) for each in whole)
    if rest:
        yield os.fsdecode(rest)


def _instant(seconds: str) -> datetime:
    return datetime.fromtimestamp(int(seconds), UTC)


def _iso(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"

"""The home as files: can it be written, who else may, how much room is left, what lies about, do its databases open."""

import os
import shutil
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from drysweep_pipeline.cli.health.check import Check
from drysweep_pipeline.home import Home

ENOUGH_BYTES = 1 << 30
# Locks and atomic renames are not to be relied on there.
_OVER_A_NETWORK = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "fuse.sshfs", "lustre", "ceph", "glusterfs")
# A file that is being written is whole within minutes.
_LEFT_BEHIND_SECONDS = 3600
_NAMED = 3


def checks(home: Home) -> Iterator[Check]:
    """Yield how the home and its files are; where there is none yet, whether one can be made."""
    root = home.root
    nearest = next(folder for folder in (root, *root.parents) if folder.exists())
    yield _writable(root, nearest)
    free = shutil.disk_usage(nearest).free
    enough = free >= ENOUGH_BYTES
    help = None if enough else f"free at least {ENOUGH_BYTES >> 20} MB"
    yield Check("disk", enough, f"{free >> 20} MB free", help, str(nearest))
    yield _filesystem(nearest)
    if root.is_dir():
        yield from _modes(home)
        yield from _left_behind(root)
        yield from _ledgers(home)
        yield from _history(home)


def closed(home: Home) -> Check | None:
    """Return why nobody can look into a home, of which nothing else can be told then; None where somebody can."""
    try:
        os.scandir(home.root).close()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        help = "let its user run this, or give another --home"
        return Check("home", False, f"{home.root}: {error.strerror}", help, str(home.root))
    return None


def _writable(root: Path, nearest: Path) -> Check:
    if not nearest.is_dir():
        return Check("home", False, f"{nearest} is no folder", "give another --home", str(root))
    # To root nothing is forbidden, but a file system may be read-only.
    writable = os.access(nearest, os.W_OK) and not _is_read_only(nearest)
    return Check("home", writable, str(root), None if writable else f"{nearest} cannot be written", str(root))


def _is_read_only(folder: Path) -> bool:
    return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)


def _filesystem(nearest: Path) -> Check:
    """Return on which file system the home lies: that of the longest mount point above it."""
    path = nearest.resolve()
    mounts = [each for each in psutil.disk_partitions(all=True) if path.is_relative_to(each.mountpoint)]
    kind = max(mounts, key=lambda each: len(each.mountpoint)).fstype if mounts else "unknown"
    local = kind not in _OVER_A_NETWORK
    help = None if local else "keep the home on a disk of this machine: locks do not hold over a network"
    return Check("file system", local, kind, help, str(nearest))


def _modes(home: Home) -> Iterator[Check]:
    root = home.root
    mode = root.stat().st_mode
    private = not mode & 0o022
    others = "nobody but its user" if not mode & 0o077 else "others may read" if private else "others may write"
    help = None if private else f"chmod go-w {root}"
    yield Check("modes", private, f"the home is {stat.S_IMODE(mode):o}: {others}", help, str(root))
    # What is private holds the material as it is, or the key that marks secrets.
    for path in (home.redaction_key, root / "sweeps", home.dagster, *_snapshots(home)):
        if path.exists() and (mode := path.stat().st_mode) & 0o077:
            found = f"{path} is {stat.S_IMODE(mode):o}: it is for its user alone"
            yield Check("private", False, found, f"chmod go= {path}", str(path))


def _snapshots(home: Home) -> list[Path]:
    return [path for name in home.sweeps() for path in (home.sweep(name).snapshots, home.sweep(name).planted)]


def _left_behind(root: Path) -> Iterator[Check]:
    """Yield the files that somebody began to write and did not live to put in their place."""
    before = time.time() - _LEFT_BEHIND_SECONDS
    parts = [path for name in ("sweeps", "history", "reports") for path in (root / name).rglob(".*.part")]
    found = sorted(path for path in parts if path.is_file() and path.stat().st_mtime < before)
    if found:
        named = ", ".join(str(path) for path in found[:_NAMED]) + (" ..." if len(found) > _NAMED else "")
        help = "a process died while it wrote them: remove them"
        yield Check("left behind", False, f"{len(found)} unfinished files: {named}", help, str(found[0]))


def _ledgers(home: Home) -> Iterator[Check]:
    from drysweep_pipeline.errors import DrysweepError
    from drysweep_pipeline.ledger import check_readable, open_ledger

    for name in home.sweeps():
        path = home.sweep(name).ledger
        if not path.exists():
            if any(home.sweep(name).root.glob("landing/*/campaign.json")):
                help = f"drysweep rebuild {name} makes it from what landed"
                yield Check(f"ledger {name}", False, "is not there", help, str(path))
            continue
        try:
            with open_ledger(path, wait_seconds=1) as ledger:
                check_readable(ledger)
                yield Check(f"ledger {name}", True, "opens, and nobody else holds it", file=str(path))
        except OSError as error:
            yield Check(f"ledger {name}", False, f"cannot be held: {error.strerror or error}", None, str(path))
        except DrysweepError as error:
            help = error.help or f"drysweep rebuild {name} makes it from what landed"
            yield Check(f"ledger {name}", False, error.what, help, str(path))


def _history(home: Home) -> Iterator[Check]:
    """Yield whether the published history opens, and has the views of this version."""
    from drysweep_pipeline.errors import DrysweepError
    from drysweep_pipeline.history.edition import has_views_of_this_version
    from drysweep_pipeline.history.reading import as_published

    path = str(home.history)
    again = f"drysweep rebuild {', '.join(home.sweeps()[:1]) or 'SWEEP'} publishes it anew, its own part of it"
    if not home.history.exists():
        if any(home.sweep(name).ledger.exists() for name in home.sweeps()):
            yield Check("history", False, "nothing is published", "the next round that is decided publishes it", path)
        return
    try:
        with as_published(home) as connection:
            # Of a file that is none of ours it is said why it cannot be read.
            connection.execute("select views from published.edition")
            renewed = has_views_of_this_version(connection)
    except DrysweepError as error:
        yield Check("history", False, error.what, error.help or again, path)
        return
    except Exception as error:  # whatever DuckDB says of a file that is none of ours
        yield Check("history", False, f"cannot be read: {error}", "remove it; the next round publishes it anew", path)
        return
    help = None if renewed else "the next round that is decided renews them"
    found = "opens, with the views of this version" if renewed else "has the views of another version of drysweep"
    yield Check("history", renewed, found, help, path)

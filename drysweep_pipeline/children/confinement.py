"""Where a child process may read and write: the walls that the kernel's Landlock puts around it, where it has that.

A set of rules is made here and handed to the child as an open file, with the filter of ``calls``; ``leash`` takes them
on and closes them before the program starts. What a program needs of its installation is ``installation``'s business.
"""

import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from py_landlock import (
    AccessFs,
    LandlockError,
    PathBeneathAttr,
    RulesetAttr,
    RulesetFd,
    add_rule,
    create_ruleset,
    get_abi_version,
)
from py_landlock.abi import MAX_KNOWN_ABI, get_supported_fs, get_supported_scope

from drysweep_pipeline.children.calls import call_filter
from drysweep_pipeline.errors import FinderError, Refused
from drysweep_pipeline.homes import homes_at, parts_of
from drysweep_pipeline.temporary import PREFIX
from drysweep_pipeline.values import Isolation

VARIABLE = "DRYSWEEP_ISOLATION"
"""The variable that chooses: ``auto`` (what there is) or ``none``."""
_HINT = "it is confined, see docs/isolation.md: `reads` declares what else it needs to read"
_REFUSED = (
    *("ermission denied", "EACCES", "EPERM", "not permitted", "ModuleNotFoundError", "Cannot find module"),
    *("Function not implemented", "ENOSYS", "Operation not supported", "ENOTSUP", "EOPNOTSUPP"),
)
# Programs, libraries, certificates, and where names of hosts are looked up; never /home, /root, /tmp, /var or /srv.
SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store", "/gnu/store"),
    *("/proc", "/sys", "/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager", "/var/lib/ca-certificates"),
)
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
SYSTEM_PLACES = (Path("/opt"),)
"""What of the system may hold a home of drysweep."""
_DEPTH_IN_THE_SYSTEM = 2
_IN_CHILDREN = ("command", "python")
_OTHERS = {
    "sql": Isolation.LOCKED_SQL,
    "http": Isolation.REMOTE,
    "llm": Isolation.REMOTE,
    "scripted": Isolation.SCRIPTED,
}
_READ = AccessFs.READ_FILE | AccessFs.READ_DIR
_RUN = _READ | AccessFs.EXECUTE
_DEVICE = AccessFs.READ_FILE | AccessFs.WRITE_FILE | AccessFs.TRUNCATE | AccessFs.IOCTL_DEV
# All but making devices, through which root would reach the disk.
_WRITE = ~(AccessFs.MAKE_CHAR | AccessFs.MAKE_BLOCK)
# Rights that a rule about anything but a folder may give.
_OF_FILES = AccessFs.EXECUTE | AccessFs.WRITE_FILE | AccessFs.READ_FILE | AccessFs.TRUNCATE | AccessFs.IOCTL_DEV


@dataclass(frozen=True, slots=True)
class Confinement:
    """What a child may reach beside the system, with all that lies below each path.

    ``writes`` is where it may write, ``given`` what was made for it to read. ``reads`` may be read but for what
    lies under ``kept_out``, and for the scratch folders of others.
    """

    writes: tuple[Path, ...]
    given: tuple[Path, ...] = ()
    reads: tuple[Path, ...] = ()
    kept_out: tuple[Path, ...] = ()


def isolation_of(kind: str) -> str:
    """Return what keeps a strategy of a kind from all but what it is handed; ``landlock`` with its version.

    Raises ``Refused`` where the variable that chooses says what there is not.
    """
    if kind in _IN_CHILDREN:
        return _landlock() if is_confining() else Isolation.NONE.value
    return _OTHERS.get(kind, Isolation.NONE).value


def _landlock() -> str:
    return f"{Isolation.LANDLOCK} {_abi()}{'' if call_filter() else ', calls open'}"


def is_confining() -> bool:
    """Tell whether children are confined here. Raises ``Refused`` as ``isolation_of`` does."""
    return _wanted() and _abi() is not None


def hint(complaint: str) -> str | None:
    """Return that confinement may be why a child failed, where it complains as who may not read a file does."""
    return _HINT if is_confining() and any(word in complaint for word in _REFUSED) else None


def was_refused(isolation: str | None, complaint: str) -> bool:
    """Tell whether a run under some isolation complains as who may not read a file does."""
    return (isolation or "").startswith(Isolation.LANDLOCK) and any(word in complaint for word in _REFUSED)


@cache
def available() -> int | str:
    """Return the version of Landlock's interface that is in force here, or why there is none."""
    try:
        return min(get_abi_version(), MAX_KNOWN_ABI)  # a newer kernel is asked for what we know
    except LandlockError as error:
        return str(error)


def places_of(home: Path) -> tuple[Path, ...]:
    """Return what is kept from every child: the home, what links in it lead to, and Dagster's own home."""
    dagster = os.environ.get("DAGSTER_HOME")
    return tuple({*parts_of(home), *([Path(dagster).resolve()] if dagster else [])})


def other_homes(path: Path) -> tuple[Path, ...]:
    """Return the homes that a path to be read lies in or holds, whoever's they are, with what links in them lead to.

    None where it is a part of the system, which may be read anyway; of that, ``/opt`` alone is looked through.
    """
    if path in SYSTEM_PLACES:
        homes = homes_at(path, _DEPTH_IN_THE_SYSTEM)
    elif any(path.is_relative_to(part) for part in SYSTEM):
        return ()
    else:
        homes = homes_at(path)
    return tuple(part for home in homes for part in parts_of(home))


def leads_into(path: Path, kept_out: Iterable[Path]) -> bool:
    """Tell whether a path is, or lies under, what is kept from children."""
    return any(path.resolve().is_relative_to(kept) for kept in kept_out)


def holds(path: Path, kept_out: Iterable[Path]) -> bool:
    """Tell whether what is kept from children lies under a path."""
    return any(kept.is_relative_to(path.resolve()) for kept in kept_out)


@contextmanager
def walls(confinement: Confinement | None) -> Iterator[tuple[int, int]]:
    """Yield what a child is to take on: an open set of rules, and an open file with a filter of calls; -1 for none.

    Raises ``FinderError`` where the kernel has Landlock and does not take the rules.
    """
    if confinement is None or not is_confining():
        yield (-1, -1)
        return
    with ExitStack() as opened:
        try:
            rules = _made(confinement)
            opened.callback(os.close, rules)
            calls = _filter()
            if calls >= 0:
                opened.callback(os.close, calls)
        except (LandlockError, OSError) as error:
            raise FinderError(f"cannot be confined: {error}", help=f"{VARIABLE}=none runs it without") from None
        yield rules, calls


def _filter() -> int:
    steps = call_filter()
    if not steps:
        return -1
    handle = os.memfd_create("calls", os.MFD_CLOEXEC)
    os.write(handle, steps)
    return handle


def around(path: Path, kept_out: Iterable[Path]) -> Iterator[Path]:
    """Yield the largest parts of a path that nothing kept out is in, nor anybody's scratch; links in it are left out.

    Landlock only allows, and what it allows it allows with all that lies below.
    """
    yield from _around(path.resolve(), frozenset(kept_out), Path(tempfile.gettempdir()).resolve())


def _around(path: Path, kept: frozenset[Path], temporary: Path) -> Iterator[Path]:
    is_scratch = path.parent == temporary and path.name.startswith(PREFIX)
    if is_scratch or any(path.is_relative_to(each) for each in kept):
        return
    if not any(each.is_relative_to(path) for each in (*kept, temporary)):
        yield path
        return
    try:
        with os.scandir(path) as listed:
            entries = [Path(entry.path) for entry in listed if not entry.is_symlink()]
    except OSError:  # who cannot be looked into is no way for a child either
        return
    for entry in entries:
        yield from _around(entry, kept, temporary)


def _made(confinement: Confinement) -> RulesetFd:
    abi = get_abi_version()
    rules = RulesetAttr()
    rules.handled_access_fs = get_supported_fs(abi)
    rules.scoped = get_supported_scope(abi)
    handle = create_ruleset(rules)
    try:
        for rights, paths in _rights(confinement):
            for path in dict.fromkeys(paths):
                _allow(handle, path, rights & get_supported_fs(abi))
    except BaseException:
        os.close(handle)
        raise
    return handle


def _rights(confinement: Confinement) -> Iterator[tuple[AccessFs, Iterable[Path]]]:
    read = (*map(Path, SYSTEM), *confinement.reads)
    yield _DEVICE, map(Path, DEVICES)
    yield _RUN, (part for path in dict.fromkeys(read) for part in around(path, confinement.kept_out))
    yield _READ, (path.resolve() for path in confinement.given)
    yield _WRITE, (path.resolve() for path in confinement.writes)


def _allow(handle: RulesetFd, path: Path, rights: AccessFs) -> None:
    """Add a rule about a path with all that lies below it; what is not there needs none."""
    try:
        beneath = os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        rule = PathBeneathAttr()
        rule.allowed_access = rights if stat.S_ISDIR(os.fstat(beneath).st_mode) else rights & _OF_FILES
        rule.parent_fd = beneath
        add_rule(handle, rule)
    finally:
        os.close(beneath)


def _abi() -> int | None:
    offered = available()
    return offered if isinstance(offered, int) else None


def _wanted() -> bool:
    said = os.environ.get(VARIABLE) or "auto"
    if said not in ("auto", "none"):
        raise Refused(f"{VARIABLE} is {said!r}", help="it is auto, which is the default, or none")
    return said == "auto"

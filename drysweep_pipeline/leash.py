"""Run as a script in front of a child's program: ties its life to its parent's, confines itself, becomes that program.

Not imported by anything: ``child`` starts it by its path. In a process of its own, because code between fork and exec
in a process that has threads may wait forever for a lock that no thread is left to release.
"""

import ctypes
import errno
import os
import resource
import signal
import sys

_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38
_LANDLOCK_RESTRICT_SELF = 446  # the same on every architecture
_FILE_BYTES = 4 << 30
_PR_CAPBSET_DROP = 24
_CAPABILITY_VERSION = 0x20080522
# What root keeps of its powers, by number: to own, open and change files, to signal, to be somebody else, to use ports.
_KEPT = frozenset((0, 1, 3, 4, 5, 6, 7, 10, 13))


def become(parent: int, rules: int, memory_bytes: int, argv: list[str]) -> None:
    """Replace this process by a program that the kernel kills when ``parent`` dies; returns only where it cannot.

    ``rules`` is an open set of Landlock rules, -1 for none; ``memory_bytes`` caps each process, 0 does not.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before it could be tied to
        return
    # Python ignores these for itself, and a program inherits that.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        _limit(memory_bytes)
        if rules >= 0:
            _confine(libc, rules)
        _run(argv)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{argv[0]} cannot be started: {getattr(error, 'strerror', None) or error}\n")


def _run(argv: list[str]) -> None:
    """Become a program, looked for on the PATH where it is no path. Raises ``OSError``, of the best candidate."""
    # Not os.execvp, which imports more of Python when it is called, and that may not be read any more.
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep) if os.sep not in argv[0] else [""]
    reason: OSError = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    for folder in folders:
        try:
            os.execv(os.path.join(folder, argv[0]), argv)  # noqa: S606, PTH118 - no shell is the point
        except (FileNotFoundError, NotADirectoryError):
            continue
        except PermissionError as error:
            reason = error
    raise reason


def _limit(memory_bytes: int) -> None:
    os.umask(0o077)
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_FSIZE, _FILE_BYTES)
    if memory_bytes:
        # Data and not address space, of which node and Java reserve far more than they use.
        _lower(resource.RLIMIT_DATA, memory_bytes)


def _lower(what: int, most: int) -> None:
    """Set a limit for good, but never above what is allowed already."""
    hard = resource.getrlimit(what)[1]
    least = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (least, least))


def _confine(libc: ctypes.CDLL, rules: int) -> None:
    """Take on a set of rules for good; whoever cannot be confined is not started."""
    _give_up_powers(libc)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.syscall(_LANDLOCK_RESTRICT_SELF, rules, 0):
        raise OSError(ctypes.get_errno(), f"cannot be confined: {os.strerror(ctypes.get_errno())}")
    os.close(rules)


def _give_up_powers(libc: ctypes.CDLL) -> None:
    """Keep root from what the rules are no wall against: other processes' memory, devices, handles of files."""
    for capability in range(64):
        if capability not in _KEPT:  # fails where there is none such, or nothing to give up
            libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    held = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable, the lower halves first
    if libc.capget(header, held):
        return
    for word in range(6):
        held[word] &= sum(1 << (number % 32) for number in _KEPT if number // 32 == word // 3)
    libc.capset(header, held)


if __name__ == "__main__":
    become(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
    sys.exit(127)

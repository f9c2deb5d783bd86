"""Run as a script in front of a child's program: starts it confined, minds it, and lets nothing of it live on.

Not imported by anything: ``child`` starts it by its path. In a process of its own, because code between fork and exec
in a process that has threads may wait forever for a lock that no thread is left to release. And because what a program
leaves behind falls to the nearest process that wants it: to this one, and not to strangers or to all of drysweep.
"""

import ctypes
import errno
import os
import resource
import signal
import sys
import time
from contextlib import suppress

_PR_SET_PDEATHSIG = 1
_PR_SET_SECCOMP = 22
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_MODE_FILTER = 2
_LANDLOCK_RESTRICT_SELF = 446  # the same on every architecture
_FILE_BYTES = 4 << 30
_FILTER_BYTES = 1 << 15
_PR_CAPBSET_DROP = 24
_CAPABILITY_VERSION = 0x20080522
# What root keeps of its powers, by number: to own, open and change files, to signal, to be somebody else, to use ports.
_KEPT = frozenset((0, 1, 3, 4, 5, 6, 7, 10, 13))
# To be told: that something has ended, to pass on a wish that the program end, and to end all of it now.
_END_ALL = signal.SIGUSR1
_HEARD = (signal.SIGCHLD, signal.SIGTERM, _END_ALL)
# How long what a program started may take to end after it, and how long the killed may take to go.
_LINGER_SECONDS = 0.3
_KILLING_SECONDS = 5.0
# And how often is looked for more to kill at least: a machine that stands still meanwhile is no reason to leave any.
_KILLING_LOOKS = 250


def mind(parent: int, rules: int, calls: int, memory_bytes: int, argv: list[str]) -> int:
    """Run a program to its end and end all that it started; return how it ended, as ``waitpid`` has it.

    All ends as well when ``parent`` does. ``rules`` is an open set of Landlock rules and ``calls`` an open file with
    the filter of calls, -1 for none; ``memory_bytes`` caps each process, 0 does not. Raises ``OSError``.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, _HEARD)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    libc.prctl(_PR_SET_PDEATHSIG, _END_ALL)
    if os.getppid() != parent:  # it died before it could be tied to
        return signal.SIGKILL
    own = os.getpid()
    program = os.fork()
    if not program:
        _become(libc, own, mask, (rules, calls), memory_bytes, argv)
    # Or else nobody would see the program close them.
    for handle in (0, 1, 2, rules, calls):
        if handle >= 0:
            os.close(handle)
    if _ends(program):
        _let_rest_end(program)
    return _end_all(program)


def _ends(program: int) -> bool:
    """Wait until a program has ended, which is not reaped, or until all is to end; tell whether it was the first."""
    while True:
        heard = signal.sigwait(_HEARD)
        if heard == _END_ALL:
            return False
        if heard == signal.SIGTERM:
            _tell(program, signal.SIGTERM)
        elif _has_ended(program):
            return True


def _has_ended(program: int) -> bool:
    """Reap what has ended of all that fell to us, but the program, and tell whether that is next."""
    while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
        if ended.si_pid == program:
            return True
        os.waitpid(ended.si_pid, 0)
    return False


def _let_rest_end(program: int) -> None:
    """Give what a program started some time to end by itself, such as the last part of a pipeline."""
    until = time.monotonic() + _LINGER_SECONDS
    while (rest := _others(program)) and (left := until - time.monotonic()) > 0:
        _reap(rest)
        told = signal.sigtimedwait(_HEARD, left) if _others(program) else None
        if told is not None and told.si_signo != signal.SIGCHLD:
            return


def _end_all(program: int) -> int:
    """Kill the program with its group, and then whatever falls to us, until there is no more; return how it ended."""
    # While the program is not reaped, its group's id can be nobody else's.
    _tell(program, signal.SIGKILL)
    until, looks = time.monotonic() + _KILLING_SECONDS, 0
    while looks < _KILLING_LOOKS or time.monotonic() < until:
        looks += 1
        # In this order: what a process leaves falls to us before it counts as ended.
        ended = os.waitid(os.P_PID, program, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        others = _others(program)
        if ended and not others:
            break
        for process in others:
            with suppress(OSError):
                os.kill(process, signal.SIGKILL)
        if not _reap(others):
            signal.sigtimedwait((signal.SIGCHLD,), 0.02)
    return os.waitpid(program, 0)[1]


def _others(program: int) -> list[int]:
    """Return our children but the program, also those that have ended and are not reaped yet."""
    return [each for each in _children() if each != program]


def _reap(processes: list[int]) -> bool:
    """Reap those of our children that have ended; tell whether there were any."""
    reaped = [each for each in processes if os.waitpid(each, os.WNOHANG)[0]]
    return bool(reaped)


def _children() -> list[int]:
    own = os.getpid()
    try:
        with open(f"/proc/{own}/task/{own}/children", encoding="ascii") as listed:  # noqa: PTH123 - imports less
            return [int(word) for word in listed.read().split()]
    except FileNotFoundError:  # a kernel without such lists
        return [each for each in map(int, filter(str.isdigit, os.listdir("/proc"))) if _parent_of(each) == own]  # noqa: PTH208 - imports less


def _parent_of(process: int) -> int:
    """Return the parent of a process, -1 where there is no such process any more."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:  # noqa: PTH123 - imports less
            return int(file.read().rpartition(b")")[2].split()[1])
    except OSError:
        return -1


def _tell(program: int, number: int) -> None:
    """Signal a program with its group, or alone where it has none yet."""
    with suppress(PermissionError):
        try:
            os.killpg(program, number)
        except ProcessLookupError:
            os.kill(program, number)


def _end_like(status: int) -> None:
    """End this process as a program ended."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        with suppress(OSError, ValueError):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HEARD)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _become(
    libc: ctypes.CDLL, leash: int, mask: set[int], walls: tuple[int, int], memory_bytes: int, argv: list[str]
) -> None:
    """Replace this process, which ``leash`` has forked, by the program; where that fails, say why and end."""
    try:
        os.setsid()
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != leash:
            os._exit(127)
        # Python ignores these for itself, and a program inherits that.
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        _limit(memory_bytes)
        if walls[0] >= 0:
            _confine(libc, *walls)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        _run(argv)
    except (OSError, ValueError) as error:
        _cannot(argv, error)
    finally:
        os._exit(127)


def _cannot(argv: list[str], error: OSError | ValueError) -> None:
    sys.stderr.write(f"{argv[0]} cannot be started: {getattr(error, 'strerror', None) or error}\n")
    sys.stderr.flush()


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
    _lower(resource.RLIMIT_FSIZE, _FILE_BYTES)
    if memory_bytes:
        # Data and not address space, of which node and Java reserve far more than they use.
        _lower(resource.RLIMIT_DATA, memory_bytes)


def _lower(what: int, most: int) -> None:
    """Set a limit for good, but never above what is allowed already."""
    hard = resource.getrlimit(what)[1]
    least = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (least, least))


def _confine(libc: ctypes.CDLL, rules: int, calls: int) -> None:
    """Take on a set of rules and a filter of calls for good; whoever cannot be confined is not started."""
    _give_up_powers(libc)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.syscall(_LANDLOCK_RESTRICT_SELF, rules, 0):
        raise OSError(ctypes.get_errno(), f"cannot be confined: {os.strerror(ctypes.get_errno())}")
    os.close(rules)
    if calls >= 0:
        _refuse_calls(libc, os.pread(calls, _FILTER_BYTES, 0))
        os.close(calls)


def _refuse_calls(libc: ctypes.CDLL, steps: bytes) -> None:
    held = ctypes.create_string_buffer(steps, len(steps))
    # How many steps, in the lowest two of eight bytes, and where they are.
    program = (ctypes.c_uint64 * 2)(len(steps) // 8, ctypes.addressof(held))
    if libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, program, 0, 0):
        raise OSError(ctypes.get_errno(), f"cannot be refused calls: {os.strerror(ctypes.get_errno())}")


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


def main() -> None:
    """Do what the command line says."""
    parent, rules, calls, memory_bytes = map(int, sys.argv[1:5])
    argv = sys.argv[5:]
    try:
        # For itself too: it ends as the program did.
        _lower(resource.RLIMIT_CORE, 0)
        status = mind(parent, rules, calls, memory_bytes, argv)
    except OSError as error:
        _cannot(argv, error)
        os._exit(127)
    _end_like(status)


if __name__ == "__main__":
    main()

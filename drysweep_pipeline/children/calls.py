"""Which system calls a confined child is refused: what the rules about files are no wall against, and outlives it.

A filter for the kernel's seccomp, made here as bytes and handed to ``leash``, which takes it on. Files are Landlock's
business; memory, queues and keys of the whole machine, marks on files, and other processes' limits are this one's.
"""

import errno
import platform
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

# As a kernel would that was built without.
_NOT_THERE = (
    *("shmget", "shmat", "shmctl", "semget", "semop", "semctl", "semtimedop"),
    *("msgget", "msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink", "add_key", "request_key", "keyctl"),
    # Through a ring, calls are made that no filter sees.
    *("io_uring_setup", "io_uring_enter", "io_uring_register"),
)
# As a file system would that has none such.
_NOT_OF_FILES = (
    *("setxattr", "lsetxattr", "fsetxattr", "setxattrat", "removexattr", "lremovexattr", "fremovexattr"),
    *("removexattrat", "file_setattr"),
)
_NOT_ALLOWED = (
    *("chown", "fchown", "lchown", "fchownat", "ptrace", "process_vm_readv", "process_vm_writev"),
    *("process_madvise", "pidfd_getfd", "kcmp"),
)
# What is set for one process, which the first argument names, 0 for who asks.
_FOR_A_PROCESS = (
    *("prlimit64", "sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"),
    *("migrate_pages", "move_pages"),
)
# What the arguments have to be, by their number, so that it is for who asks.
_FOR_ITSELF: Mapping[str, Mapping[int, int]] = {
    **{name: {0: 0} for name in _FOR_A_PROCESS},
    "setpriority": {0: 0, 1: 0},
    "ioprio_set": {0: 1, 1: 0},
}
# Requests of ioctl that mark a file: its flags, in two widths, its version, its project.
_MARKS = (0x40086602, 0x40046602, 0x40087602, 0x401C5820)
# Numbers that all architectures share.
_SHARED = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "pidfd_getfd": 438,
    "process_madvise": 440,
    "setxattrat": 463,
    "removexattrat": 466,
    "file_setattr": 469,
}
_X86_64 = {
    "ioctl": 16,
    "shmget": 29,
    "shmat": 30,
    "shmctl": 31,
    "semget": 64,
    "semop": 65,
    "semctl": 66,
    "msgget": 68,
    "msgsnd": 69,
    "msgrcv": 70,
    "msgctl": 71,
    "chown": 92,
    "fchown": 93,
    "lchown": 94,
    "ptrace": 101,
    "setpriority": 141,
    "sched_setparam": 142,
    "sched_setscheduler": 144,
    "setxattr": 188,
    "lsetxattr": 189,
    "fsetxattr": 190,
    "removexattr": 197,
    "lremovexattr": 198,
    "fremovexattr": 199,
    "sched_setaffinity": 203,
    "semtimedop": 220,
    "mq_open": 240,
    "mq_unlink": 241,
    "add_key": 248,
    "request_key": 249,
    "keyctl": 250,
    "ioprio_set": 251,
    "migrate_pages": 256,
    "fchownat": 260,
    "move_pages": 279,
    "prlimit64": 302,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "kcmp": 312,
    "sched_setattr": 314,
}
_AARCH64 = {
    "setxattr": 5,
    "lsetxattr": 6,
    "fsetxattr": 7,
    "removexattr": 14,
    "lremovexattr": 15,
    "fremovexattr": 16,
    "ioctl": 29,
    "ioprio_set": 30,
    "fchownat": 54,
    "fchown": 55,
    "ptrace": 117,
    "sched_setparam": 118,
    "sched_setscheduler": 119,
    "sched_setaffinity": 122,
    "setpriority": 140,
    "mq_open": 180,
    "mq_unlink": 181,
    "msgget": 186,
    "msgctl": 187,
    "msgrcv": 188,
    "msgsnd": 189,
    "semget": 190,
    "semctl": 191,
    "semtimedop": 192,
    "semop": 193,
    "shmget": 194,
    "shmctl": 195,
    "shmat": 196,
    "add_key": 217,
    "request_key": 218,
    "keyctl": 219,
    "migrate_pages": 238,
    "move_pages": 239,
    "prlimit64": 261,
    "process_vm_readv": 270,
    "process_vm_writev": 271,
    "kcmp": 272,
    "sched_setattr": 274,
}
_OFFERED = Path("/proc/sys/kernel/seccomp/actions_avail")
_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000
_KILL = 0x80000000
# Where the kernel puts what a call is: its number, the architecture, and six arguments of eight bytes, low half first.
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_LOAD, _RETURN, _IF_EQUAL, _IF_AT_LEAST = 0x20, 0x06, 0x15, 0x35
_OF_X32 = 0x40000000


@dataclass(frozen=True, slots=True)
class Machine:
    """An architecture: its number in the kernel, and the numbers of its calls by name."""

    number: int
    calls: Mapping[str, int]


MACHINES = {
    "x86_64": Machine(0xC000003E, {**_SHARED, **_X86_64}),
    "aarch64": Machine(0xC00000B7, {**_SHARED, **_AARCH64}),
}


@cache
def call_filter() -> bytes:
    """Return the filter for this machine, eight bytes a step; empty where there is none for it."""
    machine = MACHINES.get(platform.machine())
    if machine is None or sys.maxsize < 1 << 32 or not _OFFERED.exists():
        return b""
    return filter_for(machine)


def filter_for(machine: Machine) -> bytes:
    """Return the filter for an architecture; who calls the kernel as another one would (32 bits) is killed."""
    return b"".join(_steps(machine))


def _steps(machine: Machine) -> Iterator[bytes]:
    yield _step(_LOAD, _ARCHITECTURE)
    yield _step(_IF_EQUAL, machine.number, then=1)
    yield _step(_RETURN, _KILL)
    yield _step(_LOAD, _NUMBER)
    if machine is MACHINES["x86_64"]:  # the same calls by other numbers
        yield from (_step(_IF_AT_LEAST, _OF_X32, other=1), _refuse(errno.ENOSYS))
    for names, why in ((_NOT_THERE, errno.ENOSYS), (_NOT_OF_FILES, errno.EOPNOTSUPP), (_NOT_ALLOWED, errno.EPERM)):
        for number in _numbers(machine, names):
            yield from (_step(_IF_EQUAL, number, other=1), _refuse(why))
    for name, wanted in _FOR_ITSELF.items():
        yield from _if_called(machine.calls[name], list(_unless(wanted)))
    yield from _if_called(machine.calls["ioctl"], list(_where(1, _MARKS)))
    yield _step(_RETURN, _ALLOW)


def _numbers(machine: Machine, names: Iterable[str]) -> list[int]:
    """Return the numbers of calls; an architecture lacks some that another still has."""
    return [machine.calls[name] for name in names if name in machine.calls]


def _if_called(number: int, steps: list[bytes]) -> Iterator[bytes]:
    """Yield steps that are taken for one call only, and end with an answer."""
    yield _step(_IF_EQUAL, number, other=len(steps))
    yield from steps


def _unless(wanted: Mapping[int, int]) -> Iterator[bytes]:
    for argument, value in wanted.items():
        yield _step(_LOAD, _ARGUMENTS + 8 * argument)
        yield from (_step(_IF_EQUAL, value, then=1), _refuse(errno.EPERM))
    yield _step(_RETURN, _ALLOW)


def _where(argument: int, values: Iterable[int]) -> Iterator[bytes]:
    yield _step(_LOAD, _ARGUMENTS + 8 * argument)
    for value in values:
        yield from (_step(_IF_EQUAL, value, other=1), _refuse(errno.EOPNOTSUPP))
    yield _step(_RETURN, _ALLOW)


def _refuse(why: int) -> bytes:
    return _step(_RETURN, _REFUSE | why)


def _step(does: int, value: int, *, then: int = 0, other: int = 0) -> bytes:
    """Return one step: what it does, how many to leap over if it holds and if not, and its value."""
    return struct.pack("=HBBI", does, then, other, value)

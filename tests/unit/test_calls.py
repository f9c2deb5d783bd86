"""The calls that a confined child is refused: tried by real children, and read from the filter of each architecture."""

import errno
import json
import os
import platform
import struct
import sys
from pathlib import Path

import pytest

from drysweep_pipeline.children import confinement, installation
from drysweep_pipeline.children.calls import MACHINES, Machine, call_filter, filter_for
from drysweep_pipeline.children.child import Child, lines
from drysweep_pipeline.children.confinement import Confinement, available, isolation_of
from drysweep_pipeline.children.program import Program, environment
from drysweep_pipeline.errors import FinderError

needs_filter = pytest.mark.skipif(
    isinstance(available(), str) or not call_filter(), reason="no Landlock, or no filter of calls for this machine"
)
on_x86_64 = pytest.mark.skipif(platform.machine() != "x86_64", reason="another way into the kernel")
TRY = """
import ctypes, errno, json, os, resource, sys
libc = ctypes.CDLL(None, use_errno=True)
def done(act):
    try:
        result = act()
    except OSError as error:
        return errno.errorcode[error.errno]
    return errno.errorcode[ctypes.get_errno()] if result == -1 else "done"
def call(name, *given):
    function = getattr(libc, name)
    return done(lambda: function(*given))
print(json.dumps({what}))
"""


def confined(scratch: Path, code: str, *words: str) -> Program:
    walls = Confinement((scratch,), (), installation.interpreter_places())
    return Program((sys.executable, "-c", code, *words), scratch, environment(scratch, (), {}), confinement=walls)


def told(scratch: Path, what: str, *words: str) -> dict[str, str]:
    """Return how each of some calls of a confined child ended."""
    with Child(confined(scratch, TRY.replace("{what}", what), *words)) as child:
        [line] = lines(child, b"", 60)
    found: dict[str, str] = json.loads(line)
    return found


@needs_filter
def test_a_child_leaves_nothing_where_another_strategy_or_a_later_round_would_find_it(tmp_path: Path) -> None:
    (tmp_path / "own").touch()
    own = str(tmp_path / "own")
    found = told(
        tmp_path,
        """{
    "shared memory": call("shmget", 0x7777, 4096, 0o1600), "known shared memory": call("shmat", 0, None, 0),
    "queue": call("msgget", 0x7777, 0o1600), "semaphore": call("semget", 0x7777, 1, 0o1600),
    "named queue": call("syscall", int(sys.argv[2]), b"drysweep", os.O_CREAT | os.O_RDWR, 0o600, None),
    "key": call("syscall", int(sys.argv[3]), b"user", b"drysweep", b"x", 1, -4),
    "ring": call("syscall", 425, 4, ctypes.create_string_buffer(256)),
    "mark": done(lambda: os.setxattr(sys.argv[1], "user.found", b"x")),
    "unmark": done(lambda: os.removexattr(sys.argv[1], "user.found")),
    "flags": done(lambda: __import__("fcntl").ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x40086602, b"\\0" * 8)),
    "owner": done(lambda: os.chown(sys.argv[1], os.getuid(), os.getgid())),
}""",
        own,
        *(str(MACHINES[platform.machine()].calls[name]) for name in ("mq_open", "add_key")),
    )
    refused = {"mark": "ENOTSUP", "unmark": "ENOTSUP", "flags": "ENOTSUP", "owner": "EPERM"}
    assert found == {**dict.fromkeys(found, "ENOSYS"), **refused}


@needs_filter
def test_a_child_sets_limits_and_priorities_for_itself_alone(tmp_path: Path) -> None:
    before = (os.getpriority(os.PRIO_PROCESS, 0), os.sched_getaffinity(0))
    found = told(
        tmp_path,
        """{
    "limit": done(lambda: resource.prlimit(int(sys.argv[1]), resource.RLIMIT_NOFILE)),
    "priority": done(lambda: os.setpriority(os.PRIO_PROCESS, int(sys.argv[1]), 19)),
    "of a group": done(lambda: os.setpriority(os.PRIO_PGRP, 0, 19)),
    "processors": done(lambda: os.sched_setaffinity(int(sys.argv[1]), {0})),
    "memory": call("process_vm_readv", int(sys.argv[1]), None, 0, None, 0, 0),
    "trace": call("ptrace", 0, 0, None, None),
    "own limit": done(lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))),
    "own priority": done(lambda: os.setpriority(os.PRIO_PROCESS, 0, 19)),
    "own processors": done(lambda: os.sched_setaffinity(0, os.sched_getaffinity(0))),
}""",
        str(os.getpid()),
    )
    own = {name for name in found if name.startswith("own ")}
    assert {found.pop(name) for name in own} == {"done"}
    assert set(found.values()) == {"EPERM"}, found
    assert (os.getpriority(os.PRIO_PROCESS, 0), os.sched_getaffinity(0)) == before


@needs_filter
def test_what_a_child_starts_is_refused_the_same(tmp_path: Path) -> None:
    code = "import os, subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]], check=True)"
    inner = TRY.replace("{what}", '{"shared": call("shmget", 0x7777, 4096, 0o1600)}')
    with Child(confined(tmp_path, code, inner)) as child:
        assert list(lines(child, b"", 60)) == [b'{"shared": "ENOSYS"}']


@needs_filter
def test_who_fails_at_a_refused_call_is_told_that_it_is_confined(tmp_path: Path) -> None:
    code = "import os, sys; os.setxattr(sys.argv[1], 'user.x', b'x')"
    asked = confined(tmp_path, code, str(tmp_path))
    with pytest.raises(FinderError, match="not supported") as raised, Child(asked) as child:
        list(lines(child, b"", 60))
    assert "it is confined" in str(raised.value.help)


@needs_filter
@on_x86_64
def test_the_calls_of_other_architectures_are_no_way_around(tmp_path: Path) -> None:
    assert told(tmp_path, '{"x32": call("syscall", 0x40000000 | 29, 0x7777, 4096, 0o1600)}') == {"x32": "ENOSYS"}
    # mov eax, 20 (getpid, of 32 bits); int 0x80; ret
    code = """
import ctypes, mmap
memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
memory.write(bytes.fromhex("b814000000cd80c3"))
print(ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))())
"""
    with pytest.raises(FinderError, match=r"died of SIG(SYS|SEGV)"), Child(confined(tmp_path, code)) as child:
        assert list(lines(child, b"", 60)) == []


@needs_filter
def test_everyday_programs_do_without_what_is_refused(tmp_path: Path) -> None:
    script = """
        set -e
        echo text > a; cp -p a b; cp -a a c; mv c d; install -m 600 a e; touch -d 2020-01-01 a; mkdir f; cp -a a f
        tar cf g.tar f; tar xf g.tar --no-same-owner; nice -n 1 true; (ulimit -n 64)
        command -v taskset > /dev/null && taskset -c 0 true; yes | head -1000 | sort --parallel=2 -S 1M | uniq | wc -l
    """
    walls = Confinement((tmp_path,))
    known = environment(tmp_path, (), {})
    with Child(Program(("sh", "-c", script), tmp_path, known, confinement=walls)) as child:
        assert list(lines(child, b"", 60)) == [b"1"]


def test_the_word_for_isolation_says_where_calls_are_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DRYSWEEP_ISOLATION", raising=False)
    monkeypatch.setattr(confinement, "_abi", lambda: 7)
    monkeypatch.setattr(confinement, "call_filter", lambda: b"")
    assert isolation_of("command") == "landlock 7, calls open"
    monkeypatch.setattr(confinement, "call_filter", lambda: b"some")
    assert isolation_of("command") == "landlock 7"


@pytest.mark.parametrize("name", MACHINES)
def test_the_filter_of_each_architecture_answers_by_number_and_arguments(name: str) -> None:
    machine = MACHINES[name]
    allowed, denied = 0x7FFF0000, 0x00050000 | errno.EPERM

    def answer(call: str, *given: int, number: int = machine.number) -> int:
        return answered(filter_for(machine), number, machine.calls[call], given)

    assert answered(filter_for(machine), machine.number, 9999, ()) == allowed
    assert answer("shmat") == 0x00050000 | errno.ENOSYS
    assert answer("setxattrat") == 0x00050000 | errno.EOPNOTSUPP
    assert answer("fchownat") == denied
    assert [answer("prlimit64", pid) for pid in (0, 1, 4711)] == [allowed, denied, denied]
    assert [answer("setpriority", *given) for given in ((0, 0), (0, 7), (2, 0))] == [allowed, denied, denied]
    assert [answer("ioprio_set", *given) for given in ((1, 0), (1, 7), (3, 0))] == [allowed, denied, denied]
    assert answer("ioctl", 3, 0x5401) == allowed
    assert answer("ioctl", 3, 0x401C5820) == 0x00050000 | errno.EOPNOTSUPP
    for other in (0x40000003, 0x40000028, *(each.number for each in MACHINES.values() if each is not machine)):
        assert answer("shmat", number=other) == 0x80000000
    x32 = answered(filter_for(machine), machine.number, 0x40000001, ())
    assert x32 == (0x00050000 | errno.ENOSYS if name == "x86_64" else allowed)


def answered(steps: bytes, architecture: int, number: int, given: tuple[int, ...]) -> int:
    """Return what the kernel would: run a filter over a call, as far as ours use the language."""
    call = struct.pack("=IIQ6Q", number, architecture, 0, *(*given, *(0,) * (6 - len(given))))
    program = list(struct.iter_unpack("=HBBI", steps))
    at = held = 0
    while True:
        does, then, other, value = program[at]
        if does == 0x06:
            return int(value)
        if does == 0x20:
            [held] = struct.unpack_from("=I", call, value)
            at += 1
        else:
            holds = held == value if does == 0x15 else held >= value
            at += 1 + (then if holds else other)


def test_every_call_that_is_refused_has_its_number_on_each_architecture() -> None:
    # Made of fewer calls there: the newest architecture lacks what others have twice.
    gone = {"chown", "lchown"}
    known: list[Machine] = list(MACHINES.values())
    assert {name for machine in known for name in machine.calls} - gone == set.intersection(
        *({*machine.calls} - gone for machine in known)
    )
    for machine in known:
        assert len(set(machine.calls.values())) == len(machine.calls)

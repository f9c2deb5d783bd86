"""A child process on a leash: a deadline, caps on what it says, and nothing of it left behind.

A child's program leads a session and process group of its own. ``leash`` minds it from a process in between: when the
program has ended, however it did, or we have, all that it started is killed, wherever that went. One thread serves one
child. Linux only. What a child is asked, and what its answer means, is its caller's business.
"""

import os
import select
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Container, Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from drysweep_pipeline.children.confinement import hint, walls
from drysweep_pipeline.children.program import Program
from drysweep_pipeline.errors import FinderError
from drysweep_pipeline.redaction import hidden

GRACE_SECONDS = 2.0
"""How long a child that is told to end has until it is killed."""
LINGER_SECONDS = 0.5
"""How long output is read on after a child has ended, where others hold its pipes open."""
_END_ALL = signal.SIGUSR1  # as ``leash`` understands it
_MINDED_SECONDS = 10.0
_LEASH = Path(__file__).with_name("leash.py")
_CHUNK = 1 << 16
_STDERR_BYTES = 1 << 16
_LINES_SHOWN = 3
_SHOWN = 500


class Child:
    """A running child: send to it, read its lines, and close it, which ends it and all that it started.

    The kernel kills it when the thread that started it ends, so that one serves it to its end. Raises ``FinderError``
    where it cannot be started; the ``status`` of that error is ``failed``, ``timeout`` or ``truncated``.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._process = _started(program)
        self._stdin, self._stdout, self._stderr = _pipes(self._process)
        self._ended = os.pidfd_open(self._process.pid)
        self._lock = threading.Lock()
        self._reaped = False
        self._killed = False
        self._gone_at: float | None = None
        self._pending = b""
        self._last = False
        self._out = bytearray()
        self._looked = 0
        self._read = 0
        self._err = b""
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._stdout, selectors.EVENT_READ, self._read_out)
        self._selector.register(self._stderr, selectors.EVENT_READ, self._read_err)
        self._selector.register(self._ended, selectors.EVENT_READ, self._note_end)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Whoever interrupts does not want to wait.
        self.close(0 if kind is not None and not issubclass(kind, Exception) else GRACE_SECONDS)

    def send(self, data: bytes, *, last: bool = False) -> None:
        """Have the child be given more on its stdin while it is read from; ``last`` closes that afterwards."""
        self._pending += data
        self._last = last
        if self._stdin.closed:
            self._pending = b""
        elif not self._is_watched(self._stdin):
            self._selector.register(self._stdin, selectors.EVENT_WRITE, self._write)

    def line(self, deadline: float, allowed: float) -> bytes | None:
        """Return the next line of its stdout without its end, None where there are no more.

        ``deadline`` is on the monotonic clock, ``allowed`` the seconds that it stands for. Raises ``FinderError`` at
        the deadline and where the output is larger than the caps.
        """
        while True:
            end = self._out.find(b"\n", self._looked)
            if end >= 0:
                return self._taken(end)
            self._looked = len(self._out)
            if self._looked > self._program.max_line_bytes:
                raise _truncated(f"a line of more than {self._program.max_line_bytes} bytes")
            if not self._is_watched(self._stdout):
                return self._taken(self._looked) if self._out else None
            self._pump(deadline, allowed)

    def finish(self, deadline: float, allowed: float, ok_exit_codes: Container[int] = (0,)) -> None:
        """Wait until it has ended. Raises ``FinderError`` where that is not by itself and with a code that is well."""
        while self._gone_at is None:
            self._pump(deadline, allowed)
        code = self._reap()
        if code not in ok_exit_codes:
            raise FinderError(f"{_how(code)}{self.complaint()}", help=self._hint())

    def complaint(self) -> str:
        """Return the last lines of what it wrote on stderr, after a colon; empty where it wrote nothing."""
        return f": {said}" if (said := self.complained()) else ""

    def complained(self) -> str | None:
        """Return the last lines of what it wrote on stderr so far, None where it wrote nothing."""
        # Before lines are left out or cut: half a secret is not known for one.
        text = hidden(self._err.decode("utf-8", "replace"))
        written = [line.strip() for line in text.splitlines() if line.strip()]
        return "; ".join(written[-_LINES_SHOWN:])[-_SHOWN:] or None

    def _hint(self) -> str | None:
        return None if self._program.confinement is None else hint(self._err.decode("utf-8", "replace"))

    def kill(self) -> None:
        """Kill all of it at once; safe from any thread. Whoever reads from the child sees it end."""
        self._killed = True
        self._signal(_END_ALL)

    def close(self, grace_seconds: float = GRACE_SECONDS) -> None:
        """End the child: TERM to its group, and KILL after the grace; what is left of it is killed anyway."""
        if self._ended < 0:
            return
        if grace_seconds and not _is_ready(self._ended, 0):
            self._signal(signal.SIGTERM)
            _is_ready(self._ended, grace_seconds)
        self._reap()
        for pipe in (self._stdin, self._stdout, self._stderr):
            self._forget(pipe)
        self._selector.close()
        os.close(self._ended)
        self._ended = -1

    def leave(self) -> None:
        """Tell the child by the end of its stdin that no more comes, give it some time to end by itself, and close."""
        self.send(b"", last=True)
        until = time.monotonic() + GRACE_SECONDS
        with suppress(FinderError):
            while self._gone_at is None:
                self._pump(until, GRACE_SECONDS)
        self.close()

    def _pump(self, deadline: float, allowed: float) -> None:
        """Do what can be done now, or wait until something can."""
        now = time.monotonic()
        until = deadline if self._gone_at is None else min(deadline, self._gone_at + LINGER_SECONDS)
        if now < until:
            for key, _ in self._selector.select(until - now):
                key.data()
        elif self._gone_at is not None:
            self._read_what_is_left()
        elif _is_ready(self._ended, 0):  # while somebody else was busy
            self._note_end()
        else:
            raise FinderError(f"timeout: still running after {allowed:g} s{self.complaint()}", status="timeout")

    def _read_what_is_left(self) -> None:
        """Read what is in the pipe now, the child being gone: whoever still holds it is not who was asked."""
        self.kill()
        if self._is_watched(self._stdout) and _is_ready(self._stdout.fileno(), 0):
            self._read_out()
        else:
            self._forget(self._stdout)

    def _write(self) -> None:
        try:
            sent = os.write(self._stdin.fileno(), self._pending[:_CHUNK]) if self._pending else 0
            self._pending = self._pending[sent:]
        except BlockingIOError:
            return
        except OSError:  # it reads no more, which is its own affair
            self._pending, self._last = b"", True
        if self._pending:
            return
        if self._last:
            self._forget(self._stdin)
        else:
            self._selector.unregister(self._stdin)

    def _read_out(self) -> None:
        data = _read(self._stdout)
        if data == b"":
            self._forget(self._stdout)
        self._out += data or b""
        self._read += len(data or b"")
        if self._read > self._program.max_bytes:
            raise _truncated(f"more than {self._program.max_bytes} bytes")

    def _read_err(self) -> None:
        data = _read(self._stderr)
        if data == b"":
            self._forget(self._stderr)
        self._err = (self._err + (data or b""))[-_STDERR_BYTES:]

    def _note_end(self) -> None:
        self._selector.unregister(self._ended)
        self._gone_at = time.monotonic()

    def _taken(self, end: int) -> bytes:
        line = bytes(self._out[:end])
        del self._out[: end + 1]
        self._looked = 0
        return line

    def _forget(self, pipe: IO[bytes]) -> None:
        """Close a pipe and watch it no longer."""
        if self._is_watched(pipe):
            self._selector.unregister(pipe)
        pipe.close()

    def _is_watched(self, pipe: IO[bytes]) -> bool:
        return not pipe.closed and pipe.fileno() in self._selector.get_map()

    def _reap(self) -> int:
        """End what is left of the child and return how it ended."""
        self._signal(_END_ALL)
        if not _is_ready(self._ended, _MINDED_SECONDS):  # it was stopped on its way
            self._signal(signal.SIGKILL)
            _is_ready(self._ended, None)
        with self._lock:
            self._reaped = True
            code = self._process.wait()
        # The signal that asks for an end is what a leash dies of that does not hear yet.
        return -signal.SIGKILL if self._killed and code == -_END_ALL else code

    def _signal(self, number: int) -> None:
        # Before the leash is reaped, so that its id can be nobody else's.
        with self._lock, suppress(ProcessLookupError, PermissionError):
            if not self._reaped:
                os.kill(self._process.pid, number)


def lines(child: Child, given: bytes, seconds: float, ok_exit_codes: Container[int] = (0,)) -> Iterator[bytes]:
    """Give a child its input and yield the lines of its stdout until it has ended.

    Raises ``FinderError`` at its deadline, over its caps, and at the end where it did not end by itself and well.
    """
    deadline = time.monotonic() + seconds
    child.send(given, last=True)
    while (line := child.line(deadline, seconds)) is not None:
        yield line
    child.finish(deadline, seconds, ok_exit_codes)


def _started(program: Program) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    with walls(program.confinement) as taken_on:
        try:
            return subprocess.Popen(  # noqa: S603 - a declared argv, and no shell
                _on_a_leash(program, taken_on),
                cwd=program.folder,
                env=dict(program.environment),
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                start_new_session=True,
                bufsize=0,
                pass_fds=[handle for handle in taken_on if handle >= 0],
            )
        except (OSError, ValueError) as error:
            raise FinderError(f"{program.argv[0]} cannot be started: {error}") from None


def _on_a_leash(program: Program, taken_on: tuple[int, int]) -> list[str]:
    told = (os.getpid(), *taken_on, (program.memory_mb or 0) << 20)
    return [sys.executable, "-I", "-S", str(_LEASH), *map(str, told), *program.argv]


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
    """Return stdin, stdout and stderr of a process that was started with pipes; none of them blocks."""
    stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
    assert stdin is not None
    assert stdout is not None
    assert stderr is not None
    for pipe in (stdin, stdout, stderr):
        os.set_blocking(pipe.fileno(), False)
    return stdin, stdout, stderr


def _is_ready(handle: int, seconds: float | None) -> bool:
    """Tell whether something can be read, waiting for it that long; None waits for ever."""
    # A pidfd is ready once its process has ended, which does not reap it: its id stays its own.
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return bool(poll.poll(None if seconds is None else seconds * 1000))


def _read(pipe: IO[bytes]) -> bytes | None:
    """Return what a pipe holds, empty at its end, None where it holds nothing yet."""
    try:
        return os.read(pipe.fileno(), _CHUNK)
    except BlockingIOError:
        return None


def _truncated(what: str) -> FinderError:
    return FinderError(f"truncated: {what}", status="truncated")


def _how(code: int) -> str:
    if code > 0:
        return f"exited with {code}"
    try:
        return f"died of {signal.Signals(-code).name}"
    except ValueError:
        return f"died of signal {-code}"

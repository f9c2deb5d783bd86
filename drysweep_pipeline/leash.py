"""Run as a script in front of a child's program: ties its life to its parent's, then becomes that program.

Not imported by anything: ``child`` starts it by its path. In a process of its own, because code between fork and exec
in a process that has threads may wait forever for a lock that no thread is left to release.
"""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def become(parent: int, argv: list[str]) -> None:
    """Replace this process by a program that the kernel kills when ``parent`` dies; returns only where it cannot."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died before it could be tied to
        return
    # Python ignores these for itself, and a program inherits that.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(argv[0], argv)  # noqa: S606 - no shell is the point
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{argv[0]} cannot be started: {getattr(error, 'strerror', None) or error}\n")


if __name__ == "__main__":
    become(int(sys.argv[1]), sys.argv[2:])
    sys.exit(127)

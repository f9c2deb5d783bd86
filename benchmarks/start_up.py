"""How long a person waits for ``drysweep --help``, against an interpreter that does nothing."""

import subprocess
import sys
from pathlib import Path

from benchmarks.figures import Figure, Spent, clocked, interleaved


def measure(*, times: int = 9) -> list[Figure]:
    """Return what ``drysweep --help`` takes; only a quiet machine keeps the bound in seconds."""
    script = str(Path(sys.executable).with_name("drysweep"))
    ours, bare = interleaved(lambda: _run([script, "--help"]), lambda: _run([sys.executable, "-c", "pass"]), times)
    ratio = Figure("drysweep --help", ours.wall, bare.wall, 12.0, "python -c pass")
    return [ratio, Figure("drysweep --help, by the clock", ours.wall, None, 0.5, "a quiet machine")]


def _run(command: list[str]) -> Spent:
    return clocked(lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL))

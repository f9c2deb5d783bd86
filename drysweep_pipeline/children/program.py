"""What a child process runs: a program without a shell, in a clean environment and a folder of its own, within caps."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from drysweep_pipeline.children.confinement import Confinement
from drysweep_pipeline.temporary import temporary_folder

PASSED_ON = ("PATH", "LANG", "LANGUAGE", "TZ")
"""The variables that every child is given as they are here, beside all that begin with ``LC_``."""


@dataclass(frozen=True, slots=True)
class Program:
    """What a child runs: argv without a shell, the folder it starts in, its whole environment, caps on its output."""

    argv: Sequence[str]
    folder: Path
    environment: Mapping[str, str]
    max_bytes: int = 256 << 20
    max_line_bytes: int = 4 << 20
    confinement: Confinement | None = None
    """What it may reach; None leaves it all that its user may."""
    memory_mb: int | None = None
    """The most memory of each of its processes; None sets no cap."""


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield an empty private folder that is gone afterwards."""
    with temporary_folder() as folder:
        yield folder


def environment(scratch: Path, names: Iterable[str], told: Mapping[str, str]) -> dict[str, str]:
    """Return a child's environment: what every program needs, the variables named, and what it is told.

    ``scratch`` is its home and its place for temporary files. A named variable that is not set here is left out.
    """
    passed = {name: value for name, value in os.environ.items() if name in PASSED_ON or name.startswith("LC_")}
    if not any(name == "LANG" or name.startswith("LC_") for name in passed):
        passed["LANG"] = "C.UTF-8"
    named = {name: os.environ[name] for name in names if name in os.environ}
    return {**passed, "HOME": str(scratch), "TMPDIR": str(scratch), **named, **told}

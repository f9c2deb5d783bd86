"""The processes of this machine that serve this home: who could reach them, and what they could do."""

import contextlib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import psutil

from drysweep_pipeline.cli.health.check import Check
from drysweep_pipeline.home import Home

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_SERVERS = ("dagster-webserver", "dagster_webserver")
_HOST = ("-h", "--host")


def checks(home: Home) -> Iterator[Check]:
    """Yield how Dagster's pages are served where a process serves them for this home."""
    yield Check("exposure", True, "drysweep ui listens on 127.0.0.1, read-only unless --write")
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            words = process.cmdline()
            if any(Path(word).name in _SERVERS for word in words) and _serves(process, home):
                yield _server(process.pid, words)


def _serves(process: psutil.Process, home: Home) -> bool:
    """Tell whether a process has this home's Dagster; whose environment nobody may read is not told of."""
    said = process.environ().get("DAGSTER_HOME")
    return said is not None and Path(said).resolve() == home.dagster.resolve()


def _server(pid: int, words: list[str]) -> Check:
    given = [after for word, after in pairwise(words) if word in _HOST]
    given += [word.partition("=")[2] for word in words if word.startswith("--host=")]
    host = given[-1] if given else _LOOPBACK[0]
    access = "read-only" if "--read-only" in words else "may start and stop things"
    alone = host in _LOOPBACK
    help = None if alone else f"end process {pid}; drysweep ui serves this machine only, and a proxy can ask who comes"
    return Check(f"webserver {pid}", alone, f"listens on {host}, {access}", help)

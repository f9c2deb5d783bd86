"""Real Dagster processes on a home of their own, and how to kill every one of them at once."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import dagster as dg
import psutil

WORKSPACE = """\
load_from:
  - python_file: {relative_path: location.py, location_name: swept}
"""
LOCATION = '''\
"""One declared sweep as a code location of its own."""

import os
from pathlib import Path

import dagster as dg

from drysweep_pipeline.declaration import read_declaration
from drysweep_pipeline.orchestration.definitions import build_definitions
from drysweep_pipeline.orchestration.resources import HomeResource

defs = dg.Definitions.merge(
    build_definitions(read_declaration(Path(__file__).parent / "sweep" / "defs.yaml")),
    dg.Definitions(
        resources={"home": HomeResource(root=os.environ["DRYSWEEP_HOME"])}, executor=dg.in_process_executor
    ),
)
'''


class Daemon:
    """A dagster-daemon with its code server and run workers."""

    def __init__(self, project: Path, home: Path) -> None:
        self.project, self.home = project, home
        self.log = project / "daemon.log"
        self._started: list[subprocess.Popen[bytes]] = []

    @property
    def environment(self) -> dict[str, str]:
        """What its processes are given."""
        return {**os.environ, "DRYSWEEP_HOME": str(self.home), "DAGSTER_HOME": str(self.home / "dagster")}

    def backfill(self, job: str, partitions: list[str]) -> None:
        """Ask for partitions of a job, as a person would at the terminal; the daemon runs them."""
        script = Path(sys.executable).with_name("dagster")
        asked = [
            "job",
            "backfill",
            "-w",
            "workspace.yaml",
            "-j",
            job,
            "--partitions",
            ",".join(partitions),
            "--noprompt",
        ]
        subprocess.run([script, *asked], cwd=self.project, env=self.environment, check=True, capture_output=True)

    def finished(self, job: str, campaign: str) -> int:
        """Return how many runs of a job for a campaign have succeeded."""
        with dg.DagsterInstance.get() as instance:
            done = instance.get_runs(dg.RunsFilter(job_name=job, statuses=[dg.DagsterRunStatus.SUCCESS]))
        return sum(run.tags.get("dagster/partition", "").startswith(f"{campaign}-r") for run in done)

    def start(self) -> None:
        """Start the daemon; it starts the others."""
        command = [sys.executable, "-m", "dagster._daemon", "run", "-w", str(self.project / "workspace.yaml")]
        with self.log.open("ab") as log:
            self._started.append(
                subprocess.Popen(
                    command, cwd=self.project, env=self.environment, stdout=log, stderr=log, start_new_session=True
                )
            )

    def processes(self) -> list[psutil.Process]:
        """Return every process that works on this home."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.pid != os.getpid() and process.environ().get("DRYSWEEP_HOME") == str(self.home):
                    found.append(process)
        return found

    def kill(self) -> int:
        """SIGKILL all of them, as a power cut would, and return how many there were."""
        victims = self.processes()
        for victim in victims:
            with contextlib.suppress(psutil.Error):
                victim.send_signal(signal.SIGKILL)
        psutil.wait_procs(victims, timeout=120)
        for process in self._started:
            process.wait()
        self._started.clear()
        return len(victims)


def wait_for(what: str, happened: Callable[[], bool], *, seconds: float, every: float = 0.2) -> None:
    """Wait until something has happened; fail, saying what did not."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if happened():
            return
        time.sleep(every)
    raise AssertionError(f"not within {seconds:g} s: {what}")

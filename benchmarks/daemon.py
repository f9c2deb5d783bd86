"""How long a campaign waits between two rounds when the real daemon drives it: queue, process start and imports."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from statistics import median

import dagster as dg

from benchmarks.figures import Figure
from benchmarks.rounds import declare
from drysweep_pipeline.engine.starting import start
from drysweep_pipeline.engine.state import read_state
from drysweep_pipeline.home import Home
from drysweep_pipeline.orchestration.instance import prepare
from drysweep_pipeline.orchestration.partitions import SWEEP_TAG

_WAIT_SECONDS = 900.0


def measure(folder: Path, *, rounds: int = 8) -> list[Figure]:
    """Return the median gap between the end of a round and the first step of the next."""
    home, declaration = Home(folder / "home"), declare(folder)
    prepare(home)
    campaign = start(home, declaration, as_of=datetime(2026, 1, 1, tzinfo=UTC), driver="sensor")
    process = _daemon(home, folder)
    try:
        _wait(campaign.state_path, rounds)
        with dg.DagsterInstance.get() as instance:
            gaps = _gaps(instance, declaration.sweep.name)
    finally:
        _stop(process)
    # The first gap holds what the daemon does once.
    return [Figure("from the end of a round to the next one's first step", median(gaps[1:]), None, 10.0, "the daemon")]


def _daemon(home: Home, folder: Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "DRYSWEEP_HOME": str(home.root), "DAGSTER_HOME": str(home.dagster)}
    command = [str(Path(sys.executable).with_name("dagster-daemon")), "run"]
    with (folder / "daemon.log").open("wb") as log:
        return subprocess.Popen(
            [*command, "-m", "drysweep_pipeline.orchestration.location"],
            cwd=folder,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the daemon and what it started: a code server, perhaps a run."""
    process.send_signal(signal.SIGINT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=60)
    # They are in a session of their own, so nothing else is in this group.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _wait(state: Path, rounds: int) -> None:
    deadline = time.monotonic() + _WAIT_SECONDS
    while time.monotonic() < deadline:
        now = read_state(state)
        if now is not None and now.rounds >= rounds:
            return
        time.sleep(0.5)
    raise TimeoutError(f"the daemon ran fewer than {rounds} rounds in {_WAIT_SECONDS:g} s")


def _gaps(instance: dg.DagsterInstance, sweep: str) -> list[float]:
    """Return the seconds between rounds, in the order in which they ran."""
    records = instance.get_run_records(
        filters=dg.RunsFilter(tags={SWEEP_TAG: sweep}, statuses=[dg.DagsterRunStatus.SUCCESS])
    )
    spans = sorted((_first_step(instance, record.dagster_run.run_id), record.end_time or 0.0) for record in records)
    return [after[0] - before[1] for before, after in pairwise(spans)]


def _first_step(instance: dg.DagsterInstance, run: str) -> float:
    return min(entry.timestamp for entry in instance.all_logs(run, of_type=dg.DagsterEventType.STEP_START))

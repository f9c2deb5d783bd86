"""Dagster's own home: the settings drysweep ships, and its first initialisation, which only one process may do."""

import os
from pathlib import Path

import dagster as dg
import filelock
from dagster._core.instance.ref import InstanceRef

from drysweep_pipeline.durable import make_private
from drysweep_pipeline.home import Home

# Dagster's newsletter dialog would cover every page of the UI; telemetry stays on the machine otherwise.
SETTINGS = """\
telemetry: {enabled: false}
nux: {enabled: false}
run_coordinator:
  module: dagster.core.run_coordinator
  class: QueuedRunCoordinator
  config: {dequeue_interval_seconds: 1}
concurrency:
  runs:
    max_concurrent_runs: 4
    tag_concurrency_limits:
      - {key: drysweep/campaign, limit: 1, value: {applyLimitPerUniqueValue: true}}
run_monitoring:
  enabled: true
  start_timeout_seconds: 90
  max_runtime_seconds: 7200
  poll_interval_seconds: 5
"""
SETTINGS_FILE = "dagster.yaml"
_NO_COPY = {
    "compute_logs": {
        "module": "dagster.core.storage.noop_compute_log_manager",
        "class": "NoOpComputeLogManager",
    }
}


def prepare(home: Home) -> Path:
    """Make ``home/dagster`` ready for any number of processes, point ``DAGSTER_HOME`` at it and return it.

    Two processes that initialise a fresh Dagster home at once break it for good, so the first one holds a lock.
    """
    folder = home.dagster
    make_private(folder)
    os.environ["DAGSTER_HOME"] = str(folder)
    os.environ["DAGSTER_DISABLE_TELEMETRY"] = "1"
    with filelock.FileLock(folder / ".prepare.lock", timeout=120):
        settings = folder / SETTINGS_FILE
        if not settings.exists():
            settings.write_text(SETTINGS, encoding="utf-8")
        if not (folder / ".prepared").exists():
            with dg.DagsterInstance.get() as instance:
                instance.get_runs_count()
            (folder / ".prepared").touch()
    return folder


def at_a_terminal(folder: Path) -> dg.DagsterInstance:
    """Return the prepared instance in a folder for runs of this process: what their steps print is not copied.

    Dagster would start four processes a step for the copy, turn this process' own stderr into a file meanwhile, and
    each of those processes would answer an interruption that is typed at the terminal with a traceback there.
    """
    return dg.DagsterInstance.from_ref(InstanceRef.from_dir(str(folder), overrides=_NO_COPY))

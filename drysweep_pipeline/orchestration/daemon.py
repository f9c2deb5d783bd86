"""What Dagster's records tell of who goes on with a campaign: whether a daemon beats, and what its sensor gave up."""

import os
import time
from pathlib import Path

import dagster as dg

from drysweep_pipeline.engine.state import State
from drysweep_pipeline.home import Home
from drysweep_pipeline.orchestration.partitions import MAX_ATTEMPTS, ROUND_TAG, round_tags
from drysweep_pipeline.values import RoundKey

# A daemon beats twice a minute; one that is busy may miss a beat or two.
TOLERANCE_SECONDS = 120.0
_SENSORS = "SENSOR"


def looks_at_sensors(home: Home) -> bool | None:
    """Tell whether a living daemon looks at sensors; None where there is no Dagster home that could tell."""
    folder = _folder(home)
    if not (folder / "dagster.yaml").exists():
        return None
    with dg.DagsterInstance.from_config(str(folder)) as instance:
        beat = instance.get_daemon_heartbeats().get(_SENSORS)
    return beat is not None and time.time() - beat.timestamp < TOLERANCE_SECONDS


def gave_up(home: Home, state: State) -> bool:
    """Tell whether the sensor launches the due round of a campaign no more, since too many runs of it have ended."""
    folder = _folder(home)
    if state.next is None or not (folder / "dagster.yaml").exists():
        return False
    tags = round_tags(state.sweep, str(RoundKey(state.campaign, state.next)))
    with dg.DagsterInstance.from_config(str(folder)) as instance:
        runs = instance.get_runs(dg.RunsFilter(tags={ROUND_TAG: tags[ROUND_TAG]}))
    return len(runs) >= MAX_ATTEMPTS and all(run.is_finished for run in runs)


def _folder(home: Home) -> Path:
    return Path(os.environ.get("DAGSTER_HOME") or home.dagster)

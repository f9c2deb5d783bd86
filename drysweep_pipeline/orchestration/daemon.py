"""Whether a daemon looks at the sensors of a home, as far as its heartbeats tell."""

import os
import time
from pathlib import Path

import dagster as dg

from drysweep_pipeline.home import Home

# A daemon beats twice a minute; one that is busy may miss a beat or two.
TOLERANCE_SECONDS = 120.0
_SENSORS = "SENSOR"


def looks_at_sensors(home: Home) -> bool | None:
    """Tell whether a living daemon looks at sensors; None where there is no Dagster home that could tell."""
    folder = Path(os.environ.get("DAGSTER_HOME") or home.dagster)
    if not (folder / "dagster.yaml").exists():
        return None
    with dg.DagsterInstance.from_config(str(folder)) as instance:
        beat = instance.get_daemon_heartbeats().get(_SENSORS)
    return beat is not None and time.time() - beat.timestamp < TOLERANCE_SECONDS

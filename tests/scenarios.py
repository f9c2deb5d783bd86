"""The scenario files: the project's own, and a further collection that may not be there.

The further one is sought in ``DRYSWEEP_SCENARIOS``, else in ``shared/scenarios`` beside the project.
"""

import os
from pathlib import Path
from typing import Any

import pytest

from drysweep_pipeline.errors import DrysweepError
from drysweep_pipeline.replay.scenario import Scenario, read_scenario

_HERE = Path(__file__).parent
OWN = sorted((_HERE / "scenarios").glob("*.yaml"))
FURTHER = Path(os.environ.get("DRYSWEEP_SCENARIOS", _HERE.parents[1] / "shared" / "scenarios"))


def own() -> list[Any]:
    """Return the project's own scenario files, as parameters of a test."""
    return [pytest.param(path, id=path.stem) for path in OWN]


def further() -> list[Any]:
    """Return the files of the further collection, or one parameter that skips, saying so."""
    found = [pytest.param(path, id=path.stem) for path in sorted(FURTHER.glob("*.yaml"))]
    skip = pytest.mark.skip(reason=f"no scenarios in {FURTHER}; DRYSWEEP_SCENARIOS says where there are")
    return found or [pytest.param(FURTHER, id="absent", marks=skip)]


def read(path: Path) -> Scenario | DrysweepError:
    """Return a scenario, or what it was refused with when it was read."""
    try:
        return read_scenario(path)
    except DrysweepError as error:
        return error

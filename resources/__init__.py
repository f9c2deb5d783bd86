"""The resources of this deployment, wired from environment variables; their classes are in the wheel."""

import os
from pathlib import Path

from drysweep_pipeline.orchestration.resources import HomeResource

_DEFAULT_HOME = Path(__file__).resolve().parent.parent / ".drysweep"


def build() -> dict[str, HomeResource]:
    """Return the resources by name; ``DRYSWEEP_HOME`` moves the home."""
    return {"home": HomeResource(root=os.environ.get("DRYSWEEP_HOME", str(_DEFAULT_HOME)))}

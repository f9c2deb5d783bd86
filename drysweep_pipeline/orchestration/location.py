"""A code location for a home without a project: the sweeps it has seen, as their newest campaigns froze them."""

import os
from pathlib import Path

import dagster as dg

from drysweep_pipeline.engine.campaign import campaigns, load
from drysweep_pipeline.home import Home
from drysweep_pipeline.orchestration.definitions import build_definitions
from drysweep_pipeline.orchestration.resources import HomeResource


@dg.definitions
def defs() -> dg.Definitions:
    """Return the definitions of every sweep that has a campaign in ``DRYSWEEP_HOME``."""
    home = Home(Path(os.environ["DRYSWEEP_HOME"]))
    newest = [load(home, sweep, names[-1]) for sweep in home.sweeps() if (names := campaigns(home, sweep))]
    wired = dg.Definitions(resources={"home": HomeResource(root=str(home.root))}, executor=dg.in_process_executor)
    return dg.Definitions.merge(*(build_definitions(campaign.declaration) for campaign in newest), wired)

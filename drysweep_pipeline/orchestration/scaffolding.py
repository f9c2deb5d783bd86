"""What ``dg scaffold defs drysweep_pipeline.Sweep NAME`` writes: a sweep that runs as it is."""

from contextlib import suppress

import dagster as dg

from drysweep_pipeline.errors import Refused
from drysweep_pipeline.projects import begin_sweep


class SweepScaffolder(dg.Scaffolder):
    """Writes the smallest template of a sweep to the folder that Dagster made for it, which gives it its name."""

    def scaffold(self, request: dg.ScaffoldRequest) -> None:
        """Write the sweep. Raises ``Refused`` where Python is asked for, or a name that no sweep may have."""
        if request.scaffold_format != "yaml" or request.append:
            raise Refused("a sweep is declared in a YAML file of its own", help="leave out --format and --append")
        try:
            begin_sweep(request.target_path)
        except Refused:
            # Dagster made it, and would take a folder without a sweep for one of definitions.
            with suppress(OSError):
                request.target_path.rmdir()
            raise

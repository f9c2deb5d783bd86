"""All Dagster definitions of a declared sweep, as one flat list."""

import dagster as dg

from drysweep_pipeline.declaration import Declaration
from drysweep_pipeline.orchestration.assets import build_assets
from drysweep_pipeline.orchestration.findings import findings_job
from drysweep_pipeline.orchestration.jobs import decide_job, report_job, round_job, start_job
from drysweep_pipeline.orchestration.schedule import build_schedules
from drysweep_pipeline.orchestration.sensor import build_sensor


def build_definitions(declaration: Declaration) -> dg.Definitions:
    """Return assets, checks, jobs, sensor and schedule of a sweep; the deployment gives the resource ``home``."""
    rounds, reports, starts = round_job(declaration), report_job(declaration), start_job(declaration)
    return dg.Definitions(
        assets=build_assets(declaration),
        jobs=[rounds, reports, starts, decide_job(declaration), findings_job(declaration)],
        sensors=[build_sensor(declaration, rounds, reports)],
        schedules=build_schedules(declaration, starts),
    )

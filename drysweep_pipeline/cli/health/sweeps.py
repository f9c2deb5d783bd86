"""The sweeps of the project: can they be read, is set what they name, and does anybody start what they schedule."""

import os
from collections.abc import Iterator
from pathlib import Path

from drysweep_pipeline.cli.health.check import Check
from drysweep_pipeline.cli.options import project_root
from drysweep_pipeline.home import Home


def checks(home: Home) -> Iterator[Check]:
    """Yield how the declared sweeps are."""
    from drysweep_pipeline.declaration import find_sweeps

    scheduled = []
    for name, path in find_sweeps(project_root()).items():
        yield from _sweep(name, path, used=home.sweep(name).root.is_dir() or _is_scheduled(path))
        if _is_scheduled(path):
            scheduled.append(name)
    # Where Dagster was never at work nobody expects a daemon yet.
    if scheduled and (home.dagster / "dagster.yaml").exists():
        yield _daemon(home, scheduled)


def _sweep(name: str, path: Path, *, used: bool) -> Iterator[Check]:
    """Yield how a sweep is; what is not set is no fault of one that nobody uses here."""
    from drysweep_pipeline.declaration import errors, read_declaration
    from drysweep_pipeline.declaration.secrets import variables

    wrong = list(errors(path))
    if wrong:
        help = f"drysweep validate {path}"
        yield Check(f"sweep {name}", False, f"cannot be read: {wrong[0]}", help, str(path))
        return
    yield Check(f"sweep {name}", True, "can be read", file=str(path))
    unset = [each for each in variables(read_declaration(path).sweep.model_dump()) if each not in os.environ]
    if unset:
        found = f"names what is not set here: {', '.join(unset)}"
        yield Check(f"variables of {name}", not used, found, f"export {unset[0]}=...", str(path))


def _is_scheduled(path: Path) -> bool:
    from drysweep_pipeline.declaration import errors, read_declaration

    return not list(errors(path)) and read_declaration(path).sweep.schedule is not None


def _daemon(home: Home, scheduled: list[str]) -> Check:
    from drysweep_pipeline.orchestration.daemon import looks_at_sensors

    alive = looks_at_sensors(home)
    found = "a daemon runs" if alive else f"no daemon runs, and {', '.join(scheduled)} has a schedule"
    help = f"start one: DAGSTER_HOME={home.dagster} dagster-daemon run -w workspace.yaml"
    return Check("schedules", bool(alive), found, None if alive else help)

"""What ``drysweep doctor`` looks at, a subject a module: each yields checks, and none changes anything."""

from collections.abc import Iterator

from drysweep_pipeline.cli.health.check import Check
from drysweep_pipeline.home import Home

__all__ = ["Check", "checks"]


def checks(home: Home) -> Iterator[Check]:
    """Yield what was looked at on this machine, in a home and in the project, and how it is."""
    from drysweep_pipeline.cli.health import campaigns, dagster, files, machine, processes, sweeps

    yield from machine.checks()
    if (closed := files.closed(home)) is not None:
        yield closed
        return
    yield from files.checks(home)
    yield from campaigns.checks(home)
    yield from dagster.checks(home)
    yield from processes.checks(home)
    yield from sweeps.checks(home)

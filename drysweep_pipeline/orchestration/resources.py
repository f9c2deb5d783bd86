"""Resource classes. A deployment wires them; each yields one plain object of the core."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg

from drysweep_pipeline.home import Home
from drysweep_pipeline.orchestration.leaving import leaving


class HomeResource(dg.ConfigurableResource[Home]):
    """The folder that holds ledgers, landings, snapshots and reports; assets receive a plain ``Home``."""

    root: str

    def create_resource(self, context: dg.InitResourceContext) -> Home:
        """Return the home."""
        return Home(Path(self.root).expanduser().resolve())

    @contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Iterator[Home]:
        """Yield the home for as long as a run goes on, and close what that leaves open."""
        with leaving(context.run.run_id if context.run else None):
            yield self.create_resource(context)

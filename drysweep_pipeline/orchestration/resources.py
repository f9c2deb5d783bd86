"""Resource classes. A deployment wires them; each yields one plain object of the core."""

from pathlib import Path

import dagster as dg

from drysweep_pipeline.home import Home


class HomeResource(dg.ConfigurableResource[Home]):
    """The folder that holds ledgers, landings, snapshots and reports; assets receive a plain ``Home``."""

    root: str

    def create_resource(self, context: dg.InitResourceContext) -> Home:
        """Return the home."""
        return Home(Path(self.root).expanduser().resolve())

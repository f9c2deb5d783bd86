"""``drysweep_pipeline.Sweep``: a sweep declared in ``defs.yaml``, as a Dagster component."""

from pathlib import Path
from typing import Self

import dagster as dg
from pydantic import BaseModel

from drysweep_pipeline.declaration import Declaration, read_declaration
from drysweep_pipeline.declaration.model import Sweep as DeclaredSweep
from drysweep_pipeline.orchestration.definitions import build_definitions
from drysweep_pipeline.orchestration.scaffolding import SweepScaffolder


@dg.scaffold_with(SweepScaffolder)
class Sweep(dg.Component):
    """A search that runs until it goes quiet: material, blind strategies, judge, convergence rule and budget."""

    def __init__(self, declaration: Declaration) -> None:
        self.declaration = declaration

    @classmethod
    def get_spec(cls) -> dg.ComponentTypeSpec:
        """Return what Dagster's tools show of this component."""
        return dg.ComponentTypeSpec(description="A search that runs until it goes quiet", tags=["sweep"])

    @classmethod
    def get_model_cls(cls) -> type[BaseModel]:
        """Return the model that ``dg check yaml``, schemas and editors use."""
        return DeclaredSweep

    @classmethod
    def load(cls, attributes: BaseModel | None, context: dg.ComponentLoadContext) -> Self:
        """Read the declaration again with drysweep's own reader, which knows lines and names the nearest key."""
        path = Path(context.path)
        return cls(read_declaration(path / "defs.yaml" if path.is_dir() else path))

    def build_defs(self, context: dg.ComponentLoadContext | None = None) -> dg.Definitions:
        """Return the definitions of the sweep."""
        return build_definitions(self.declaration)

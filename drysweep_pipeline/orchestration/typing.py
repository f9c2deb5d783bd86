"""Dagster's generic types, bare at run time and subscripted for the type checker.

A subscripted return annotation together with check specs makes ``@dg.asset`` expect several outputs.
"""

from typing import TYPE_CHECKING, Any, TypeAlias

import dagster as dg

if TYPE_CHECKING:
    # What define_asset_job returns has no public name.
    from dagster._core.definitions.unresolved_asset_job_definition import UnresolvedAssetJobDefinition

    Result: TypeAlias = dg.MaterializeResult[Any]
    AssetJob: TypeAlias = UnresolvedAssetJobDefinition
else:
    Result = dg.MaterializeResult
    AssetJob = Any

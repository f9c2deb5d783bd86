"""Dagster's generic types, bare at run time and subscripted for the type checker.

A subscripted return annotation together with check specs makes ``@dg.asset`` expect several outputs.
"""

from typing import TYPE_CHECKING, Any, TypeAlias

import dagster as dg

if TYPE_CHECKING:
    Result: TypeAlias = dg.MaterializeResult[Any]
else:
    Result = dg.MaterializeResult

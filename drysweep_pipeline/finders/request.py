"""What a finder is handed and what it gives back. Nothing in a request leads to the ledger or to another strategy."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from drysweep_pipeline.declaration.model import Strategy
from drysweep_pipeline.values import Usage
from drysweep_pipeline.variation import Look


@dataclass(frozen=True, slots=True)
class Request:
    """One look at the material: the declared strategy, the snapshot's database (if any) and the angle."""

    strategy: Strategy
    look: Look
    round: int
    database: Path | None


ONE_CALL = Usage(calls=1)


@dataclass(frozen=True, slots=True)
class Found:
    """What a finder reported: rows as dictionaries, or an Arrow table."""

    rows: Sequence[Mapping[str, Any]] | None = None
    table: pa.Table | None = None
    usage: Usage = ONE_CALL


Finder: TypeAlias = Callable[[Request], Found]
"""Looks once. Raises ``FinderError`` where it did not run to its end, ``RowsRefused`` where a retry cannot help."""

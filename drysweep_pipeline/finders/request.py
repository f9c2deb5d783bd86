"""What a finder is handed and what it gives back. Nothing in a request leads to the ledger or to another strategy."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from drysweep_pipeline.budget import Meter, free_meter
from drysweep_pipeline.children.underway import Children
from drysweep_pipeline.declaration.model import Strategy
from drysweep_pipeline.errors import FinderError
from drysweep_pipeline.material.copy import Copy
from drysweep_pipeline.material.planting import Planted
from drysweep_pipeline.values import Usage
from drysweep_pipeline.variation import Look


@dataclass(frozen=True, slots=True)
class Request:
    """One look at the material: the declared strategy, the snapshot's database (if any) and the angle.

    ``fields`` names the fingerprint fields, in order. ``base`` is the folder of the declaring file, ``copy`` the
    snapshot's files for whoever reads files, ``children`` where a finder starts its child processes. ``meter`` is asked
    before each call beyond the first. ``planted`` is where what is sent of the snapshot is to have canaries in it.
    """

    strategy: Strategy
    look: Look
    round: int
    database: Path | None
    fields: tuple[str, ...] = ()
    sweep: str = ""
    campaign: str = ""
    base: Path = Path()
    copy: Copy = field(default_factory=lambda: Copy(None))
    children: Children = field(default_factory=Children)
    meter: Meter = field(default_factory=free_meter)
    planted: Planted | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """What a finder reported: rows as dictionaries, as ``candidates.prepare`` makes them, or an Arrow table.

    ``usage`` is what all its calls used, None where nobody knows: then it counts as what was set aside. ``failure``
    says why that is not all, where it is not: what was validly reported is kept all the same. ``complaint`` is
    what a child that ended well wrote on stderr, ``note`` what else is to be known of a look that ran to its end.
    """

    rows: Sequence[Mapping[str, Any]] | None = None
    table: pa.Table | None = None
    prepared: pa.Table | None = None
    usage: Usage | None = None
    failure: FinderError | None = None
    complaint: str | None = None
    note: str | None = None


Finder: TypeAlias = Callable[[Request], Found]
"""Looks once. Raises ``FinderError`` where it did not run to its end, ``RowsRefused`` where a retry cannot help."""

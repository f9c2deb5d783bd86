"""What strategies are asked, in a wave or a revert test: one way to put a request together, one to land an answer."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa

from drysweep_pipeline import candidates
from drysweep_pipeline.budget import Meter
from drysweep_pipeline.children.confinement import places_of
from drysweep_pipeline.children.underway import Children
from drysweep_pipeline.declaration.model import Strategy
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.normalising import alike
from drysweep_pipeline.engine.redacting import redactor_of
from drysweep_pipeline.finders import FINDERS, Found, Request
from drysweep_pipeline.material import Snapshot
from drysweep_pipeline.material.copy import Copy
from drysweep_pipeline.material.planting import Planted
from drysweep_pipeline.variation import Look


class Asking:
    """Has the strategies of one round search one snapshot; what they share of it is gone when the block is left.

    ``children`` is to be left first, and before the threads that ask are waited for: that kills what still runs. Two
    that ask at the same time have them in common.
    """

    def __init__(
        self, campaign: Campaign, round: int, snapshot: Snapshot | None, children: Children | None = None
    ) -> None:
        self.children = children or Children(places_of(campaign.home.home.root))
        self._campaign, self._round = campaign, round
        self._redactor = redactor_of(campaign)
        self._database = snapshot.database if snapshot else None
        self._copy = Copy(snapshot.folder if snapshot else None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._copy.__exit__(kind, error, trace)

    def search(self, strategy: Strategy, look: Look, meter: Meter, planted: Planted | None = None) -> Found:
        """Have a strategy look once, on what was set aside; with ``planted``, what it is sent has canaries in it.

        Raises ``FinderError`` where it did not run to its end.
        """
        sweep = self._campaign.declaration.sweep
        request = Request(
            strategy,
            look,
            self._round,
            self._database,
            sweep.fingerprint.fields,
            sweep.name,
            self._campaign.id,
            self._campaign.declaration.base,
            self._copy,
            self.children,
            meter,
            planted,
        )
        found = self._without_secrets(FINDERS[strategy.kind](request))
        return alike(found, sweep.fingerprint.normalise, sweep.fingerprint.fields)

    def _without_secrets(self, found: Found) -> Found:
        """Return what was reported with its secrets masked: before a fingerprint is made of it, and before it lands."""
        fields = self._campaign.declaration.sweep.fingerprint.fields
        keep = frozenset((*candidates.STANDARD, *fields))
        table, prepared, rows = found.table, found.prepared, found.rows
        if table is not None:
            table = self._redactor.table(table, keep)
        if prepared is not None:
            inside = candidates.written_as_json(fields)
            prepared = self._redactor.table(prepared, {*keep, *prepared.column_names}, inside)
        if rows is not None:
            rows = [self._redactor.data(row, keep) for row in rows]
        return replace(found, table=table, prepared=prepared, rows=rows)


def land(
    found: Found,
    strategy: Strategy,
    fields: tuple[str, ...],
    path: Path,
    earlier: Sequence[pa.Table] = (),
    planted: Sequence[str] = (),
) -> candidates.Taken:
    """Land what a strategy reported at ``path``, and what ``earlier`` attempts of it reported before they failed.

    Rows that are of one of the ``planted`` names are left out, others land without the name; rows given as ``rows`` are
    not looked at for them. Raises ``RowsRefused`` where nothing can be taken in.
    """
    if found.table is not None:
        return candidates.land_table(found.table, strategy.name, fields, path, planted)
    if found.prepared is not None:
        whole = candidates.merged([*earlier, found.prepared])
        return candidates.land_prepared(whole, strategy.name, fields, path, planted)
    return candidates.land_rows(found.rows or (), strategy.name, fields, path)


def reported(found: Found, fields: tuple[str, ...], identities: Iterable[str]) -> frozenset[str]:
    """Return which of some identities a strategy reported. Raises ``RowsRefused`` where none can be taken in."""
    if found.table is not None:
        return candidates.reported(found.table, fields, identities, prepared=False)
    prepared = found.prepared if found.prepared is not None else candidates.prepare(found.rows or (), fields)
    return candidates.reported(prepared, fields, identities, prepared=True)

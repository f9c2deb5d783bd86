"""For the tests of whoever declares sweeps: what a strategy finds in the sweep's material, without a campaign.

The material is frozen and the strategy asked as in a round, in a home that is gone afterwards. Nothing is recorded,
nobody judges, and nothing of what was found before is known.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from drysweep_pipeline.budget import free_meter
from drysweep_pipeline.candidates import STANDARD
from drysweep_pipeline.children.program import scratch_folder
from drysweep_pipeline.declaration import Declaration, read_declaration
from drysweep_pipeline.declaration.model import Strategy
from drysweep_pipeline.engine.asking import Asking, land
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.probing import frozen
from drysweep_pipeline.errors import NotFound, RowsRefused
from drysweep_pipeline.home import Home
from drysweep_pipeline.scratch import scratch
from drysweep_pipeline.variation import look as first_look

_CAMPAIGN = "test"
_ROWS = f"select {', '.join(STANDARD)}, attributes from read_parquet(?, hive_partitioning = false) order by row"


def look(sweep: Path | str, strategy: str, angle: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """Return what a strategy of the sweep in a YAML file finds at an angle, the first declared one unless given.

    A dictionary each, with what the finder left out filled in (``severity``, ``subject`` and so on), in the order in
    which they were reported. Raises ``DeclarationError`` and ``MaterialError`` as a campaign would, ``NotFound`` for a
    strategy that is not declared, and ``FinderError`` where it did not run to its end or reported what is refused.
    """
    declaration, as_of = read_declaration(Path(sweep)), datetime.now(UTC).replace(microsecond=0)
    asked = _strategy(declaration, strategy)
    with scratch_folder() as folder:
        home = Home(folder / "home")
        campaign = Campaign(home.sweep(declaration.sweep.name), _CAMPAIGN, 0, as_of, as_of, declaration)
        path = folder / "found.parquet"
        _land(campaign, asked, angle, path)
        return _rows(path)


def _strategy(declaration: Declaration, name: str) -> Strategy:
    known = {each.name: each for each in declaration.sweep.strategies}
    if name not in known:
        raise NotFound("strategy", name, list(known))
    return known[name]


def _land(campaign: Campaign, strategy: Strategy, angle: Mapping[str, Any] | None, path: Path) -> None:
    """Have a strategy look once, and land what it reports. Raises ``FinderError`` unless that is all of it."""
    declaration = campaign.declaration
    snapshot = frozen(campaign.home.home, declaration, campaign.as_of)
    asked = first_look(strategy, declaration.sweep.name, campaign.id, 1, 0)
    asked = asked if angle is None else replace(asked, angle=dict(angle))
    with Asking(campaign, 1, snapshot) as asking, asking.children:
        found = asking.search(strategy, asked, free_meter(strategy.worst))
    if found.failure is not None:
        raise found.failure
    taken = land(found, strategy, declaration.sweep.fingerprint.fields, path)
    if taken.refused:
        raise RowsRefused(f"row {taken.first_refused[0].row}: {taken.first_refused[0].reason}")


def _rows(path: Path) -> list[dict[str, Any]]:
    with scratch() as connection:
        rows = connection.execute(_ROWS, [str(path)]).fetchall()
    said = [(dict(zip(STANDARD, row, strict=False)), json.loads(row[-1] or "{}")) for row in rows]
    return [{**attributes, **fields} for fields, attributes in said]

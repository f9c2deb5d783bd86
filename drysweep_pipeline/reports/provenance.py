"""Where a report comes from: what was declared, what was searched, and with what, so that it can be held against it."""

import io
import platform
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import LiteralScalarString

from drysweep_pipeline.engine.campaign import Campaign, find
from drysweep_pipeline.engine.redacting import redactor_of
from drysweep_pipeline.history.reading import Row
from drysweep_pipeline.home import Home

_PROGRAMS = {"drysweep": "drysweep-pipeline", "dagster": "dagster", "duckdb": "duckdb"}


@dataclass(frozen=True, slots=True)
class Provenance:
    """What a campaign searched and how it was declared.

    ``versions`` are those of the programs that made the report. ``declared`` is the frozen declaration as YAML, without
    what is not set and with its secrets masked; None where the campaign's record is gone.
    """

    as_of: str
    started_at: str | None
    ended_at: str | None
    snapshot: str | None
    declaration: str
    declared: str | None
    versions: dict[str, str]

    @property
    def as_json(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        names = ("as_of", "started_at", "ended_at", "snapshot", "declaration", "versions")
        return {name: getattr(self, name) for name in names}


def provenance(home: Home, head: Row) -> Provenance:
    """Return where the report of a campaign comes from, by its row in the history and its record if that is there."""
    sweep, campaign = head["sweep"], head["campaign"]
    recorded = find(home, sweep, campaign)
    return Provenance(
        head["as_of"],
        head["started_at"],
        head["ended_at"],
        head["snapshot"],
        head["declaration"],
        _declared(recorded) if recorded else None,
        {**{name: _version(package) for name, package in _PROGRAMS.items()}, "python": platform.python_version()},
    )


def _declared(campaign: Campaign) -> str:
    redactor = redactor_of(campaign)
    # What is planted must not be told where strategies' authors read.
    declared = campaign.declaration.sweep
    sweep = redactor.data(declared.model_dump(mode="json", exclude_none=True, exclude={"canaries"}))
    yaml, written = YAML(), io.StringIO()
    yaml.width = 110
    yaml.dump(_literal(sweep), written)
    planted = "# canaries are declared, and not shown\n" if declared.canaries else ""
    return redactor.text(written.getvalue()) + planted


def _literal(value: Any) -> Any:
    """Return a value whose texts of several lines are written line by line."""
    if isinstance(value, dict):
        return {name: _literal(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_literal(each) for each in value]
    if isinstance(value, str) and "\n" in value:
        return LiteralScalarString(value)
    return value


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not known"

"""Small sweeps for tests: a registry of a few files, SQL written in place, and rounds driven without Dagster."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from drysweep_pipeline.declaration import read_declaration
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.journal import standing
from drysweep_pipeline.engine.starting import start
from drysweep_pipeline.home import Home
from drysweep_pipeline.ledger import opened
from drysweep_pipeline.replay import pipeline

AS_OF = datetime(2026, 1, 1, tzinfo=UTC)
# Finds every service without an owner.
NO_OWNER = """
    select s.service, 'no_owner' as failure_mode, s.path
    from services s
    where not exists (select 1 from labels l where l.service = s.service and l.key = 'owner')
"""


def registry(folder: Path, owners: dict[str, str | None]) -> Path:
    """Write a service file a name, with an owner label where one is given."""
    (folder / "services").mkdir(parents=True, exist_ok=True)
    for name, owner in owners.items():
        labels = {"owner": owner} if owner else {"tier": "one"}
        (folder / "services" / f"{name}.yaml").write_text(json.dumps({"name": name, "labels": labels}))
    return folder


def declare(folder: Path, strategies: dict[str, str], **attributes: Any) -> Path:
    """Write a sweep over ``folder``/registry with a SQL strategy a name, and return its file."""
    listed = []
    for name, text in strategies.items():
        (folder / f"{name}.sql").write_text(text)
        listed.append({"name": name, "kind": "sql", "query": {"file": f"{name}.sql"}, **attributes.pop(name, {})})
    sweep = {
        "name": "small",
        "material": {
            "kind": "registry",
            "path": "registry",
            "map": {"services": "services/*.yaml", "labels": {"file": "services/*.yaml", "at": "/labels"}},
        },
        "fingerprint": {"fields": ["service", "failure_mode"]},
        "strategies": listed,
        "budget": {"rounds": 10, "calls": 200},
        **attributes,
    }
    path = folder / "sweep.yaml"
    # JSON is YAML, and json.dumps quotes for us.
    path.write_text(json.dumps({"type": "drysweep_pipeline.Sweep", "attributes": sweep}))
    return path


def begin(path: Path, home: Home, **options: Any) -> Campaign:
    """Start a campaign of the declared sweep."""
    return start(home, read_declaration(path), **{"as_of": AS_OF, "driver": "cli", **options})


def steps(campaign: Campaign, round: int) -> None:
    """Run one round by the engine's steps, and keep the ledger open meanwhile; no other process may open it then."""
    with opened(campaign.home.ledger):
        pipeline.steps(campaign, round)


def run_to_its_end(campaign: Campaign) -> Campaign:
    """Run rounds while one is due, and keep the ledger open meanwhile: opening it is a third of what a round takes."""
    with opened(campaign.home.ledger):
        while (due := standing(campaign).due) is not None:
            steps(campaign, due)
    return campaign


def ledger_rows(campaign: Campaign) -> dict[str, list[tuple[Any, ...]]]:
    """Return everything in the ledger, table by table, in a fixed order."""
    with duckdb.connect(str(campaign.home.ledger), read_only=True) as connection:
        connection.execute("set TimeZone = 'UTC'")
        tables = [row[0] for row in connection.execute("select table_name from duckdb_tables()").fetchall()]
        return {table: connection.execute(f"from {table} order by all").fetchall() for table in sorted(tables)}

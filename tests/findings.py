"""A small sweep whose findings people act on: one of each severity, one that the judge rejects, and a home of it."""

import shutil
from pathlib import Path
from typing import Any

from drysweep_pipeline.engine.campaign import Campaign, load
from drysweep_pipeline.home import Home
from tests.sweeps import begin, declare, ledger_rows, registry, run_to_its_end

SERVICES: dict[str, str | None] = {"api": None, "db": None, "web": None, "tiny": None, "cron": None, "ok": "team"}
FOUND = """
    select
        s.service, 'no_owner' as failure_mode, s.path, 1 as line, 'ann' as owner,
        case s.service when 'tiny' then 'nit' when 'db' then 'blocker' else 'major' end as severity
    from services s
    where not exists (select 1 from labels l where l.service = s.service and l.key = 'owner')
"""
JUDGE = """
    select fp, case service when 'cron' then 'rejected' else 'confirmed' end as verdict, 'as the charter says' as reason
    from findings
"""


def owned(folder: Path, **attributes: Any) -> Path:
    """Write the registry and the sweep, and return the sweep's file."""
    registry(folder / "registry", SERVICES)
    return declared(folder, **attributes)


def declared(folder: Path, looks: dict[str, str] | None = None, **attributes: Any) -> Path:
    """Write the sweep alone, with other strategies where some are given."""
    (folder / "judge.sql").write_text(JUDGE)
    judge = {"kind": "sql", "query": {"file": "judge.sql"}}
    return declare(folder, looks or {"labels": FOUND}, **{"judge": judge, **attributes})


def swept(folder: Path, **attributes: Any) -> Home:
    """Sweep it once, as campaign ``c1``, and return the home, which may be copied."""
    home = Home(folder / "home")
    run_to_its_end(begin(owned(folder, **attributes), home, campaign="c1"))
    return home


def copied(home: Home, to: Path) -> Campaign:
    """Return the campaign ``c1`` of a copy of a home that was swept."""
    shutil.copytree(home.root, to)
    return load(Home(to), "small", "c1")


def everything(campaign: Campaign) -> tuple[Any, ...]:
    """Return all that deeds could change: the ledger's rows, what was landed of people, the state, the history."""
    folder = campaign.home.actions(campaign.id)
    landed = {path.name: path.read_bytes() for path in sorted(folder.glob("*"))} if folder.is_dir() else {}
    history = campaign.home.home.history
    return ledger_rows(campaign), landed, campaign.state_path.read_bytes(), history.read_bytes()

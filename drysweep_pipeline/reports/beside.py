"""What lies beside the history and a report may use while it is still there: snapshots, the record of the campaign."""

import shlex
from collections.abc import Sequence

from drysweep_pipeline.declaration import thaw_json
from drysweep_pipeline.durable import read_json
from drysweep_pipeline.errors import IntegrityError
from drysweep_pipeline.history.campaign import Row
from drysweep_pipeline.home import Home
from drysweep_pipeline.material import Snapshot
from drysweep_pipeline.reports.text import safe_text


def unread(home: Home, sweep: str, rounds: Sequence[Row]) -> list[tuple[str, str]]:
    """Return file and reason of what the last round could not search, sorted; an empty list where nobody can tell."""
    digest = rounds[-1]["snapshot"] if rounds else None
    if not digest or not rounds[-1]["not_searched"]:
        return []
    try:
        return Snapshot.open(home.sweep(sweep).snapshots / digest).unreadable()
    except IntegrityError:
        return []


def sweep_argument(home: Home, sweep: str, campaign: str) -> str:
    """Return what ``drysweep run`` takes for the sweep of a campaign: the file it was declared in, else its name."""
    record = home.sweep(sweep).landing(campaign) / "campaign.json"
    if not record.exists():
        return sweep
    path = thaw_json(read_json(record)["declaration"]).path
    return _quoted(str(path.absolute() if path.exists() else path))


def home_option(home: Home) -> str:
    """Return the option that leads a command to a home, with a blank before it; empty where a project has it."""
    if home.root.name == ".drysweep" and (home.root.parent / "pyproject.toml").exists():
        return ""
    return f" --home {_quoted(str(home.root))}"


def _quoted(text: str) -> str:
    return shlex.quote(safe_text(text))

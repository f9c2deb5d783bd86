"""Whether a ledger has what was landed before: one that was removed, emptied or restored from an old copy does not.

Whoever went on with it would take for fresh what was seen long ago, and land that.
"""

from collections import Counter
from pathlib import Path

from drysweep_pipeline.durable import read_json
from drysweep_pipeline.engine.campaign import Campaign, recorded
from drysweep_pipeline.engine.journal import DECISION
from drysweep_pipeline.errors import IntegrityError
from drysweep_pipeline.home import SweepHome
from drysweep_pipeline.ledger import Ledger, rebuild_it
from drysweep_pipeline.ledger import journal as ledger_journal
from drysweep_pipeline.values import RoundKey


def check_all_campaigns(ledger: Ledger, home: SweepHome) -> None:
    """Raise ``IntegrityError`` where the ledger lacks a round that any campaign of the sweep is past."""
    taken = Counter(name for name, _ in ledger_journal.rounds_taken(ledger))
    for folder in recorded(home):
        if _is_past(folder, taken[folder.name] + 1):
            raise _lacks(home, folder.name, taken[folder.name] + 1)


def check_before(ledger: Ledger, campaign: Campaign, round: int) -> None:
    """Raise ``IntegrityError`` where the ledger lacks a round of the campaign before this one."""
    taken = ledger_journal.rounds_of(ledger, campaign.id)
    if taken is None or taken < round - 1:
        raise _lacks(campaign.home, campaign.id, (taken or 0) + 1)


def _is_past(folder: Path, round: int) -> bool:
    """Tell whether a round was decided; one that was taken in and not decided may have died before its commit."""
    path = folder / RoundKey(folder.name, round).folder / DECISION
    return path.exists() and "decision" in read_json(path)


def _lacks(home: SweepHome, campaign: str, round: int) -> IntegrityError:
    what = f"the ledger lacks round {round} of {campaign}, which was landed"
    return IntegrityError(what, file=home.ledger, help=rebuild_it(home.ledger))

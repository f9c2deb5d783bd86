"""What a ledger or the published history took in, and the landing has no more: what a rebuild would silently lose."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from drysweep_pipeline import landing
from drysweep_pipeline.durable import SEAL
from drysweep_pipeline.engine import churn, journal, judging
from drysweep_pipeline.engine.campaign import Campaign, load
from drysweep_pipeline.errors import DrysweepError
from drysweep_pipeline.history.comparing import Published
from drysweep_pipeline.home import SweepHome
from drysweep_pipeline.keeping.fault import RESTORE, Fault
from drysweep_pipeline.ledger import Ledger
from drysweep_pipeline.ledger import journal as ledger_journal
from drysweep_pipeline.wording import count


@dataclass(slots=True)
class Witness:
    """What was taken in of a sweep: campaigns, rounds with whether they were judged and decided, numbers of actions.

    ``said`` is which file knows of a campaign.
    """

    said: dict[str, str] = field(default_factory=dict)
    rounds: dict[tuple[str, int], tuple[bool, bool]] = field(default_factory=dict)
    actions: dict[str, list[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, ledger: Ledger | None, published: Published) -> Self:
        """Return what a ledger, where there is one that can be read, and the published history say of a sweep."""
        witness = cls()
        for name, rounds in published.items():
            witness.said[name] = "the history"
            witness.rounds |= {(name, round): (True, True) for round in rounds}
        if ledger is not None:
            witness._hear(ledger)
        return witness

    def _hear(self, ledger: Ledger) -> None:
        self.said |= dict.fromkeys(ledger_journal.campaigns_taken(ledger), "the ledger")
        for key, row in ledger_journal.rounds_taken(ledger).items():
            self.rounds[key] = (row.judged, row.outcome is not None)
        for name, number in ledger_journal.every_action(ledger):
            self.actions.setdefault(name, []).append(number)


def faults_of(place: SweepHome, witness: Witness) -> Iterator[Fault]:
    """Yield what of the landing of a sweep is gone, though it was taken in: campaigns, rounds, people's actions."""
    for name, who in sorted(witness.said.items()):
        folder = place.landing(name)
        rounds = sorted(round for campaign, round in witness.rounds if campaign == name)
        numbers = sorted(witness.actions.get(name, []))
        if not folder.is_dir():
            yield _gone(folder, f"campaign {name} is gone, and {who} has {_many(rounds, numbers)} of it")
            continue
        campaign = _loaded(place, name)
        for round in rounds if campaign is not None else []:
            assert campaign is not None
            yield from _of_round(campaign, round, who, *witness.rounds[name, round])
        for number in numbers:
            path = place.actions(name) / f"{number:06d}.json"
            if not path.exists():
                yield _gone(path, f"action {number} of {name} is gone, and {who} took it in")


def _of_round(campaign: Campaign, round: int, who: str, judged: bool, decided: bool) -> Iterator[Fault]:
    folder, name = campaign.folder(round), f"round {round} of {campaign.id}"
    if not folder.is_dir():
        yield _gone(folder, f"{name} is gone, and {who} took it in")
        return
    wanted = [landing.MANIFEST, journal.DECISION]
    wanted += [judging.VERDICTS_MANIFEST, judging.VERDICTS] if judged else []
    wanted += _later(campaign, round, folder) if decided else []
    for each in wanted:
        if not (folder / each).exists():
            yield _gone(folder / each, f"it is gone, and {who} took {name} in")
    with suppress(DrysweepError, KeyError, TypeError, ValueError):  # told where landed files are looked at
        if decided and (folder / journal.DECISION).exists() and journal.read_result(campaign, round) is None:
            yield _gone(folder / journal.DECISION, f"it holds no decision, and {who} has that of {name}")


def _later(campaign: Campaign, round: int, folder: Path) -> list[str]:
    """Return what decided rounds have since JSON is sealed; earlier versions wrote neither."""
    if not all(_is_sealed(path) for path in (folder.parent / "campaign.json", folder / journal.DECISION)):
        return []
    with suppress(DrysweepError, KeyError, TypeError, ValueError):
        file = judging.landed_file(campaign, round)
        return [churn.FILE, *([journal.JUDGED] if file is not None and file.rows else [])]
    return []


def _is_sealed(path: Path) -> bool:
    return path.exists() and f'"{SEAL}": "'.encode() in path.read_bytes()


def _loaded(place: SweepHome, name: str) -> Campaign | None:
    with suppress(DrysweepError, OSError, KeyError, TypeError, ValueError):  # told where landed files are looked at
        return load(place.home, place.name, name)
    return None


def _many(rounds: list[int], actions: list[int]) -> str:
    return " and ".join([count(len(rounds), "round"), *([count(len(actions), "action")] if actions else [])])


def _gone(path: Path, what: str) -> Fault:
    return Fault(path, what, RESTORE)

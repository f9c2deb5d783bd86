"""What of a sweep may go, and what stays and why. What was found and decided always stays: no landed file goes.

Snapshots, reports and what dead processes left may go. A snapshot that was removed is put on a list, so that nobody
takes it for lost.
"""

import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil

from drysweep_pipeline import landing
from drysweep_pipeline.declaration.model import ScriptedMaterial
from drysweep_pipeline.engine import journal
from drysweep_pipeline.engine.campaign import Campaign, campaigns, load
from drysweep_pipeline.engine.planning import PLAN, read_plan
from drysweep_pipeline.engine.state import GOING_ON, check_lease
from drysweep_pipeline.errors import IntegrityError
from drysweep_pipeline.history import history
from drysweep_pipeline.home import Home, SweepHome
from drysweep_pipeline.keeping.gone import write_gone
from drysweep_pipeline.keeping.rebuilding import BUILDING
from drysweep_pipeline.ledger import locked

_GOING = ".gone."
_STALE_SECONDS = 24 * 3600
_LAST_SEEN = "select distinct last_campaign from open_findings where sweep = ?"


@dataclass(frozen=True, slots=True)
class Limits:
    """Which campaigns count as old: all but the newest ``keep``, and those recorded before ``before``, if both say so.

    Where neither is given, none is old, and only leftovers may go.
    """

    keep: int | None = None
    before: datetime | None = None


@dataclass(frozen=True, slots=True)
class Prunable:
    """A file or folder that may go, how many bytes that frees, and why."""

    path: Path
    kind: str
    bytes: int
    why: str


@dataclass(frozen=True, slots=True)
class Kept:
    """A snapshot that stays, and why."""

    path: Path
    why: str


@dataclass(frozen=True, slots=True)
class Pruning:
    """What may go of a sweep, and the snapshots that stay."""

    goes: tuple[Prunable, ...]
    stays: tuple[Kept, ...]


def look(home: Home, sweep: str, limits: Limits) -> Pruning:
    """Return what may go of a sweep under some limits; changes nothing."""
    place = home.sweep(sweep)
    known = _Known(home, place, limits)
    snapshots = list(known.snapshots())
    goes = [*_leftovers(place), *(each for each in snapshots if isinstance(each, Prunable)), *known.reports()]
    return Pruning(tuple(goes), tuple(each for each in snapshots if isinstance(each, Kept)))


def prune(home: Home, sweep: str, limits: Limits) -> Pruning:
    """Remove what may go of a sweep and return what went, and what stays.

    Raises ``Busy`` where a process works on a campaign of the sweep; nothing was removed then.
    """
    place = home.sweep(sweep)
    with locked(place.ledger):
        for path in sorted((place.root / "state").glob("*.json")):
            with suppress(IntegrityError):
                check_lease(path)
        found = look(home, sweep, limits)
        for each in found.goes:
            if each.kind == "snapshot":
                # Before it goes: who is killed in between leaves one that is there, and not one that is missed.
                write_gone(place, each.path.name, datetime.now(UTC).isoformat())
            going = _out_of_the_way(each.path)
            if going is not None:
                shutil.rmtree(going)
    return found


class _Known:
    """The campaigns of a sweep, and which of them are old."""

    def __init__(self, home: Home, place: SweepHome, limits: Limits) -> None:
        self.home, self.place = home, place
        self.campaigns = [load(home, place.name, name) for name in campaigns(home, place.name)]
        ordered = sorted(self.campaigns, key=lambda each: (each.as_of, each.seq))
        self.old = {each.id for each in _old(ordered, limits)}
        self.last = {each.id for each in (ordered[-1:] + self.campaigns[-1:])}

    def snapshots(self) -> Iterator[Prunable | Kept]:
        """Yield every stored snapshot, and every copy of one with canaries, as one that goes or one that stays."""
        needed, readers = self._needed(), self._readers()
        folders = (("snapshot", self.place.snapshots), ("copy with canaries", self.place.planted))
        for kind, folder in folders:
            for path in sorted(folder.iterdir()) if folder.is_dir() else []:
                if path.name.startswith(".") or not path.is_dir():
                    continue
                if why := needed.get(path.name):
                    yield Kept(path, why)
                elif self.old:
                    names = readers.get(path.name, [])
                    read = f"read by {', '.join(names[-3:])} only" if names else "read by no campaign"
                    yield Prunable(path, kind, _bytes(path), read)

    def reports(self) -> Iterator[Prunable]:
        """Yield the reports of old campaigns; they can be made again."""
        for name in sorted(self.old - self.last):
            path = self.place.report(name, "")
            for report in sorted(path.parent.glob(f"{name}.*")) if path.parent.is_dir() else []:
                # One campaign's id may begin with another's.
                if report.name.removeprefix(f"{name}.").count(".") == 0 and report.is_file():
                    yield Prunable(report, "report", report.stat().st_size, "`drysweep report` makes it again")

    def _readers(self) -> dict[str, list[str]]:
        readers: dict[str, list[str]] = {}
        for campaign in self.campaigns:
            for digest in _digests(campaign):
                readers.setdefault(digest, []).append(campaign.id)
        return readers

    def _needed(self) -> dict[str, str]:
        """Return why each snapshot that has to stay does, by digest."""
        needed: dict[str, str] = {}
        seen_last = self._seen_last()
        for campaign in self.campaigns:
            if why := self._needs(campaign, seen_last):
                needed |= dict.fromkeys(_digests(campaign), f"{campaign.id} {why}")
        for campaign in self.campaigns:
            needed |= dict.fromkeys(self._pointed_at(campaign), f"an action of {campaign.id} points at it")
        return needed

    def _needs(self, campaign: Campaign, seen_last: set[str]) -> str | None:
        if journal.standing(campaign).outcome in GOING_ON:
            return "has not ended"
        if campaign.id in self.last:
            return "is the last one"
        if campaign.id not in self.old:
            return "is not old"
        if campaign.id in seen_last and campaign.declaration.sweep.fixed_by == "evidence":
            return "saw open findings last, and evidence may close them"
        return None

    def _seen_last(self) -> set[str]:
        if not self.home.history.exists():
            return set()
        with history(self.home) as connection:
            return {name for (name,) in connection.execute(_LAST_SEEN, [self.place.name]).fetchall()}

    def _pointed_at(self, campaign: Campaign) -> Iterator[str]:
        """Yield the digests of snapshots that the evidence of what people did names."""
        stored = [path.name for path in self.place.snapshots.iterdir()] if self.place.snapshots.is_dir() else []
        for action in journal.read_actions(campaign) if stored else []:
            # Closings name the snapshot that they looked at; what they say is landed, and does not need it.
            for deed in action.get("deeds", ()) if action["action"] == "deeds" else ():
                named = str(deed["deed"]["evidence"] or "").lower()
                yield from (digest for digest in stored if digest[:12] in named)


def _old(ordered: list[Campaign], limits: Limits) -> Iterator[Campaign]:
    if limits.keep is None and limits.before is None:
        return
    aged = ordered if limits.keep is None else ordered[: max(len(ordered) - limits.keep, 0)]
    yield from (each for each in aged if limits.before is None or each.started_at < limits.before)


def _digests(campaign: Campaign) -> set[str]:
    """Return the snapshots, and their copies with canaries, that a campaign's rounds read."""
    if isinstance(campaign.declaration.sweep.material, ScriptedMaterial):
        return set()
    folders = sorted(campaign.home.landing(campaign.id).glob(f"r*/{PLAN}"))
    plans = [read_plan(campaign, int(path.parent.name[1:])) for path in folders]
    return {digest for plan in plans if plan for digest in (plan.snapshot, plan.planted) if digest}


def _leftovers(place: SweepHome) -> Iterator[Prunable]:
    """Yield what dead processes left: files half-written, snapshots half-built, candidates that did not land."""
    why = "a process that died left it"
    for folder in (place.root, place.home.history.parent, place.home.root / "reports" / place.name):
        for path in sorted(folder.rglob("*.part")) if folder.is_dir() else []:
            if _is_dead(path):
                yield Prunable(path, "leftover", path.stat().st_size, why)
    for folder in (place.snapshots, place.planted):
        for path in sorted(folder.glob(".*")) if folder.is_dir() else []:
            if path.is_dir() and (path.name.startswith(_GOING) or _is_stale(path)):
                yield Prunable(path, "leftover", _bytes(path), why)
    for path in sorted(place.root.glob(f"{BUILDING}*")):
        yield Prunable(path, "leftover", path.stat().st_size, why)
    for path in sorted((place.root / "landing").glob(f"*/r*/{landing.ORPHANS}")):
        yield Prunable(path, "leftover", _bytes(path), "they did not land, as their wave was cut short")


def _is_dead(part: Path) -> bool:
    """Tell whether the process whose number a half-written file has is gone."""
    number = part.name.removesuffix(".part").rpartition(".")[2]
    return not (number.isdigit() and psutil.pid_exists(int(number))) or _is_stale(part)


def _is_stale(path: Path) -> bool:
    return path.stat().st_mtime < time.time() - _STALE_SECONDS


def _bytes(path: Path) -> int:
    if path.is_symlink():
        return 0
    return sum(each.lstat().st_size for each in path.rglob("*") if each.is_file())


def _out_of_the_way(path: Path) -> Path | None:
    """Remove a file; put a folder out of the way and return where it is now, to be removed from there."""
    # A link goes itself, never what it leads to.
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return None
    # In one step, so that no half of it is ever taken for the whole.
    going = path if path.name.startswith(_GOING) else path.with_name(f"{_GOING}{path.name}")
    return path if going == path else path.rename(going)


def age(text: str) -> timedelta | None:
    """Return a span written as a number of days, such as ``90d``, or of weeks, ``12w``; None for what is neither."""
    number, unit = text[:-1], text[-1:]
    if not number.isdecimal() or unit not in ("d", "w") or len(number) > 5:
        return None
    return timedelta(days=int(number) * (7 if unit == "w" else 1))

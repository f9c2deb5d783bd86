"""The ledger of a sweep made anew from what was landed, and what follows from it: state files and the history.

It is built beside its place and put there in one step. A process that dies on the way leaves the ledger that was there
or the new one, and whoever asks again comes to the same end.
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from drysweep_pipeline.convergence import Standing
from drysweep_pipeline.durable import sync
from drysweep_pipeline.engine import journal, standing
from drysweep_pipeline.engine.campaign import Campaign, campaigns, load
from drysweep_pipeline.engine.state import check_lease
from drysweep_pipeline.errors import IntegrityError, NotFound, Refused
from drysweep_pipeline.history import comparing
from drysweep_pipeline.history.publish import publish
from drysweep_pipeline.home import Home, SweepHome
from drysweep_pipeline.keeping import missing
from drysweep_pipeline.keeping.fault import RESTORE, Fault
from drysweep_pipeline.keeping.landed import faults_of
from drysweep_pipeline.keeping.steps import Step, begun, steps_of, take_in
from drysweep_pipeline.ledger import Ledger, is_sound, locked, opened
from drysweep_pipeline.ledger import journal as ledger_journal
from drysweep_pipeline.ledger.comparing import Difference, differences

BUILDING = ".rebuilding.duckdb"
STATE_FILES = (".json", ".lock", "-notify.lock")
"""What lies in the folder of states for a campaign, behind its id."""
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What became of a ledger: how much was taken in, and how the one before it differed.

    ``differs`` is None where there was none that could be read; ``kept`` is where the one before it lies now, None
    where it said the same, and is gone, or where there was none. ``given_up`` are the campaigns of which nothing is
    landed any more, and whose state files went.
    """

    campaigns: int
    steps: int
    differs: tuple[Difference, ...] | None
    kept: Path | None
    given_up: tuple[str, ...] = ()


def rebuild(
    home: Home, sweep: str, say: Callable[[str], None] = lambda _: None, *, without_missing: bool = False
) -> Rebuilt:
    """Make the ledger of a sweep anew from its landing, then its state files and its part of the history.

    ``say`` is told how far it is; ``without_missing`` goes on without what the ledger or the history took in and the
    landing has no more. Raises ``NotFound`` where nothing was landed, ``IntegrityError`` where a landed file is gone
    or not what was landed, ``Busy`` where a process works on a campaign of the sweep; nothing was changed then.
    """
    place = home.sweep(sweep)
    if not place.root.is_dir() or (not campaigns(home, sweep) and not place.ledger.exists()):
        raise NotFound("sweep", sweep, home.sweeps())
    with locked(place.ledger):
        _check_idle(place)
        _check_whole(place, say)
        if not without_missing:
            _check_all_there(home, place)
        if not campaigns(home, sweep):
            raise IntegrityError("nothing is landed that it could be made from", file=place.ledger, help=RESTORE)
        building = place.root / BUILDING
        try:
            steps = _built(home, sweep, building, say)
            rebuilt = _put(place.ledger, building, len(campaigns(home, sweep)), steps)
        finally:
            _remove(building)
        with opened(place.ledger) as ledger:
            say(f"{sweep}: publishing")
            publish(home, sweep, ledger, anew=True)
        for name in campaigns(home, sweep):
            _write_state(load(home, sweep, name))
        return replace(rebuilt, given_up=tuple(_give_up(place))) if without_missing else rebuilt


def fill(ledger: Ledger, home: Home, sweep: str, wanted: Callable[[Step], bool], say: Callable[[str], None]) -> int:
    """Take the wanted steps of a sweep into an empty ledger, in order, and return how many there were."""
    stands: dict[str, tuple[Campaign, Standing]] = {}
    steps = 0
    for step in steps_of(home, sweep):
        if not wanted(step):
            continue
        campaign = step.campaign
        before = stands[campaign.id][1] if campaign.id in stands else begun(campaign)
        stands[campaign.id] = campaign, _taken(ledger, step, before)
        steps += 1
        if step.kind == "decision":
            say(f"{sweep}/{campaign.id}: round {stands[campaign.id][1].rounds}")
    with ledger.transaction():
        for campaign, now in stands.values():
            since = journal.stands_since(campaign, now.rounds)
            ledger_journal.record_standing(ledger, campaign.id, now, since)
    return steps


def _taken(ledger: Ledger, step: Step, before: Standing) -> Standing:
    try:
        return take_in(ledger, step, before)
    except Refused as error:
        folder = step.campaign.home.landing(step.campaign.id)
        raise IntegrityError(f"what was landed does not go together: {error.what}", file=folder) from error


def _check_idle(place: SweepHome) -> None:
    """Raise ``Busy`` where a living process works on a campaign of the sweep."""
    for path in sorted((place.root / "state").glob("*.json")):
        # A state file that cannot be read is written anew; what works on its campaign waits for the ledger's lock.
        with contextlib.suppress(IntegrityError):
            check_lease(path)


def _check_whole(place: SweepHome, say: Callable[[str], None]) -> None:
    """Raise ``IntegrityError``, naming the first of them, where landed files are not what was landed."""
    found: list[Fault] = [fault for fault in faults_of(place, say) if not (fault.note or fault.stray)]
    if found:
        named = ", ".join(fault.named(place.home) for fault in found[:_SHOWN])
        more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        raise IntegrityError(
            f"{len(found)} landed files are not what was landed, and the ledger is left as it is: {named}{more}",
            file=found[0].file,
            help=f"restore them from a copy; `drysweep verify {place.name}` lists all",
        )


def _check_all_there(home: Home, place: SweepHome) -> None:
    """Raise ``IntegrityError``, naming the first, where the ledger or the history took in what the landing lacks."""
    with comparing.opened(home) as past:
        published = comparing.published(past, place.name) if past else {}
    found = list(missing.faults_of(place, _witness(place, published)))
    if found:
        more = f", and {len(found) - 1} more" if len(found) > 1 else ""
        raise IntegrityError(
            f"the landing lacks what was taken in, and the ledger is left as it is: {found[0].what}{more}",
            file=found[0].file,
            help=f"{RESTORE}; `drysweep verify {place.name}` lists all, --without-missing gives them up for good",
        )


def _witness(place: SweepHome, published: comparing.Published) -> missing.Witness:
    with contextlib.suppress(IntegrityError):
        if is_sound(place.ledger):
            with opened(place.ledger) as ledger:
                return missing.Witness.of(ledger, published)
    return missing.Witness.of(None, published)


def _built(home: Home, sweep: str, building: Path, say: Callable[[str], None]) -> int:
    _remove(building)
    with opened(building) as ledger:
        return fill(ledger, home, sweep, lambda _: True, say)


def _put(path: Path, building: Path, known: int, steps: int) -> Rebuilt:
    """Put a built ledger in its place; one that said otherwise, or cannot be read, is kept beside it."""
    before: tuple[Difference, ...] | None = None
    kept = None
    # Whatever is in its log is in the file itself after this, so that no log is left for the new file.
    if is_sound(path):
        with contextlib.suppress(IntegrityError):
            before = tuple(differences(path, building))
    if path.exists() and before != ():
        kept = path.with_name(f"ledger.before-{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}.duckdb")
        os.link(path, kept)
    log = _log(path)
    if log.exists():
        if kept is not None:
            log.rename(_log(kept))
        else:
            log.unlink()
    sync(building)
    building.replace(path)
    sync(path.parent)
    return Rebuilt(known, steps, before, kept)


def _write_state(campaign: Campaign) -> None:
    try:
        published = standing.is_published(campaign)
    except IntegrityError:
        campaign.state_path.unlink()
        published = False
    if not published:
        standing.write(campaign, journal.standing(campaign))


def _give_up(place: SweepHome) -> Iterator[str]:
    """Remove the state files of campaigns that are landed no more, and yield their names.

    Left there, the sensor would go on asking for rounds of one that was running, and later ones would wait for it.
    """
    known = set(campaigns(place.home, place.name))
    for path in sorted((place.root / "state").glob("*.json")):
        name = path.name.removesuffix(".json")
        if name not in known:
            for suffix in STATE_FILES:
                path.with_name(f"{name}{suffix}").unlink(missing_ok=True)
            yield name


def _remove(ledger: Path) -> None:
    for path in (ledger, _log(ledger)):
        path.unlink(missing_ok=True)


def _log(ledger: Path) -> Path:
    return ledger.with_name(ledger.name + ".wal")

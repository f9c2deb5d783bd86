"""Whether the stored snapshots of a sweep are what was frozen, and whether those that its rounds read are there."""

from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

from drysweep_pipeline.declaration.model import ScriptedMaterial
from drysweep_pipeline.engine.campaign import FILE, load
from drysweep_pipeline.engine.journal import read_landed
from drysweep_pipeline.engine.planning import PLAN, read_plan
from drysweep_pipeline.errors import DrysweepError, IntegrityError
from drysweep_pipeline.home import SweepHome
from drysweep_pipeline.keeping.fault import RESTORE, Fault
from drysweep_pipeline.keeping.gone import gone, listed
from drysweep_pipeline.material import Snapshot

_FREEZE_AGAIN = "restore it from a copy; without it, nobody can look at it again, and findings have no text beside them"


def faults_of(place: SweepHome, say: Callable[[str], None] = lambda _: None) -> Iterator[Fault]:
    """Yield what is wrong with the snapshots of a sweep, and with the copies of them in which canaries are planted."""
    for folder, help in ((place.snapshots, _FREEZE_AGAIN), (place.planted, "remove it; it is made again")):
        for path in sorted(folder.iterdir()) if folder.is_dir() else []:
            say(f"{place.name}: {folder.name}/{path.name[:12]}")
            yield from _of_one(path, help)
    yield from _missing(place)


def _of_one(path: Path, help: str) -> Iterator[Fault]:
    if path.name.startswith("."):
        if path.is_dir():
            yield Fault(path, "a process that died left it half-built", "`drysweep prune` removes it", note=True)
        return
    try:
        Snapshot.check_seal(path)
        Snapshot.open(path)
    except IntegrityError as error:
        yield Fault(Path(error.file or path), error.what, help)


def _missing(place: SweepHome) -> Iterator[Fault]:
    """Yield the snapshots that rounds read and that are not there, but for those that were pruned since."""
    try:
        pruned = {digest: datetime.fromisoformat(at) for digest, at in gone(place).items()}
    except (DrysweepError, KeyError, TypeError, ValueError, AttributeError) as error:
        what = error.what if isinstance(error, DrysweepError) else "it is no list of pruned snapshots"
        yield Fault(listed(place), what, RESTORE)
        return
    told = set()
    for plan, digest, read_at in _read(place):
        since = digest in pruned and read_at <= pruned[digest]
        if not since and digest not in told and not (place.snapshots / digest).exists():
            told.add(digest)
            said = plan.relative_to(place.root)
            yield Fault(place.snapshots / digest, f"the snapshot that {said} names is gone", _FREEZE_AGAIN)


def _read(place: SweepHome) -> Iterator[tuple[Path, str, datetime]]:
    """Yield the plan of each round, the digest of the snapshot that it names, and when that was read last."""
    landing = place.root / "landing"
    for record in sorted(landing.glob(f"*/{FILE}")) if landing.is_dir() else []:
        try:
            campaign = load(place.home, place.name, record.parent.name)
            if isinstance(campaign.declaration.sweep.material, ScriptedMaterial):
                continue
            for path in sorted(record.parent.glob(f"r*/{PLAN}")):
                round = int(path.parent.name[1:])
                if (plan := read_plan(campaign, round)) is not None:
                    landed = read_landed(campaign, round)
                    taken = datetime.fromisoformat(landed.taken_at) if landed else campaign.started_at
                    yield path, plan.snapshot, max(campaign.started_at, taken)
        except (DrysweepError, KeyError, TypeError, ValueError):
            continue  # told where landed files are looked at

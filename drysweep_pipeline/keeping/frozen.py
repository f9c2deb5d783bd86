"""Whether the stored snapshots of a sweep are what was frozen, and whether those that its rounds read are there."""

from collections.abc import Callable, Iterator
from pathlib import Path

from drysweep_pipeline.declaration.model import ScriptedMaterial
from drysweep_pipeline.engine.campaign import FILE, load
from drysweep_pipeline.engine.planning import PLAN, read_plan
from drysweep_pipeline.errors import DrysweepError, IntegrityError
from drysweep_pipeline.home import SweepHome
from drysweep_pipeline.keeping.fault import Fault
from drysweep_pipeline.keeping.gone import gone
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
    """Yield the snapshots that rounds read and that are not there, but for those that were pruned."""
    wanted: dict[str, Path] = {}
    landing = place.root / "landing"
    for record in sorted(landing.glob(f"*/{FILE}")) if landing.is_dir() else []:
        try:
            campaign = load(place.home, place.name, record.parent.name)
            if isinstance(campaign.declaration.sweep.material, ScriptedMaterial):
                continue
            for path in sorted(record.parent.glob(f"r*/{PLAN}")):
                plan = read_plan(campaign, int(path.parent.name[1:]))
                if plan is not None:
                    wanted.setdefault(plan.snapshot, path)
        except (DrysweepError, KeyError, TypeError, ValueError):
            continue  # told where landed files are looked at
    pruned = gone(place)
    for digest, path in wanted.items():
        if digest not in pruned and not (place.snapshots / digest).exists():
            said = path.relative_to(place.root)
            yield Fault(place.snapshots / digest, f"the snapshot that {said} names is gone", _FREEZE_AGAIN)

"""Whether the landed files of a sweep are what was landed, all there, and nothing beside them.

A round that is under way may lack anything that it has not come to. What a killed process leaves is told, and no fault.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from drysweep_pipeline import landing
from drysweep_pipeline.budget import Budget, Spent
from drysweep_pipeline.convergence import Answer, Standing, after_answer, after_round
from drysweep_pipeline.durable import SEAL, read_json, sha256_of
from drysweep_pipeline.engine import churn, journal, judging, planning, votes
from drysweep_pipeline.engine.campaign import FILE, Campaign, as_json, load
from drysweep_pipeline.errors import DrysweepError, IntegrityError
from drysweep_pipeline.home import SweepHome
from drysweep_pipeline.keeping.fault import RESTORE, Fault
from drysweep_pipeline.landing import LandedFile, Manifest
from drysweep_pipeline.notifications.record import FILE as TOLD

_ROUND = re.compile(r"r([0-9]{3,})")
_ACTION = re.compile(r"([0-9]{6,})\.json")
_CANDIDATES = re.compile(r".+\.a[0-9]+\.parquet")
# What a decided round has, whatever it found; the first four in every version that wrote any.
_ALWAYS = (planning.PLAN, landing.MANIFEST, judging.VERDICTS_MANIFEST, judging.VERDICTS)
_OF_A_ROUND = frozenset((*_ALWAYS, journal.DECISION, journal.CALLS, journal.JUDGED, churn.FILE, landing.ORPHANS))
_STRAY = "it is none of what drysweep landed, and is not read"


def faults_of(place: SweepHome, say: Callable[[str], None] = lambda _: None) -> Iterator[Fault]:
    """Yield what is wrong with the landed files of a sweep, campaign after campaign; ``say`` is told where it is."""
    folder = place.root / "landing"
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        say(f"{place.name}/{path.name}: landed files")
        if path.is_dir():
            yield from _of_campaign(place, path)
        else:
            yield _stray(path)


def _of_campaign(place: SweepHome, folder: Path) -> Iterator[Fault]:
    record = folder / FILE
    if not record.exists():
        yield Fault(folder, f"there is no {FILE}, so that nobody knows whose it is", RESTORE)
        return
    unsealed = list(_unsealed(folder))
    yield from _bad_json(folder)
    try:
        campaign = load(place.home, place.name, folder.name)
        _check_record(campaign, record)
    except (DrysweepError, KeyError, TypeError, ValueError) as error:
        yield Fault(record, _told(error), RESTORE)
        return
    if record in unsealed:
        help = "what it says is held against the ledger"
        yield Fault(record, "an earlier drysweep wrote it, without a seal", help, note=True)
    else:
        yield from (Fault(path, "it lost its seal: it is not what was written", RESTORE) for path in unsealed)
    yield from _Rounds(campaign).faults()
    yield from _of_actions(campaign)
    for path in sorted(folder.iterdir()):
        if path.name not in (FILE, TOLD, "actions") and not _ROUND.fullmatch(path.name):
            yield _stray(path)


def _unsealed(folder: Path) -> Iterator[Path]:
    """Yield the JSON files that carry no seal; what cannot be read at all is told of elsewhere."""
    for path in sorted(folder.rglob("*.json")):
        if landing.ORPHANS not in path.parts and f'"{SEAL}": "'.encode() not in path.read_bytes():
            yield path


def _bad_json(folder: Path) -> Iterator[Fault]:
    for path in sorted(folder.rglob("*.json")):
        try:
            read_json(path)
        except IntegrityError as error:
            yield Fault(path, error.what, error.help or RESTORE)


def _check_record(campaign: Campaign, record: Path) -> None:
    """Raise ``IntegrityError`` where a campaign's record says more or other things than drysweep does."""
    data = read_json(record)
    if extra := set(data) - set(as_json(campaign)):
        raise IntegrityError(f"it has keys that drysweep did not write: {', '.join(sorted(extra))}", file=record)
    if campaign.id != record.parent.name or data["sweep"] != campaign.home.name:
        raise IntegrityError(f"it is the record of {data['sweep']}/{campaign.id}", file=record)


class _Rounds:
    """The rounds of one campaign, while they are looked through in order."""

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign
        self.folder = campaign.home.landing(campaign.id)
        self.answers: dict[int, list[Answer]] = {}
        self.now: Standing | None = None
        with suppress(DrysweepError, KeyError, TypeError, ValueError):  # told where actions are looked at
            self.answers = journal.answers_of(campaign)
            self.now = journal.standing_before(campaign, 1)

    def faults(self) -> Iterator[Fault]:
        """Yield what is wrong with the rounds: those that there are, one by one, and that none lacks before another."""
        found = sorted(int(m[1]) for path in self.folder.iterdir() if (m := _ROUND.fullmatch(path.name)))
        for round in range(1, (found[-1] if found else 0) + 1):
            folder = self.campaign.folder(round)
            if round not in found:
                yield Fault(folder, "the round is gone, and later ones are there", RESTORE)
                self.now = None
            else:
                try:
                    yield from self._of_round(round, folder, last=round == found[-1])
                except (DrysweepError, KeyError, TypeError, ValueError) as error:
                    # Which file it is was told before, where the error does not know.
                    self.now = None
                    if isinstance(error, DrysweepError) and error.file and Path(error.file).suffix != ".json":
                        yield Fault(Path(error.file), error.what, error.help or RESTORE)
                    elif not list(_bad_json(folder)):
                        yield Fault(folder, _told(error), RESTORE)

    def _of_round(self, round: int, folder: Path, *, last: bool) -> Iterator[Fault]:
        manifest = landing.read_manifest(folder)
        result = journal.read_result(self.campaign, round)
        if result is not None or not last:
            gone = [name for name in _ALWAYS if not (folder / name).exists()]
            gone += [] if result is not None or (folder / journal.DECISION).exists() else [journal.DECISION]
            yield from (Fault(folder / name, "it is gone, and the round was decided", RESTORE) for name in gone)
        if result is None and not last and (folder / journal.DECISION).exists():
            yield Fault(folder / journal.DECISION, "the round was not decided, and later ones are there", RESTORE)
        yield from self._of_files(round, folder, manifest)
        yield from self._of_calls(folder, decided=result is not None)
        yield from self._of_decision(round, folder)
        yield from self._strays(round, folder, manifest, decided=result is not None)

    def _of_files(self, round: int, folder: Path, manifest: Manifest | None) -> Iterator[Fault]:
        """Yield the Parquet files that are not what was landed."""
        landed = journal.read_landed(self.campaign, round)
        spoilt = (landed.spoilt if landed else None) or {}
        for run in manifest.runs if manifest else ():
            for fault in _unlike(folder, run.file):
                if run.strategy in spoilt:
                    what = f"it was bad when it was taken in already, and {run.strategy} counts as not run"
                    fault = Fault(fault.file, what, note=True)
                yield fault
        yield from _unlike(folder, judging.landed_file(self.campaign, round))
        for file in self._reverted(round):
            yield from _unlike(folder, file)

    def _reverted(self, round: int) -> list[LandedFile]:
        tested = churn.read(self.campaign, round)
        return list({test.file.name: test.file for test in tested.tests if test.file}.values()) if tested else []

    def _of_calls(self, folder: Path, *, decided: bool) -> Iterator[Fault]:
        path = folder / journal.CALLS
        sha256 = read_json(folder / journal.DECISION)["decision"].get("calls_sha256") if decided else None
        if sha256 is not None and not path.exists():
            yield Fault(path, "it is gone, and the round was decided", RESTORE)
        elif sha256 is not None and sha256_of(path) != sha256:
            yield Fault(path, "corrupt_artifact: it is not what was spent when the round was decided", RESTORE)
        elif path.exists():
            try:
                Budget(None, Spent(), path)
            except IntegrityError as error:
                yield Fault(path, error.what, RESTORE)

    def _of_decision(self, round: int, folder: Path) -> Iterator[Fault]:
        """Yield a decision that does not follow from the rounds before it and from what people answered."""
        result, path = journal.read_result(self.campaign, round), folder / journal.DECISION
        if result is None or self.now is None:
            return
        self.now, _ = after_round(self.now, self.campaign.policy, result)
        said: dict[str, Any] = read_json(path)["decision"]["standing"]
        # Older decisions know less of a standing than newer ones.
        follows = {name: value for name, value in asdict(self.now).items() if name in said}
        if follows != said:
            yield Fault(path, "where it says the campaign stands does not follow from its rounds", RESTORE)
        for answer in self.answers.get(round, []):
            self.now, _ = after_answer(self.now, answer)

    def _strays(self, round: int, folder: Path, manifest: Manifest | None, *, decided: bool) -> Iterator[Fault]:
        known = {run.file.name for run in manifest.runs if run.file} if manifest else set()
        known |= {file.name for file in self._reverted(round)} | _OF_A_ROUND
        for path in sorted(folder.iterdir()):
            if path.name in known or _is_lock(path):
                continue
            under_way = not decided and (path.name == votes.FILE or path.name.startswith("reverted-"))
            if under_way or (manifest is None and _CANDIDATES.fullmatch(path.name)):
                continue
            yield _stray(path)


def _of_actions(campaign: Campaign) -> Iterator[Fault]:
    folder = campaign.home.actions(campaign.id)
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    numbers = [int(m[1]) for path in paths if (m := _ACTION.fullmatch(path.name))]
    yield from (_stray(path) for path in paths if not _ACTION.fullmatch(path.name))
    for number in sorted(set(range(1, max(numbers, default=0))) - set(numbers)):
        yield Fault(folder / f"{number:06d}.json", "it is gone, and later ones are there", RESTORE)


def _unlike(folder: Path, file: LandedFile | None) -> Iterator[Fault]:
    if file is None:
        return
    try:
        landing.verify(folder, file)
    except IntegrityError as error:
        yield Fault(folder / file.name, error.what, error.help or RESTORE)


def _is_lock(path: Path) -> bool:
    return path.name.startswith(".") and path.suffix == ".lock"


def _stray(path: Path) -> Fault:
    if path.name.endswith(".part"):
        return Fault(path, "a process that died left it", "`drysweep prune` removes it", note=True)
    return Fault(path, _STRAY, "move it elsewhere", stray=True)


def _told(error: Exception) -> str:
    return error.what if isinstance(error, DrysweepError) else f"not readable: {error!r}"

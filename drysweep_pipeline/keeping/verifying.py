"""Whether what is recorded of a sweep is what was recorded: landing, snapshots, ledger, state files and history.

Nothing is written, and the ledger is held only while it is copied. What the ledger says is held against one that is
made from the landing, in a temporary folder: it must say the same, to the last event.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from drysweep_pipeline.durable import is_sealed, read_json
from drysweep_pipeline.engine import actions, journal, rounds, standing
from drysweep_pipeline.engine.campaign import FILE, Campaign, campaigns, load
from drysweep_pipeline.engine.state import State, read_state
from drysweep_pipeline.errors import DrysweepError, IntegrityError
from drysweep_pipeline.history import comparing
from drysweep_pipeline.history.parquet import STRAY
from drysweep_pipeline.history.publish import publish, spoilt_parquet
from drysweep_pipeline.home import Home, SweepHome
from drysweep_pipeline.keeping import missing
from drysweep_pipeline.keeping.fault import RESTORE, Fault
from drysweep_pipeline.keeping.frozen import faults_of as faults_of_snapshots
from drysweep_pipeline.keeping.landed import faults_of as faults_of_landing
from drysweep_pipeline.keeping.rebuilding import BUILDING, STATE_FILES, fill
from drysweep_pipeline.keeping.steps import Step
from drysweep_pipeline.ledger import Ledger, locked_to_look, opened
from drysweep_pipeline.ledger import journal as ledger_journal
from drysweep_pipeline.ledger.comparing import differences
from drysweep_pipeline.temporary import temporary_folder

Say = Callable[[str], None]
_COPY = "ledger.duckdb"
_KNOWN = frozenset(
    ("snapshots", "planted", "landing", "state", "ledger.duckdb", "ledger.duckdb.wal", "ledger.lock", "pruned.json")
)


def verify(home: Home, sweep: str, say: Say = lambda _: None) -> Iterator[Fault]:
    """Yield what is not as it was recorded of a sweep, as it is found; ``say`` is told where it is.

    A round that is under way is no fault. Raises ``Busy`` where the ledger is being written for too long.
    """
    place = home.sweep(sweep)
    if not place.root.is_dir():
        yield Fault(place.root, "it is gone, and the history knows the sweep", RESTORE)
        return
    told: set[Path] = set()
    for fault in faults_of_landing(place, say):
        told |= set() if fault.note or fault.stray else {fault.file}
        yield fault
    yield from faults_of_snapshots(place, say)
    yield from of_states(place)
    yield from _of_parquet(home, sweep)
    yield from _of_ledger(home, place, say, told)
    yield from _strays(place)


def _of_ledger(home: Home, place: SweepHome, say: Say, told: set[Path]) -> Iterator[Fault]:
    """Yield what ledger and history have and the landing lacks, or else where they are not what follows from it.

    ``told`` are the landed files that were named already.
    """
    with temporary_folder() as folder:
        try:
            yield from _held(home, place, say, told, folder)
        except IntegrityError as error:
            file = Path(error.file or place.ledger)
            inside, again = file.is_relative_to(folder), _anew(place)
            what = error.what.replace(str(folder / _COPY), str(place.ledger))
            yield Fault(place.ledger if inside else file, what, again if inside else error.help or again)


def _held(home: Home, place: SweepHome, say: Say, told: set[Path], folder: Path) -> Iterator[Fault]:
    """Hold copies, which are made in a folder, against the landing; where that is not whole, only what it lacks."""
    with ExitStack() as stack:
        copy = folder / _COPY
        with locked_to_look(place.ledger):
            at = datetime.now(UTC)
            _copy(place.ledger, copy)
            # Whatever is published from now on, this goes on reading what was there.
            past = stack.enter_context(comparing.opened(home))
        whole = not told
        published = comparing.published(past, place.name) if past else {}
        for fault in missing.faults_of(place, _witness(copy, published)):
            whole = False
            if fault.file not in told:
                yield fault
        if not whole:
            what = "it was not held against the landing, which is not what was landed"
            yield Fault(place.ledger, what, "mend the landed files first", note=True)
        elif copy.exists():
            yield from _of_copies(home, place, say, folder, past, at)
        elif campaigns(home, place.name):
            yield Fault(place.ledger, "it is gone", _anew(place))


def _of_copies(
    home: Home, place: SweepHome, say: Say, folder: Path, past: comparing.Opened, at: datetime
) -> Iterator[Fault]:
    """Yield where the copied ledger and the history are not what is made anew from the landing."""
    copy, built = folder / _COPY, folder / "landed.duckdb"
    with opened(copy) as ledger:
        taken = _Taken.of(home, place.name, ledger, at)
    with opened(built) as ledger:
        fill(ledger, home, place.name, taken.wanted, say)
        yield from _ended_otherwise(place, ledger, copy)
        expected = _published(home, place.name, ledger, folder / "home")
    for each in differences(copy, built):
        yield Fault(place.ledger, f"it is not what was landed: {each}", _anew(place))
    say(f"{place.name}: history")
    said = comparing.says(past, place.name, home.history) if past else None
    yield from _of_history(home, place.name, said, expected, taken)


def _anew(place: SweepHome) -> str:
    return f"`drysweep rebuild {place.name}` makes it anew from the landing"


def _witness(copy: Path, published: comparing.Published) -> missing.Witness:
    """Return what the copied ledger, where there is one, and the history took in."""
    if not copy.exists():
        return missing.Witness.of(None, published)
    with opened(copy) as ledger:
        return missing.Witness.of(ledger, published)


def _ended_otherwise(place: SweepHome, built: Ledger, copy: Path) -> Iterator[Fault]:
    """Yield a note for each campaign whose end an earlier drysweep took when it published, and take that for its end.

    Such a campaign's record has no seal; a newer one takes the end from what was landed.
    """
    with opened(copy) as ledger:
        said = ledger_journal.ends(ledger)
    for name, at in ledger_journal.ends(built).items():
        if at is None or said.get(name) in (None, at) or is_sealed((place.landing(name) / FILE).read_bytes()):
            continue
        ledger_journal.set_end(built, name, said[name] or at)
        what = f"it has the end of {name} as an earlier drysweep published it, and not as it was landed"
        yield Fault(place.ledger, what, "nothing else differs, and nothing needs to be done", note=True)


def _published(home: Home, sweep: str, ledger: Ledger, folder: Path) -> comparing.Says:
    """Return what a history says that was made from this ledger alone."""
    # The landed files are read where they are; the history is one of its own.
    (folder / "sweeps").mkdir(parents=True)
    (folder / "sweeps" / sweep).symlink_to(home.sweep(sweep).root)
    alone = Home(folder)
    publish(alone, sweep, ledger, anew=True, files=False)
    with comparing.opened(alone) as connection:
        return comparing.says(connection, sweep, alone.history) if connection else {}


def _of_history(
    home: Home, sweep: str, said: comparing.Says | None, expected: comparing.Says, taken: "_Taken"
) -> Iterator[Fault]:
    """Yield where the published history does not say what the ledger does."""
    if taken.campaigns - taken.published:
        behind = ", ".join(sorted(taken.campaigns - taken.published))
        what = f"it does not say yet where {behind} stands"
        yield Fault(home.history, what, "whoever goes on with it, or the next campaign, publishes it", note=True)
    elif said is None:
        yield Fault(home.history, "it is gone", f"`drysweep rebuild {sweep}` publishes it anew")
    elif differs := comparing.differing(said, expected, under_way=taken.under_way):
        what = f"it does not say what the ledger of {sweep} does: {'; '.join(differs)}"
        yield Fault(home.history, what, f"`drysweep rebuild {sweep}` publishes it anew")


def _copy(ledger: Path, copy: Path) -> None:
    for suffix in ("", ".wal"):
        source = ledger.with_name(ledger.name + suffix)
        if source.exists():
            shutil.copyfile(source, copy.with_name(copy.name + suffix))


@dataclass(frozen=True, slots=True)
class _Taken:
    """What a copied ledger had taken in, after what a process did not live to commit was taken in as well.

    ``rounds`` are (campaign, round) with how far each had come; ``published`` are the campaigns that were visible.
    """

    at: datetime
    rounds: dict[tuple[str, int], ledger_journal.RoundRow]
    actions: dict[str, int]
    campaigns: frozenset[str]
    published: frozenset[str]

    @classmethod
    def of(cls, home: Home, sweep: str, ledger: Ledger, at: datetime) -> "_Taken":
        known = {name: load(home, sweep, name) for name in campaigns(home, sweep)}
        visible, before = set(), ledger_journal.actions_taken(ledger)
        for campaign in known.values():
            visible |= {campaign.id} if _mended(ledger, campaign) else set()
        # An answer need not change where its campaign stands, and yet is in no history until somebody goes on.
        visible -= {name for name, last in ledger_journal.actions_taken(ledger).items() if last > before.get(name, 0)}
        taken = ledger_journal.rounds_taken(ledger)
        return cls(
            at,
            taken,
            ledger_journal.actions_taken(ledger),
            frozenset(name for name in known if ledger_journal.campaign_row(ledger, name)),
            frozenset(visible),
        )

    @property
    def under_way(self) -> bool:
        """Tell whether a round was taken in and not decided yet: what it did so far may be published or not."""
        return any(row.outcome is None for row in self.rounds.values())

    def wanted(self, step: Step) -> bool:
        """Tell whether a step belongs to what the ledger should hold: it does, or was to when it was copied."""
        name, row = step.campaign.id, self.rounds.get((step.campaign.id, step.round))
        if step.kind == "record":
            return name in self.campaigns or step.at <= self.at
        if step.kind == "action":
            return step.number <= self.actions.get(name, 0)
        if step.kind == "intake":
            return row is not None or (step.decided and step.at <= self.at)
        if step.kind == "judged":
            return bool(row and row.judged) or (step.decided and step.at <= self.at)
        return bool(row and row.outcome) or step.at <= self.at


def _mended(ledger: Ledger, campaign: Campaign) -> bool:
    """Take into a copy what was landed only, and tell whether the campaign's standing had been made visible."""
    rounds.commit_landed(ledger, campaign)
    actions.take_in_landed(ledger, campaign)
    now = journal.standing(campaign)
    try:
        visible = standing.is_published(campaign)
    except IntegrityError:
        visible = True
    if not visible:
        with ledger.transaction():
            ledger_journal.record_standing(ledger, campaign.id, now, journal.stands_since(campaign, now.rounds))
    return visible


def _of_parquet(home: Home, sweep: str) -> Iterator[Fault]:
    again = f"`drysweep rebuild {sweep}` writes it anew"
    for path, what in spoilt_parquet(home, sweep).items():
        stray = what == STRAY
        yield Fault(path, what, "move it elsewhere" if stray else again, stray=stray)


def of_states(place: SweepHome) -> Iterator[Fault]:
    """Yield state files that do not say where their campaign stands, but for those of a campaign under way."""
    again = f"`drysweep rebuild {place.name}` writes it anew"
    for name in _recorded(place):
        path = place.state(name)
        try:
            campaign, state = load(place.home, place.name, name), read_state(path)
            _check_seal(path)
            if state is None:
                yield Fault(path, "it is gone", again)
            elif not (state.lease and state.lease.alive) and _says_otherwise(campaign, state):
                yield Fault(path, "it does not say where the campaign stands", again)
        except (DrysweepError, TypeError, ValueError) as error:
            if not isinstance(error, DrysweepError) or error.file == str(path):
                yield Fault(path, error.what if isinstance(error, DrysweepError) else f"not readable: {error}", again)


def _check_seal(path: Path) -> None:
    if path.exists():
        read_json(path)


def _says_otherwise(campaign: Campaign, state: State) -> bool:
    record = (campaign.home.name, campaign.id, campaign.as_of.isoformat(), campaign.seq, campaign.policy.k)
    if (state.sweep, state.campaign, state.as_of, state.seq, state.k) != record:
        return True
    # What lags behind by a round or an answer that a process did not live to publish is mended by whoever goes on.
    stood = journal.stood(campaign)
    return state.rounds >= stood[-1].rounds and not any(standing.says(state, each) for each in stood)


def _recorded(place: SweepHome) -> list[str]:
    try:
        return campaigns(place.home, place.name)
    except (DrysweepError, KeyError, TypeError):
        folder = place.root / "landing"
        return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def _strays(place: SweepHome) -> Iterator[Fault]:
    """Yield what lies beside the sweep's own files."""
    for path in sorted(place.root.iterdir()) if place.root.is_dir() else []:
        if path.name in _KNOWN or path.name.startswith("ledger.before-"):
            continue
        if path.name.startswith((BUILDING, ".rebuilding")) or path.name.endswith(".part"):
            yield Fault(path, "a process that died left it", "`drysweep prune` removes it", note=True)
        else:
            yield Fault(path, "it is none of what drysweep wrote", "move it elsewhere", stray=True)
    states = place.root / "state"
    expected = {f"{name}{suffix}" for name in _recorded(place) for suffix in STATE_FILES}
    for path in sorted(states.iterdir()) if states.is_dir() else []:
        if path.name not in expected and not path.name.endswith(".part"):
            yield Fault(path, "it is the state of no recorded campaign", "move it elsewhere", stray=True)

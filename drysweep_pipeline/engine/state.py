"""The small file a campaign's driver reads: where it stands, which round is due, and who drives it.

Written whole, under a file lock, from the campaign's journal; it never goes back because a round was run again. A
lease names the process that works on the campaign; a lease whose process is gone is no lease.
"""

import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import filelock
import psutil

from drysweep_pipeline.durable import read_json, write_json
from drysweep_pipeline.errors import Busy, IntegrityError
from drysweep_pipeline.values import Outcome

Driver = Literal["cli", "sensor"]
GOING_ON = (Outcome.RUNNING, Outcome.NEEDS_DECISION)
"""The outcomes of a campaign that has not ended."""
SCHEMA_VERSION = 1
_KEPT = ("driver", "lease", "queued", "looked_again")


@dataclass(frozen=True, slots=True)
class Lease:
    """The process that works on a campaign: host, process id and when that process started (seconds since 1970).

    ``holder`` is the Dagster run for which it works.
    """

    host: str
    pid: int
    started: float
    holder: str | None = None

    @classmethod
    def mine(cls, holder: str | None = None) -> "Lease":
        """Return the lease of this process."""
        return cls(socket.gethostname(), os.getpid(), round(psutil.Process().create_time(), 2), holder)

    def same_process(self, other: "Lease") -> bool:
        """Tell whether two leases name one process."""
        return (self.host, self.pid, self.started) == (other.host, other.pid, other.started)

    @property
    def is_here(self) -> bool:
        """Tell whether the process is one of this host."""
        return self.host == socket.gethostname()

    @property
    def alive(self) -> bool:
        """Tell whether the process still runs; on another host nobody can tell, so it counts as running."""
        if not self.is_here:
            return True
        try:
            return abs(psutil.Process(self.pid).create_time() - self.started) < 1
        except psutil.NoSuchProcess:
            return False


@dataclass(frozen=True, slots=True)
class State:
    """Where a campaign stands, as its driver sees it; ``next`` is the round that is due, or None.

    A ``queued`` campaign was recorded to start once those recorded before it have ended. One that ``looked_again`` at a
    stored snapshot holds no other up.
    """

    sweep: str
    campaign: str
    as_of: str
    seq: int
    driver: Driver
    outcome: Outcome = Outcome.RUNNING
    reason: str | None = None
    k: int = 2
    rounds: int = 0
    quiet: int = 0
    next: int | None = 1
    lease: Lease | None = None
    reported: bool = False
    queued: bool = False
    looked_again: bool = False
    schema_version: int = SCHEMA_VERSION


def read_state(path: Path) -> State | None:
    """Return a campaign's state, or None where there is none yet. Raises ``IntegrityError`` where it is none."""
    if not path.exists():
        return None
    again = f"`drysweep rebuild {path.parent.parent.name}` writes it anew"
    try:
        # All that it says is written anew after the next round; nothing is decided by it.
        data: dict[str, Any] = read_json(path, check=False)
    except IntegrityError as error:
        raise IntegrityError(error.what, file=path, help=again) from None
    try:
        lease = Lease(**data.pop("lease")) if data.get("lease") else None
        return State(**{**data, "outcome": Outcome(data["outcome"]), "lease": lease})
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise IntegrityError(f"is no state of a campaign: {error}", file=path, help=again) from None


def read_states(folder: Path) -> list[State]:
    """Return the states of all campaigns of a sweep, by sequence."""
    states = [read_state(path) for path in sorted(folder.glob("*.json"))] if folder.is_dir() else []
    return sorted((state for state in states if state is not None), key=lambda state: state.seq)


def write_state(path: Path, state: State) -> None:
    """Put the state in place, whole; who drives it, who works on it and how it was started stay as they are."""
    with _locked(path):
        before = read_state(path)
        if before is not None:
            kept = {name: getattr(before, name) for name in _KEPT}
            state = replace(state, **kept)
        write_json(path, asdict(state))


def change_state(path: Path, **changes: Any) -> None:
    """Change single keys of a state that exists."""
    with _locked(path):
        state = read_state(path)
        if state is not None:
            write_json(path, asdict(replace(state, **changes)))


def queued_behind(state: State, states: Sequence[State]) -> list[State]:
    """Return the campaigns that have to end before a queued one may start, in the order they were recorded.

    ``states`` are those of the sweep. Only what the sensor drives is waited for, and only until the first round is
    done; a campaign that a person drives waits for none.
    """
    if not (state.queued and state.driver == "sensor" and state.outcome is Outcome.RUNNING and state.rounds == 0):
        return []
    earlier = sorted((each for each in states if each.seq < state.seq), key=lambda each: each.seq)
    return [each for each in earlier if each.driver == "sensor" and each.outcome in GOING_ON and not each.looked_again]


def hand_over(path: Path) -> Driver | None:
    """Have the sensor drive a campaign that no living process of the command line works on, and return who drives it.

    None where there is no state.
    """
    with _locked(path):
        state = read_state(path)
        if state is None or state.driver == "sensor":
            return state.driver if state else None
        lease = state.lease
        if lease is not None and lease.alive and not lease.same_process(Lease.mine()):
            return "cli"
        write_json(path, asdict(replace(state, driver="sensor")))
    return "sensor"


def check_lease(path: Path) -> None:
    """Raise ``Busy`` where another living process works on the campaign, naming it."""
    state = read_state(path)
    if state is None or state.lease is None:
        return
    if not state.lease.same_process(Lease.mine()) and state.lease.alive:
        raise Busy(
            f"campaign {state.campaign} is being run by process {state.lease.pid} on {state.lease.host}",
            help="wait for it, or stop that process",
        )


def take_lease(path: Path, driver: Driver | None = None, holder: str | None = None) -> None:
    """Make this process the one that works on the campaign. Raises ``Busy`` naming the process that does."""
    mine = Lease.mine(holder)
    with _locked(path):
        state = read_state(path)
        if state is None:
            return
        check_lease(path)
        write_json(path, asdict(replace(state, lease=mine, driver=driver or state.driver)))


def drop_lease(path: Path) -> None:
    """Let go of the campaign, if this process holds it."""
    with _locked(path):
        state = read_state(path)
        if state is not None and state.lease is not None and state.lease.same_process(Lease.mine()):
            write_json(path, asdict(replace(state, lease=None)))


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with filelock.FileLock(path.with_suffix(".lock"), timeout=30):
        yield

"""What was told of a campaign, landed beside its rounds: written before a notice is sent, and again after it.

So a notice is sent at least once: whoever dies between sending it and recording that sends it again, under the same id.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from drysweep_pipeline.durable import read_json, write_json

SCHEMA_VERSION = 1
FILE = "notifications.json"
Status = Literal["due", "sent", "failed"]


@dataclass(frozen=True, slots=True)
class Stop:
    """Where a campaign stood still: its outcome, why, and after how many rounds."""

    outcome: str
    reason: str | None
    rounds: int


@dataclass(frozen=True, slots=True)
class Notice:
    """One thing to tell one receiver: its id, who (the place under ``notify``, from 0), of which events, at which stop.

    ``blockers``: the fingerprints of what is told as new. ``why`` says why it was not taken, ``at`` when it was tried
    last (ISO 8601, UTC), ``times`` how often.
    """

    id: str
    receiver: int
    kind: str
    events: tuple[str, ...]
    blockers: tuple[str, ...]
    stop: int
    status: Status = "due"
    why: str | None = None
    at: str | None = None
    times: int = 0

    @property
    def to(self) -> str:
        """Who is told, as people find it in the declaration."""
        if not self.id:
            return "everybody under notify"
        return f"{self.kind} (notify[{self.receiver}])"


@dataclass(frozen=True, slots=True)
class Record:
    """The stops of a campaign, the notices of each, and why nobody is told at all, where that is so."""

    stops: tuple[Stop, ...] = ()
    notices: tuple[Notice, ...] = ()
    muted: str | None = None

    @property
    def due(self) -> tuple[Notice, ...]:
        """The notices of the latest stop that were not taken yet; what is older is no news any more."""
        latest = len(self.stops) - 1
        return tuple(each for each in self.notices if each.stop == latest and each.status != "sent")

    def told(self, receiver: int) -> tuple[Notice, ...]:
        """Return the notices that a receiver has taken."""
        return tuple(each for each in self.notices if each.receiver == receiver and each.status == "sent")

    def after(self, notices: Iterable[Notice]) -> "Record":
        """Return the record with these notices in place of those of their ids."""
        now = {each.id: each for each in notices}
        return replace(self, notices=tuple(now.get(each.id, each) for each in self.notices))


def read(landing: Path) -> Record:
    """Return what was told of the campaign that landed there; nothing, where nobody was."""
    path = landing / FILE
    if not path.exists():
        return Record()
    data: dict[str, Any] = read_json(path)
    return Record(
        tuple(Stop(**each) for each in data["stops"]),
        tuple(_notice(each) for each in data["notices"]),
        data["muted"],
    )


def unreadable(why: str) -> Notice:
    """Return what stands for all notices where none can be told of, with why."""
    return Notice("", 0, "all", (), (), 0, "failed", why)


def write(landing: Path, record: Record) -> None:
    """Land what was told of a campaign, whole."""
    write_json(landing / FILE, {"schema_version": SCHEMA_VERSION, **asdict(record)})


def _notice(data: dict[str, Any]) -> Notice:
    return Notice(**{**data, "events": tuple(data["events"]), "blockers": tuple(data["blockers"])})

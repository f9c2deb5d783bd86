"""What there is to tell where a campaign stands still: pure functions over values."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import uuid4

from drysweep_pipeline.declaration.model import AnyReceiver, Occasion
from drysweep_pipeline.notifications.record import Notice, Record, Stop
from drysweep_pipeline.values import Outcome


@dataclass(frozen=True, slots=True)
class Stand:
    """Where a campaign stands still: its stop, the outcome before it, and the fingerprints of blockers new to it.

    ``before`` is the outcome of the sweep's previous campaign; None where there is none.
    """

    stop: Stop
    before: str | None
    blockers: tuple[str, ...] = ()


def with_stop(record: Record, stand: Stand, receivers: Sequence[AnyReceiver]) -> Record:
    """Return a record with what there is to tell of a stop that it does not have yet; else as it is."""
    if stand.stop in record.stops[-1:]:
        return record
    notices = tuple(_notices(record, stand, receivers))
    return Record((*record.stops, stand.stop), (*record.notices, *notices), record.muted)


def _notices(record: Record, stand: Stand, receivers: Sequence[AnyReceiver]) -> Iterator[Notice]:
    for number, receiver in enumerate(receivers):
        known = {fp for notice in record.told(number) for fp in notice.blockers}
        blockers = tuple(fp for fp in stand.blockers if fp not in known)
        events = tuple(event for event in _happened(record, stand, blockers) if event in receiver.on)
        if events:
            kept = blockers if "new_blocker" in events else ()
            # Random, so that two homes which tell one receiver of campaigns of one name are not taken for one.
            yield Notice(str(uuid4()), number, receiver.kind, events, kept, len(record.stops))


def _happened(record: Record, stand: Stand, blockers: Sequence[str]) -> Iterator[Occasion]:
    before = record.stops[-1].outcome if record.stops else stand.before
    if stand.stop.outcome != before:
        yield "outcome"
    if stand.stop.outcome == Outcome.NEEDS_DECISION:
        yield "needs_decision"
    if blockers:
        yield "new_blocker"

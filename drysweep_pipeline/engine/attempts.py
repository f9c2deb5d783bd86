"""One strategy's part in a wave: a look, one more where that can help, and what became of it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from drysweep_pipeline import candidates, landing
from drysweep_pipeline.budget import Budget, Meter
from drysweep_pipeline.canaries import Recall
from drysweep_pipeline.declaration.model import Strategy
from drysweep_pipeline.engine.asking import land
from drysweep_pipeline.engine.tidings import StrategyBegan, Teller
from drysweep_pipeline.engine.watch import MISSED, Watch, missed
from drysweep_pipeline.errors import FinderError, RowsRefused
from drysweep_pipeline.finders import Found
from drysweep_pipeline.landing import Attempt, StrategyRun
from drysweep_pipeline.values import Usage
from drysweep_pipeline.variation import Look

MOST = 2
# What a second attempt cannot mend: more output than the caps allow, more calls than the ceilings do.
_IN_VAIN = frozenset({"truncated", "ceiling"})


def set_aside(budget: Budget, strategy: Strategy, attempt: int) -> Meter | None:
    """Reserve what an attempt of a strategy may use at most; None where a ceiling forbids it."""
    purpose = f"{strategy.name} attempt {attempt}"
    reservation = budget.reserve(strategy.worst, purpose)
    return None if reservation is None else Meter(budget, strategy.worst, purpose, reservation)


@dataclass(frozen=True, slots=True)
class _Came:
    """What came of an attempt: what was landed and which canaries were seen, or why it did not run to its end."""

    seconds: float
    usage: Usage
    taken: candidates.Taken | None = None
    recall: Recall | None = None
    failure: FinderError | None = None
    complaint: str | None = None
    note: str | None = None


class Part:
    """The part of one strategy in a wave; ``folder`` is where the round's files land."""

    def __init__(
        self,
        strategy: Strategy,
        look: Look,
        fields: tuple[str, ...],
        folder: Path,
        watch: Watch,
        budget: Budget,
        tell: Teller,
    ) -> None:
        self.strategy, self.look, self.fields, self.folder = strategy, look, fields, folder
        self.watch, self.budget, self.tell = watch, budget, tell
        self.attempts: list[Attempt] = []
        # What attempts that failed had reported validly before they did.
        self.partly: list[pa.Table] = []

    def run(self, first: Meter | None) -> StrategyRun:
        """Look once, on what was set aside, and once more where that can help; return what became of it."""
        meter = first
        while meter is not None:
            came = self._attempt(meter)
            if came.failure is None:
                return self._ended(came)
            self._failed(came)
            if not self._may_help(came.failure):
                return self._not_run(str(came.failure))
            meter = set_aside(self.budget, self.strategy, self._number)
        after = f", after {self.attempts[-1].reason}" if self.attempts else ""
        return self._not_run(f"ceiling: {self.budget.tripped}{after}")

    def left_out(self, reason: str) -> StrategyRun:
        """Return that the strategy was not asked at all, and why."""
        return self._told("not_run", reason)

    @property
    def _number(self) -> int:
        return len(self.attempts) + 1

    @property
    def _path(self) -> Path:
        return self.folder / f"{self.strategy.name}.a{self._number}.parquet"

    def _attempt(self, meter: Meter) -> _Came:
        """Make one attempt on what was set aside, and land what it found where it ran to its end."""
        began = time.monotonic()
        self.tell(StrategyBegan, self.strategy.name, self._number)
        usage: Usage | None = None
        taken, recall, complaint, note = None, None, None, None
        try:
            found, recall = self.watch.search(self.strategy, self.look, meter)
            usage, complaint, note = found.usage, found.complaint, found.note
            failure = found.failure or (None if self._number >= MOST else missed(self.strategy, found, recall))
            if failure is None:
                taken = self._land(found, self.partly)
            elif found.prepared is not None and found.prepared.num_rows:
                self.partly.append(found.prepared)
        except FinderError as error:
            failure = error
        except Exception as error:  # a finder's own bug is that finder's failure, never the round's
            failure = FinderError(repr(error))
        finally:
            counted = meter.settle(usage)
        return _Came(time.monotonic() - began, counted, taken, recall, failure, complaint, note)

    def _may_help(self, failure: FinderError) -> bool:
        """Tell whether one more attempt may go better than those that were made."""
        if self.watch.is_over:  # it would only be set aside, and count as spent
            return False
        return not isinstance(failure, RowsRefused) and failure.status not in _IN_VAIN and self._number <= MOST

    def _failed(self, came: _Came) -> None:
        assert came.failure is not None, "only failures are noted as such"
        self.attempts.append(Attempt(self._number, came.failure.status, str(came.failure), came.seconds, came.usage))

    def _not_run(self, reason: str) -> StrategyRun:
        """Return the end of a strategy that did not run to its end; what it did report validly is landed."""
        if not self.partly:
            return self._told("not_run", reason)
        *earlier, last = self.partly
        # Under the number of the attempt that was the last to be made.
        path = self.folder / f"{self.strategy.name}.a{max(len(self.attempts), 1)}.parquet"
        try:
            taken = self._land(Found(prepared=last), earlier, path)
        except Exception as error:  # as above
            return self._told("not_run", f"{reason}; {error!r}")
        if taken.refused:
            reason = f"{reason}; {_refusal(taken)}"
        return self._told("not_run", reason, landing.landed(path, taken.rows) if taken.rows else None, taken)

    def _ended(self, came: _Came) -> StrategyRun:
        """Return the end of a strategy that ran to its end, though rows of it may be refused, or a canary missed."""
        taken, recall, path = came.taken, came.recall, self._path
        assert taken is not None, "what did not fail was landed"
        status, reason = "ok", came.note
        if taken.refused:
            status, reason = "refused", _refusal(taken)
        elif recall is not None and recall.missed:
            status, reason = MISSED, recall.reason
        self.attempts.append(Attempt(self._number, status, reason, came.seconds, came.usage))
        run = replace(self._told(status, reason, landing.landed(path, taken.rows), taken), complaint=came.complaint)
        if recall is None:
            return run
        return replace(run, canaries=replace(recall, withheld=taken.withheld, scrubbed=taken.scrubbed))

    def _land(self, found: Found, earlier: Sequence[pa.Table], path: Path | None = None) -> candidates.Taken:
        withheld = self.watch.withheld_from(self.strategy, self.look)
        return land(found, self.strategy, self.fields, path or self._path, earlier, withheld)

    def _told(
        self,
        status: str,
        reason: str | None,
        file: landing.LandedFile | None = None,
        taken: candidates.Taken | None = None,
    ) -> StrategyRun:
        return StrategyRun(
            self.strategy.name,
            self.strategy.kind,
            "ok" if status == "ok" else "not_run",
            reason,
            self.look.angle,
            self.look.angle_index,
            self.look.seed,
            tuple(self.attempts),
            file,
            taken.refused if taken else 0,
            taken.first_refused if taken else (),
        )


def _refusal(taken: candidates.Taken) -> str:
    first = taken.first_refused[0]
    return f"{taken.refused} {'row' if taken.refused == 1 else 'rows'} refused, first row {first.row}: {first.reason}"

"""The canaries of a wave: who searches the planted copy, whether it saw what it should have, and that nothing leaks.

A query searches the snapshot, for its findings; it is run over the planted copy as well, only to see whether it sees.
Who is sent rows is sent those of the snapshot, and what is planted among them. Whoever reads the material itself reads
the copy, at all its angles if it is to see a canary at one: where angles part the material by its order, a part of
the one and a part of the other could leave out what lies between them.
"""

from contextlib import ExitStack, suppress
from dataclasses import replace
from types import TracebackType
from typing import Self

from drysweep_pipeline import canaries, sandbox
from drysweep_pipeline.budget import Meter
from drysweep_pipeline.canaries import Recall
from drysweep_pipeline.declaration.model import OutsideStrategy, Strategy
from drysweep_pipeline.engine.asking import Asking, reported
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.redacting import redactor_of
from drysweep_pipeline.errors import FinderError, IntegrityError, MaterialError
from drysweep_pipeline.finders import Found
from drysweep_pipeline.landing import StrategyRun
from drysweep_pipeline.material import Snapshot
from drysweep_pipeline.material.planting import Planted
from drysweep_pipeline.material.planting import plant as planted_copy
from drysweep_pipeline.mentions import scrubbed
from drysweep_pipeline.variation import Look

MISSED = "missed"
_SENT_ROWS = ("http", "llm")


def plant(campaign: Campaign, snapshot: Snapshot | None) -> Planted | None:
    """Return the copy of a round's snapshot in which the canaries of the sweep are planted; None where it has none.

    Raises ``MaterialError`` where they cannot be planted, or are not those that the campaign started with.
    """
    declaration = campaign.declaration
    if snapshot is None or declaration.sweep.canaries is None:
        return None
    planted = planted_copy(declaration.sweep, declaration.base, snapshot, campaign.home.planted)
    redactor = redactor_of(campaign)
    if any(redactor.text(name) != name for name in planted.names):
        # Masked, it would not be known any more in what is reported.
        raise MaterialError(
            "a planted name is taken for a secret", key="canaries", help="plant something by another name"
        )
    return planted


def missed(strategy: Strategy, found: Found, recall: Recall | None) -> FinderError | None:
    """Return why a look is to be repeated: it missed a canary, and another one may see it; None where not."""
    if recall is None or not recall.missed or found.prepared is None:
        return None
    certain = isinstance(strategy, OutsideStrategy) and strategy.deterministic
    return None if certain else FinderError(str(recall.reason), status=MISSED)


class Watch:
    """Has the strategies of one wave search, and tells which of them missed a canary."""

    def __init__(self, asking: Asking, campaign: Campaign, round: int, snapshot: Snapshot | None) -> None:
        self._asking, self._sweep = asking, campaign.declaration.sweep
        self._planted = plant(campaign, snapshot)
        self._names = self._planted.names if self._planted is not None else ()
        copy = self._planted.snapshot if self._planted is not None else None
        self._over_planted = Asking(campaign, round, copy, asking.children)
        self._open = ExitStack()

    def __enter__(self) -> Self:
        # Held open as the snapshot itself is, so that the queries of a wave share one engine.
        with suppress(IntegrityError):
            if self._planted is not None:
                self._open.enter_context(sandbox.locked(self._planted.snapshot.database))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()
        self._over_planted.__exit__(kind, error, trace)

    @property
    def is_over(self) -> bool:
        """Tell whether the wave was left, so that nobody can be asked any more."""
        return self._asking.children.are_over

    def search(self, strategy: Strategy, look: Look, meter: Meter) -> tuple[Found, Recall | None]:
        """Have a strategy look once; return what it found, and which canaries it saw where there were any.

        Raises ``FinderError`` where it did not run to its end.
        """
        if not self._shown_planted(strategy, look):
            return self._asking.search(strategy, look, meter), None
        wanted = canaries.expected(self._sweep, look)
        if strategy.kind in _SENT_ROWS:
            found = seeing = self._asking.search(strategy, look, meter, self._planted)
        else:
            seeing = self._over_planted.search(strategy, look, meter)
            found = self._asking.search(strategy, look, meter) if _searches_twice(strategy) else seeing
        if found.failure is not None:
            return found, None
        return found, canaries.recall(wanted, reported(seeing, self._sweep.fingerprint.fields, wanted))

    def withheld_from(self, strategy: Strategy, look: Look) -> tuple[str, ...]:
        """Return the planted names that what a strategy reports at a look may mention, and must not be landed with."""
        return self._names if self._shown_planted(strategy, look) and not _searches_twice(strategy) else ()

    def _shown_planted(self, strategy: Strategy, look: Look) -> bool:
        """Tell whether there is something planted in what a strategy is shown at a look."""
        if strategy.kind in _SENT_ROWS or _searches_twice(strategy):
            return bool(canaries.expected(self._sweep, look))
        return canaries.watched(self._sweep, strategy)

    def cleaned(self, run: StrategyRun) -> StrategyRun:
        """Return what became of a strategy without anything planted in what it says of its failures."""
        if not self._names:
            return run
        attempts = tuple(replace(each, reason=self._said(each.reason)) for each in run.attempts)
        refused = tuple(replace(each, reason=str(self._said(each.reason))) for each in run.first_refused)
        reason, complaint = self._said(run.reason), self._said(run.complaint)
        return replace(run, reason=reason, complaint=complaint, attempts=attempts, first_refused=refused)

    def _said(self, text: str | None) -> str | None:
        return None if text is None else scrubbed(text, self._names)


def _searches_twice(strategy: Strategy) -> bool:
    """Tell whether a strategy searches the snapshot too: a query does, which costs next to nothing and no call."""
    return strategy.kind == "sql"

"""Closing findings by evidence, once a campaign has ended: ``fixed_by: evidence``, and never on less than it asks for.

Evidence is positive: a strategy that once saw a finding ran completely, at the same angle, on a newer snapshot, and did
not see it. It counts only where nothing else could be why: the strategy is declared as it was, leaves nothing to
chance, and nothing unread may hide what it saw. Whatever falls short of that is an observation, and closes nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from uuid import UUID

from drysweep_pipeline.declaration.model import ScriptedMaterial
from drysweep_pipeline.engine import actions, journal
from drysweep_pipeline.engine.campaign import Campaign, load
from drysweep_pipeline.engine.naming import sighted_in_round
from drysweep_pipeline.engine.repeats import by_chance
from drysweep_pipeline.errors import DrysweepError
from drysweep_pipeline.ledger import Ledger
from drysweep_pipeline.ledger.absence import Absence, absences
from drysweep_pipeline.lifecycle import EVIDENCE, Act, Deed
from drysweep_pipeline.material import Snapshot
from drysweep_pipeline.material.readable import hidden_since
from drysweep_pipeline.values import Outcome, Rule

_GOING_ON = (Outcome.RUNNING, Outcome.NEEDS_DECISION)
_SHOWN = 3


class _Because(IntEnum):
    """What else than a fix may explain that a finding was not seen; the lowest one counts."""

    HIDDEN = 0
    DECLARED = 1
    SILENT = 2


_SAYS = {
    _Because.HIDDEN: "may be hidden by what is unread now ({})",
    _Because.DECLARED: "were seen by a strategy, or in material, that is declared otherwise now ({})",
    _Because.SILENT: "were seen by a strategy whose silence proves nothing ({})",
}


@dataclass(frozen=True, slots=True)
class _Evidence:
    """One absence for each finding that nothing but a fix explains, and why the other findings stay open."""

    proven: tuple[Absence, ...]
    unproven: Mapping[UUID, tuple[_Because, frozenset[str]]]

    @property
    def withheld(self) -> str | None:
        """What to tell of the findings that stay open, or None where there are none."""
        parts = [self._part(because) for because in _Because if self._of(because)]
        return f"not seen, and open all the same: {'; '.join(parts)}" if parts else None

    def _of(self, because: _Because) -> list[frozenset[str]]:
        return [names for why, names in self.unproven.values() if why is because]

    def _part(self, because: _Because) -> str:
        found = self._of(because)
        names = sorted(frozenset().union(*found))
        shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
        return f"{len(found)} {_SAYS[because].format(shown)}"


def close(ledger: Ledger, campaign: Campaign) -> None:
    """Record as fixed what an ended campaign gives evidence for, where the sweep declares that evidence fixes."""
    sweep, now = campaign.declaration.sweep, journal.standing(campaign)
    if sweep.fixed_by != "evidence" or sweep.convergence.rule is not Rule.DRY or now.outcome in _GOING_ON:
        return
    actions.take_in_landed(ledger, campaign)
    evidence = _weighed(campaign, absences(ledger, campaign.id, campaign.place(0)))
    if evidence.proven or (evidence.withheld and not _was_closed(campaign, now.rounds)):
        deeds = [_deed(campaign, absence) for absence in evidence.proven]
        actions.land(ledger, campaign, actions.closed(deeds, evidence.withheld, now.rounds))


def _was_closed(campaign: Campaign, rounds: int) -> bool:
    said = journal.read_actions(campaign)
    return any(action["action"] == "closings" and action["after_round"] == rounds for action in said)


def _deed(campaign: Campaign, absence: Absence) -> dict[str, object]:
    earlier = _campaign(campaign, absence.campaign)
    finding = sighted_in_round(earlier, absence.round, absence.fp)
    reason = (
        f"{absence.strategy} saw it in round {absence.round} of {absence.campaign} "
        f"and not in round {absence.unseen_round} of {campaign.id}, at the angle {absence.angle}"
    )
    deed = Deed(Act.FIX, EVIDENCE, f"sha256:{absence.unseen_snapshot}", reason, scope=finding.scope)
    return actions.deed_of(absence.fp, finding.severity, deed, verified=True)


def _weighed(campaign: Campaign, found: Iterable[Absence]) -> _Evidence:
    """Part the absences by what explains them; one that nothing else explains proves the finding fixed."""
    proven: dict[UUID, Absence] = {}
    unproven: dict[UUID, tuple[_Because, frozenset[str]]] = {}
    doubted = cache(lambda strategy, earlier: _doubt(campaign, strategy, earlier))
    hiding = cache(lambda then, now: frozenset(_hiding(campaign, then, now)))
    for absence in found:
        because: _Because | None = doubted(absence.strategy, absence.campaign)
        names = frozenset({absence.strategy})
        if because is None and (unread := hiding(absence.snapshot, absence.unseen_snapshot)):
            because, names = _Because.HIDDEN, unread
        if because is None:
            proven.setdefault(absence.fp, absence)
        else:
            unproven[absence.fp] = min(unproven.get(absence.fp, (because, names)), (because, names), key=_rank)
    return _Evidence(tuple(proven.values()), {fp: why for fp, why in unproven.items() if fp not in proven})


def _rank(why: tuple[_Because, frozenset[str]]) -> _Because:
    return why[0]


def _doubt(campaign: Campaign, strategy: str, earlier: str) -> _Because | None:
    """Return why a strategy's silence is no evidence against what it saw in an earlier campaign, or None."""
    now, then = campaign.declaration.sweep, _campaign(campaign, earlier).declaration.sweep
    mine = next((each for each in now.strategies if each.name == strategy), None)
    theirs = next((each for each in then.strategies if each.name == strategy), None)
    if mine is None or mine != theirs or now.material != then.material:
        return _Because.DECLARED
    return None if mine.proves_absence and not by_chance(mine) else _Because.SILENT


def _hiding(campaign: Campaign, then: str, now: str) -> list[str]:
    """Return what a newer snapshot leaves unread that may hide what an older one showed."""
    if isinstance(campaign.declaration.sweep.material, ScriptedMaterial):
        return []
    try:
        return hidden_since(*(Snapshot.open(campaign.home.snapshots / digest) for digest in (then, now)))
    except DrysweepError as error:
        return [str(error)]  # a snapshot that is gone proves nothing


def _campaign(campaign: Campaign, name: str) -> Campaign:
    return load(campaign.home.home, campaign.home.name, name)

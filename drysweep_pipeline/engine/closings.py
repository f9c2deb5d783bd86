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

from drysweep_pipeline.declaration.model import ScriptedMaterial, Strategy
from drysweep_pipeline.engine import actions, journal
from drysweep_pipeline.engine.campaign import Campaign, load
from drysweep_pipeline.engine.naming import sighted_in_round
from drysweep_pipeline.engine.planning import read_plan
from drysweep_pipeline.engine.redacting import redactor_of
from drysweep_pipeline.engine.repeats import by_chance, cuts_off
from drysweep_pipeline.engine.state import GOING_ON
from drysweep_pipeline.errors import DrysweepError
from drysweep_pipeline.ledger import Ledger
from drysweep_pipeline.ledger.absence import Absence, absences
from drysweep_pipeline.lifecycle import EVIDENCE, Act, Deed
from drysweep_pipeline.material import Snapshot
from drysweep_pipeline.material.readable import Compared
from drysweep_pipeline.values import Rule

_SHOWN = 3


class _Because(IntEnum):
    """What else than a fix may explain that a finding was not seen; the lowest one counts."""

    HIDDEN = 0
    DECLARED = 1
    SILENT = 2


_SAYS = {
    _Because.HIDDEN: "may be hidden by what is unread, gone or empty now ({})",
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
    if sweep.fixed_by != "evidence" or sweep.convergence.rule is not Rule.DRY or now.outcome in GOING_ON:
        return
    actions.take_in_landed(ledger, campaign)
    evidence = _weighed(campaign, absences(ledger, campaign.id, campaign.place(0)))
    if evidence.proven or (evidence.withheld and not _was_closed(campaign, now.rounds)):
        deeds = [_deed(campaign, absence) for absence in evidence.proven]
        actions.land(
            ledger, campaign, actions.closed(deeds, redactor_of(campaign).maybe(evidence.withheld), now.rounds)
        )


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
    doubts = _Doubts(campaign)
    for absence in found:
        doubt = None if absence.fp in proven else doubts.of(absence)
        if doubt is None:
            proven.setdefault(absence.fp, absence)
        else:
            unproven[absence.fp] = min(unproven.get(absence.fp, doubt), doubt, key=_rank)
    return _Evidence(tuple(proven.values()), {fp: why for fp, why in unproven.items() if fp not in proven})


def _rank(why: tuple[_Because, frozenset[str]]) -> _Because:
    return why[0]


class _Doubts:
    """What else than a fix may explain an absence from a campaign; what it takes to know is looked at once."""

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign
        self.strategies = {strategy.name: strategy for strategy in campaign.declaration.sweep.strategies}
        self._declared = cache(self._is_declared_alike)
        self._compared = cache(self._snapshots)

    def of(self, absence: Absence) -> tuple[_Because, frozenset[str]] | None:
        """Return a doubt and its culprits, or None where there is none."""
        mine = frozenset({absence.strategy})
        if not self._declared(absence.strategy, absence.campaign):
            return _Because.DECLARED, mine
        strategy = self.strategies[absence.strategy]
        if not strategy.proves_absence or by_chance(strategy) or cuts_off(strategy):
            return _Because.SILENT, mine
        hidden = self._hidden(absence, strategy)
        return (_Because.HIDDEN, frozenset(hidden)) if hidden else None

    def _is_declared_alike(self, strategy: str, earlier: str) -> bool:
        """Tell whether a strategy is declared as in an earlier campaign, over material declared alike, at one place."""
        then = _campaign(self.campaign, earlier)
        theirs = next((each for each in then.declaration.sweep.strategies if each.name == strategy), None)
        if theirs is None or self.strategies.get(strategy) != theirs:
            return False
        alike = self.campaign.declaration.sweep.material == then.declaration.sweep.material
        return alike and _place(self.campaign) == _place(then)

    def _hidden(self, absence: Absence, strategy: Strategy) -> list[str]:
        """Return what may hide the finding now. What cannot be compared any more proves nothing."""
        if isinstance(self.campaign.declaration.sweep.material, ScriptedMaterial):
            return []
        try:
            compared = self._compared(absence.snapshot, absence.unseen_snapshot)
            hidden = compared.hidden(strategy.needs)
            if hidden:
                return hidden
            path = sighted_in_round(_campaign(self.campaign, absence.campaign), absence.round, absence.fp).path
            return [f"{path} (moved)"] if compared.moved(path) else []
        except DrysweepError as error:
            return [str(error)]

    def _snapshots(self, then: str, now: str) -> Compared:
        material = self.campaign.declaration.sweep.material
        assert not isinstance(material, ScriptedMaterial), "a script has no snapshots"
        snapshots = self.campaign.home.snapshots
        return Compared(Snapshot.open(snapshots / then), Snapshot.open(snapshots / now), material)


def _place(campaign: Campaign) -> str | None:
    planned = read_plan(campaign, 1)
    return planned.place if planned is not None else None


def _campaign(campaign: Campaign, name: str) -> Campaign:
    return load(campaign.home.home, campaign.home.name, name)

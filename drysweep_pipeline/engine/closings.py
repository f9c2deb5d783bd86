"""Closing findings by evidence, once a campaign has ended: ``fixed_by: evidence``, and never on less than it asks for.

Evidence is positive: a strategy that once saw a finding ran completely, at the same angle, on a newer snapshot, and did
not see it. It counts only where nothing else could be why: the strategy is declared as it was, leaves nothing to
chance, and can read all that it could read then. Whatever falls short of that is an observation, and closes nothing.
"""

from collections.abc import Iterator
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
from drysweep_pipeline.values import Outcome, Rule

_GOING_ON = (Outcome.RUNNING, Outcome.NEEDS_DECISION)


def close(ledger: Ledger, campaign: Campaign) -> None:
    """Record as fixed what an ended campaign gives evidence for, where the sweep declares that evidence fixes."""
    sweep, now = campaign.declaration.sweep, journal.standing(campaign)
    if sweep.fixed_by != "evidence" or sweep.convergence.rule is not Rule.DRY or now.outcome in _GOING_ON:
        return
    deeds = [_deed(campaign, absence) for absence in _proven(ledger, campaign)]
    if deeds:
        actions.land(ledger, campaign, actions.done(deeds, now.rounds))


def _deed(campaign: Campaign, absence: Absence) -> dict[str, object]:
    earlier = _campaign(campaign, absence.campaign)
    finding = sighted_in_round(earlier, absence.round, absence.fp)
    reason = (
        f"{absence.strategy} saw it in round {absence.round} of {absence.campaign} "
        f"and not in round {absence.unseen_round} of {campaign.id}, at the angle {absence.angle}"
    )
    deed = Deed(Act.FIX, EVIDENCE, f"sha256:{absence.unseen_snapshot}", reason, scope=finding.scope)
    return actions.deed_of(absence.fp, finding.severity, deed, verified=True)


def _proven(ledger: Ledger, campaign: Campaign) -> Iterator[Absence]:
    """Yield one absence a finding that nothing but a fix explains."""
    proven: set[UUID] = set()
    comparable = cache(lambda strategy, earlier: _is_comparable(campaign, strategy, earlier))
    as_readable = cache(lambda then, now: _is_as_readable(campaign, then, now))
    for absence in absences(ledger, campaign.id, campaign.place(0)):
        if absence.fp in proven or not comparable(absence.strategy, absence.campaign):
            continue
        if as_readable(absence.snapshot, absence.unseen_snapshot):
            proven.add(absence.fp)
            yield absence


def _is_comparable(campaign: Campaign, strategy: str, earlier: str) -> bool:
    """Tell whether a strategy is declared as in an earlier campaign, over material declared alike, free of chance."""
    now, then = campaign.declaration.sweep, _campaign(campaign, earlier).declaration.sweep
    mine = next((each for each in now.strategies if each.name == strategy), None)
    theirs = next((each for each in then.strategies if each.name == strategy), None)
    return mine is not None and mine == theirs and now.material == then.material and not by_chance(mine)


def _is_as_readable(campaign: Campaign, then: str, now: str) -> bool:
    """Tell whether a newer snapshot leaves nothing unread that an older one could read."""
    if isinstance(campaign.declaration.sweep.material, ScriptedMaterial):
        return True
    try:
        unread_now = {file for file, _ in Snapshot.open(campaign.home.snapshots / now).unreadable()}
        if not unread_now:
            return True
        return unread_now <= {file for file, _ in Snapshot.open(campaign.home.snapshots / then).unreadable()}
    except DrysweepError:
        return False  # a snapshot that is gone proves nothing


def _campaign(campaign: Campaign, name: str) -> Campaign:
    return load(campaign.home.home, campaign.home.name, name)

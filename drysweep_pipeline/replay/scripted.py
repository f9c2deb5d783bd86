"""Scripts as the rest of drysweep knows them: a campaign as a declared sweep, an action as a deed or an answer."""

import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import date

from drysweep_pipeline.convergence import Answer
from drysweep_pipeline.declaration import Declaration, declared
from drysweep_pipeline.declaration.model import (
    Budget,
    Fingerprint,
    Reverted,
    ScriptedJudge,
    ScriptedMaterial,
    ScriptedStrategy,
    Sweep,
)
from drysweep_pipeline.errors import Refused
from drysweep_pipeline.lifecycle import Act, Deed
from drysweep_pipeline.replay import scenario as script
from drysweep_pipeline.replay.scenario import Action, RevertResolves, Scenario, ScriptedCampaign

# Who did what the script gives no name for.
ACTOR = "script"
# A declared sweep has to have a ceiling on calls, a script need not.
NO_CEILING = 10**9
_DEEDS: dict[type[Action], Act] = {
    script.Fix: Act.FIX,
    script.Contest: Act.CONTEST,
    script.AcceptRisk: Act.ACCEPT_RISK,
    script.Decline: Act.DECLINE,
    script.Escalate: Act.ESCALATE,
    script.Confirm: Act.CONFIRM,
}


def declaration(
    scenario: Scenario, campaign: ScriptedCampaign, name: str, resolves: Iterable[tuple[str, str]] = ()
) -> Declaration:
    """Return a scripted campaign as the declaration of a sweep called ``name``.

    ``resolves``: the (finding, fix) for which the script said yes to a revert test in earlier campaigns.
    """
    earlier = tuple(Reverted(finding=finding, fix=fix, after=0) for finding, fix in sorted(resolves))
    sweep = Sweep(
        name=name,
        description=scenario.why,
        material=ScriptedMaterial(kind="scripted", reverts=(*earlier, *reverts(campaign))),
        fingerprint=Fingerprint(fields=scenario.fingerprint),
        strategies=strategies(campaign),
        judge=ScriptedJudge(kind="scripted", rounds=tuple(each.verdicts for each in campaign.rounds)),
        convergence=scenario.convergence,
        budget=_budget(scenario),
        turns=scenario.turns,
    )
    return declared(sweep, scenario.path)


def strategies(campaign: ScriptedCampaign) -> tuple[ScriptedStrategy, ...]:
    """Return the finders of a campaign by name, each with its entry in every round; None where it was not asked."""
    names = sorted({name for each in campaign.rounds for name in each.finders})
    return tuple(
        ScriptedStrategy(name=name, kind="scripted", rounds=tuple(each.finders.get(name) for each in campaign.rounds))
        for name in names
    )


def reverts(campaign: ScriptedCampaign) -> tuple[Reverted, ...]:
    """Return what the revert tests of a campaign answer yes to, each from the round on that follows its action."""
    return tuple(
        Reverted(finding=finding, fix=fix, after=number)
        for number, each in enumerate(campaign.rounds, start=1)
        for finding, fix in (resolved(action) for action in each.after if isinstance(action, RevertResolves))
    )


def resolved(action: RevertResolves) -> tuple[str, str]:
    """Return the labels, as findings have them, of a finding and of the fix that a revert test resolves it by."""
    return unicodedata.normalize("NFC", action.finding), unicodedata.normalize("NFC", action.fix)


def said(action: Action) -> Answer | None:
    """Return the answer to a campaign that an action is, or None where it is no answer."""
    if isinstance(action, script.Decide):
        return Answer(action.choice, ACTOR, rounds=action.rounds)
    if isinstance(action, script.Go):
        return Answer("go", action.by)
    return Answer("stop", action.by) if isinstance(action, script.Stop) else None


def done(action: Action) -> tuple[str, Deed] | None:
    """Return the finding, by label, and what an action does to it, or None where it is no deed on a finding."""
    act = _DEEDS.get(type(action))
    if act is None:
        return None
    evidence: str | None = getattr(action, "evidence", None)
    expires: date | None = getattr(action, "expires", None)
    label: str = getattr(action, "finding")  # noqa: B009 - every deed has one, the union does not know
    return label, Deed(act, getattr(action, "by", ACTOR), evidence, expires=expires)


@contextmanager
def at_its_line(scenario: Scenario, action: Action) -> Iterator[None]:
    """Have what the rules refuse of an action name the file and the line that it stands on."""
    try:
        yield
    except Refused as error:
        raise Refused(error.what, file=scenario.path, line=action.line, key=error.key, help=error.help) from error


def _budget(scenario: Scenario) -> Budget:
    given = scenario.budget
    return Budget(rounds=given.rounds, calls=given.calls or NO_CEILING, on_exceeded=given.on_exceeded)

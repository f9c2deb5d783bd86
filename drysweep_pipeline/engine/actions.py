"""What happened between rounds, as numbered files: answers to a campaign, deeds on findings, closings by evidence.

An action is landed before it is committed, whole: several deeds of one action are all taken in or none is. It holds
all that the ledger needs, so that taking it in again looks nothing up. What is allowed is for those to say who make it.
"""

from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

from drysweep_pipeline.convergence import Answer, event_of
from drysweep_pipeline.durable import read_json
from drysweep_pipeline.engine import journal
from drysweep_pipeline.engine.campaign import Campaign, load, recorded
from drysweep_pipeline.home import SweepHome
from drysweep_pipeline.judges import Ruling
from drysweep_pipeline.ledger import Ledger, lives
from drysweep_pipeline.ledger import journal as ledger_journal
from drysweep_pipeline.ledger.lives import Because
from drysweep_pipeline.lifecycle import TRANSITIONS, Act, Deed
from drysweep_pipeline.lifecycle import event_of as event_name
from drysweep_pipeline.values import Event, Severity, Verdict

# Each act leads to one state, wherever it was allowed.
_LEADS_TO = {act: to for (_, act), to in TRANSITIONS.items()}


def answered(said: Answer, after_round: int) -> dict[str, Any]:
    """Return the action that a person's answer is."""
    return {"action": "answer", "after_round": after_round, "at": _now(), "answer": asdict(said)}


def done(deeds: list[dict[str, Any]], after_round: int, *, frozen: int) -> dict[str, Any]:
    """Return the action that several deeds are, each as ``deed_of`` made it.

    ``frozen`` is the round whose snapshot was taken last: the deeds stand there, and it does not show them yet (R10).
    """
    return {"action": "deeds", "after_round": after_round, "frozen": frozen, "at": _now(), "deeds": deeds}


def closed(deeds: list[dict[str, Any]], withheld: str | None, after_round: int) -> dict[str, Any]:
    """Return the action that closings by evidence are, with why others that were not seen stay open."""
    return {**done(deeds, after_round, frozen=after_round), "action": "closings", "withheld": withheld}


def deed_of(
    fp: UUID, severity: Severity, deed: Deed, *, basis: str | None = None, verified: bool | None = None
) -> dict[str, Any]:
    """Return one deed on one finding as an action holds it."""
    given = {**asdict(deed), "expires": deed.expires.isoformat() if deed.expires else None}
    return {"fp": str(fp), "severity": severity.value, "basis": basis, "verified": verified, "deed": given}


def land(ledger: Ledger, campaign: Campaign, action: dict[str, Any]) -> None:
    """Land an action and take it in; a crash in between is mended by ``take_in_landed``."""
    # One that was landed and not committed has the next number: it must not be written over.
    take_in_landed(ledger, campaign)
    number = ledger_journal.actions_taken(ledger).get(campaign.id, 0) + 1
    with ledger.transaction():
        commit(ledger, campaign, number, action)
        journal.write_action(campaign, number, action)


def take_in_landed(ledger: Ledger, campaign: Campaign) -> bool:
    """Take landed actions in that a process did not live to commit, and tell whether there were any.

    Deeds that were landed in the sweep's other campaigns are taken in as well: they are on the same findings.
    """
    left = _left(ledger, campaign.home)
    mine = [each for each in left if each.campaign == campaign.id]
    taken = [*mine, *(each for each in _deeds_first(left) if each not in mine)]
    with ledger.transaction():
        _take_in_all(ledger, campaign, taken)
    return bool(taken)


def take_in_deeds(ledger: Ledger, campaign: Campaign) -> None:
    """Take landed deeds of all campaigns of the sweep in, in the caller's transaction; answers wait for their own."""
    _take_in_all(ledger, campaign, _deeds_first(_left(ledger, campaign.home)))


@dataclass(frozen=True, slots=True)
class _Left:
    """A landed action that the ledger does not know of."""

    campaign: str
    number: int
    action: dict[str, Any]


def _left(ledger: Ledger, home: SweepHome) -> list[_Left]:
    taken = ledger_journal.actions_taken(ledger)
    return [
        _Left(folder.name, number, read_json(path))
        for folder in recorded(home)
        for number, path in enumerate(sorted(home.actions(folder.name).glob("*.json")), start=1)
        if number > taken.get(folder.name, 0)
    ]


def _deeds_first(left: list[_Left]) -> list[_Left]:
    """Return the deeds that no answer of their campaign comes before."""
    answered = {each.campaign: each.number for each in reversed(left) if each.action["action"] == "answer"}
    return [each for each in left if each.campaign not in answered or each.number < answered[each.campaign]]


def _take_in_all(ledger: Ledger, campaign: Campaign, left: list[_Left]) -> None:
    for each in sorted(left, key=lambda each: datetime.fromisoformat(each.action["at"])):
        whose = (
            campaign if each.campaign == campaign.id else load(campaign.home.home, campaign.home.name, each.campaign)
        )
        commit(ledger, whose, each.number, each.action)


def commit(ledger: Ledger, campaign: Campaign, number: int, action: dict[str, Any]) -> None:
    """Bring an action into the ledger, in the caller's transaction."""
    at = datetime.fromisoformat(action["at"])
    ledger_journal.record_action(ledger, campaign.id, number)
    if action["action"] == "answer":
        event = event_of(Answer(**action["answer"]), action["after_round"])
        ledger_journal.log(ledger, campaign.id, at, [event])
        return
    for deed in action["deeds"]:
        _do(ledger, campaign, action["after_round"], action["frozen"], deed, at)
    if action.get("withheld"):
        event = Event("closing_withheld", action["after_round"], reason=action["withheld"])
        ledger_journal.log(ledger, campaign.id, at, [event])


def _do(ledger: Ledger, campaign: Campaign, round: int, frozen: int, done: dict[str, Any], at: datetime) -> None:
    """Bring a deed into the ledger: verdict, state and event."""
    given, fp = done["deed"], UUID(done["fp"])
    expires = date.fromisoformat(given["expires"]) if given["expires"] else None
    deed = Deed(**{**given, "act": Act(given["act"]), "expires": expires})
    # It was allowed when it was landed; whatever the ledger took in before it was, is not asked again.
    verdict, state = lives.standing_of(ledger, fp)
    if deed.act is Act.CONFIRM and verdict is not Verdict.CONFIRMED:
        said = (Ruling(fp, Verdict.CONFIRMED, deed.reason), 0)
        lives.record_verdicts(ledger, campaign.id, round, f"person:{deed.by}", [said])
    if _LEADS_TO.get(deed.act, state) is not state:
        because = Because(deed.by, deed.scope, deed.expires, deed.revision, done["basis"])
        lives.record_life(ledger, fp, _LEADS_TO[deed.act], campaign.place(frozen), because)
    name = event_name(deed.act, state)
    event = Event(name, round, str(fp), deed.by, deed.reason, deed.evidence, done["verified"], deed.expires)
    ledger_journal.log(ledger, campaign.id, at, [event])


def _now() -> str:
    return datetime.now(UTC).isoformat()

"""What people say: answers to a campaign that waits, and deeds on findings. Landed first as numbered actions.

Which answers and which moves are allowed is decided in ``convergence`` and ``lifecycle``; a refusal changes nothing.
"""

import unicodedata
from dataclasses import asdict
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

from drysweep_pipeline import landing
from drysweep_pipeline.convergence import Answer, Standing, after_answer, event_of
from drysweep_pipeline.engine import journal, rounds, standing
from drysweep_pipeline.engine.campaign import Campaign, campaigns, load
from drysweep_pipeline.errors import NotFound, Refused
from drysweep_pipeline.judges import Ruling
from drysweep_pipeline.ledger import Ledger, lives, open_ledger
from drysweep_pipeline.ledger import journal as ledger_journal
from drysweep_pipeline.lifecycle import LOGGED, Act, Deed, moved
from drysweep_pipeline.scratch import scratch
from drysweep_pipeline.values import Event, Severity

_FIND = """
    select fp, severity, scope
    from read_parquet($1)
    where cast(fp as varchar) = $2 or array_to_string(json_extract_string(identity, '$[*]')[2:], '/') = $2
    qualify row_number() over (partition by fp order by {rank}, strategy, row) = 1
    limit 2
""".format(rank="case severity when 'blocker' then 0 when 'major' then 1 when 'minor' then 2 else 3 end")


def answer(campaign: Campaign, said: Answer) -> Standing:
    """Record a person's answer and return where the campaign stands then.

    Raises ``Refused`` where none was asked, ``Busy`` where a process is in the middle of a round.
    """
    with open_ledger(campaign.home.ledger) as ledger:
        repair(ledger, campaign)
    rounds.finish(campaign)
    with open_ledger(campaign.home.ledger) as ledger:
        before = journal.standing(campaign)
        after_answer(before, said)
        action = {"action": "answer", "after_round": before.rounds, "at": _now(), "answer": asdict(said)}
        _land(ledger, campaign, action)
        return standing.publish(ledger, campaign)


def act(campaign: Campaign, finding: str, deed: Deed) -> None:
    """Record what a person did to a finding, named by its fingerprint or its label, at the campaign's last round.

    Raises ``NotFound`` where no campaign of the sweep sighted it, ``Refused`` where the rules do not allow the move.
    """
    with open_ledger(campaign.home.ledger) as ledger:
        repair(ledger, campaign)
        fp, severity, _ = _sighted(campaign, finding)
        moved(*lives.standing_of(ledger, fp), severity, deed)
        given = {**asdict(deed), "expires": deed.expires.isoformat() if deed.expires else None}
        round = journal.standing(campaign).rounds
        action = {"action": "deed", "after_round": round, "at": _now(), "fp": str(fp), "deed": given}
        _land(ledger, campaign, action)
        standing.publish(ledger, campaign)


def repair(ledger: Ledger, campaign: Campaign) -> None:
    """Take into the ledger what was landed of a campaign when a process died before its commit.

    That is the decision of its last round, and what a person did last. Landing is the truth; nothing is landed here.
    """
    rounds.recommit(ledger, campaign)
    landed = journal.read_actions(campaign)
    taken = ledger_journal.actions_taken(ledger, campaign.id)
    for number, action in enumerate(landed[taken:], start=taken + 1):
        with ledger.transaction():
            _take_in(ledger, campaign, number, action)
        standing.publish(ledger, campaign)


def _land(ledger: Ledger, campaign: Campaign, action: dict[str, Any]) -> None:
    """Land an action and take it in; a crash in between is mended by ``repair``."""
    number = ledger_journal.actions_taken(ledger, campaign.id) + 1
    with ledger.transaction():
        _take_in(ledger, campaign, number, action)
        journal.write_action(campaign, number, action)


def _take_in(ledger: Ledger, campaign: Campaign, number: int, action: dict[str, Any]) -> None:
    """Bring an action into the ledger, in the caller's transaction."""
    at = datetime.fromisoformat(action["at"])
    ledger_journal.record_action(ledger, campaign.id, number)
    if action["action"] == "answer":
        event = event_of(Answer(**action["answer"]), action["after_round"])
        ledger_journal.log(ledger, campaign.id, at, [event])
    else:
        _do(ledger, campaign, action, at)


def _do(ledger: Ledger, campaign: Campaign, action: dict[str, Any], at: datetime) -> None:
    """Bring a deed into the ledger: verdict, state and event."""
    given = action["deed"]
    expires = date.fromisoformat(given["expires"]) if given["expires"] else None
    deed = Deed(**{**given, "act": Act(given["act"]), "expires": expires})
    fp, severity, scope = _sighted(campaign, action["fp"])
    round = action["after_round"]
    verdict, state = lives.standing_of(ledger, fp)
    new_verdict, new_state = moved(verdict, state, severity, deed)
    if new_verdict is not verdict:
        said = (Ruling(fp, new_verdict, deed.reason), 0)
        lives.record_verdicts(ledger, campaign.id, round, f"person:{deed.by}", [said])
    if new_state is not state:
        lives.record_life(ledger, fp, new_state, campaign.place(round), scope=scope, expires=deed.expires)
    event = Event(LOGGED[deed.act], round, str(fp), deed.by, deed.reason, deed.evidence)
    ledger_journal.log(ledger, campaign.id, at, [event])


def _now() -> str:
    return datetime.now(UTC).isoformat()


def _sighted(campaign: Campaign, finding: str) -> tuple[UUID, Severity, str]:
    """Return fingerprint, severity and scope of a finding as the campaign sighted it last, else as others did."""
    others = (load(campaign.home.home, campaign.home.name, name) for name in _others(campaign))
    for looked in (campaign, *others):
        for round in range(journal.standing(looked).rounds, 0, -1):
            found = _raised(looked, round, finding)
            if found is not None:
                return found
    raise NotFound("finding", finding)


def _others(campaign: Campaign) -> list[str]:
    """Return the sweep's other campaigns, the one recorded last first."""
    return [name for name in reversed(campaigns(campaign.home.home, campaign.home.name)) if name != campaign.id]


def _raised(campaign: Campaign, round: int, finding: str) -> tuple[UUID, Severity, str] | None:
    files = [str(file) for file in landing.readable(campaign.folder(round))]
    if not files:
        return None
    with scratch() as connection:
        rows = connection.execute(_FIND, [files, unicodedata.normalize("NFC", finding)]).fetchall()
    if len(rows) > 1:
        raise Refused(f"{finding!r} names several findings", help="name the one that is meant by its fingerprint")
    return (rows[0][0], Severity(rows[0][1]), rows[0][2]) if rows else None

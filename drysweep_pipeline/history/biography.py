"""The life of one finding as the history knows it: where it stands and why, and all that led there, in order.

Absence is told with what it is worth: a campaign that did not see a finding says something only where a strategy that
once saw it looked again at the same angle. Whether that strategy still asks the same is for ``engine.closings`` to say.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from drysweep_pipeline.history import findings, history
from drysweep_pipeline.history.reading import Row
from drysweep_pipeline.home import Home
from drysweep_pipeline.lifecycle import BY_PEOPLE, LOGGED, WITHDRAWN
from drysweep_pipeline.wording import count

# What happens in a round, in its order: it is intake that reopens and lets risks run out, and people come last, since
# what they do after a campaign's end stands at its last round.
_SIGHTING, _BY_RULE, _VERDICT, _ABSENCE, _BY_PEOPLE = range(5)
_PEOPLES = {LOGGED[act] for act in BY_PEOPLE if act in LOGGED} | set(WITHDRAWN.values())
LOOKED, ELSEWHERE, NOT_RUN, NOT_ASKED = "same_angle", "other_angles", "not_run", "not_asked"
"""How a strategy that once saw a finding looked for it in a campaign that did not see it."""
_BY_CHANCE = ", on the same material, so that chance is why"
_WORTH = {
    LOOKED: "a strategy that once saw it looked again at the same angle",
    ELSEWHERE: "it was looked for at other angles only, which proves little",
    NOT_RUN: "no strategy that once saw it ran to its end, so this says nothing",
    NOT_ASKED: "no strategy that once saw it was asked, so this says nothing",
}


@dataclass(frozen=True, slots=True)
class Biography:
    """A finding as the views have it, what was said and done last, where its sweep stands, and its life in order.

    ``ruling`` is the verdict that counts and ``move`` the state's own event; either is None where there is none.
    """

    finding: Row
    head: Row
    ruling: Row | None
    move: Row | None
    life: list[Row]

    @property
    def sentence(self) -> str:
        """Where the finding stands, and why, in one sentence."""
        return f"{self.finding['label']} {_standing(self.finding, self.ruling, self.move)}."


def biography(home: Home, sweep: str, fp: UUID) -> Biography:
    """Return the life of a finding that the sweep's history has."""
    with history(home) as connection:
        finding = findings.one(connection, sweep, fp)
        verdicts = findings.verdicts(connection, sweep, fp)
        moves = findings.moves(connection, sweep, fp)
        sightings = findings.sightings(connection, sweep, fp)
        events = findings.events(connection, sweep, fp)
        campaigns = findings.campaigns(connection, sweep)
        withheld = findings.withheld(connection, sweep)
        absences = list(_absences(sightings, findings.runs(connection, sweep, fp), campaigns, withheld))
        [head] = findings.heads(connection, sweep, None)
    life = _in_order(sightings, verdicts, events, absences)
    return Biography(finding, head, verdicts[-1] if verdicts else None, moves[-1] if moves else None, life)


def _in_order(
    sightings: Sequence[Row], verdicts: Sequence[Row], events: Sequence[Row], absences: list[Row]
) -> list[Row]:
    """Return everything that happened, in the order of looking, each with ``what`` it was."""
    # A person's verdict is told by its event, which says when and why.
    judged = [row for row in verdicts if not row["judge"].startswith("person:")]
    keyed = [
        *((_place(row, _SIGHTING), {"what": "sighting", **row}) for row in sightings),
        *((_place(row, _VERDICT), {"what": "verdict", **row}) for row in judged),
        *((_place(row, _rank(row)), {"what": "event", **row}) for row in events),
        *((_place(row, _ABSENCE), {"what": "absence", **row}) for row in absences),
    ]
    return [row for _, row in sorted(keyed, key=lambda pair: pair[0])]


def _place(row: Row, rank: int) -> tuple[Any, ...]:
    # Of events, the ledger knows the order; what else falls on one place keeps the order in which it was read.
    return _instant(row), row["seq"], row["round"], rank, row.get("nth", 0)


def _instant(row: Row) -> datetime:
    return datetime.fromisoformat(row["as_of"])


def _rank(event: Row) -> int:
    return _BY_PEOPLE if event["name"] in _PEOPLES else _BY_RULE


def _absences(
    sightings: Sequence[Row], runs: Sequence[Row], campaigns: Sequence[Row], withheld: Mapping[str, str]
) -> Iterator[Row]:
    """Yield the campaigns after the first sighting that did not see the finding, each with what that is worth.

    ``withheld`` says of campaigns why evidence closed less than they did not see.
    """
    seen_in = {row["campaign"] for row in sightings}
    first = min((_instant(row), row["seq"]) for row in sightings)
    angles: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for row in sightings:
        angles[row["strategy"]].add((row["angle"], row["snapshot"]))
    for campaign in campaigns:
        if campaign["campaign"] in seen_in or (_instant(campaign), campaign["seq"]) < first:
            continue
        here = [run for run in runs if run["campaign"] == campaign["campaign"]]
        looked = [
            _looked(name, angles[name], [run for run in here if run["strategy"] == name]) for name in sorted(angles)
        ]
        ways = {each["looked"] for each in looked}
        worth = next(way for way in _WORTH if way in ways)
        if campaign["looked_again"] and worth == NOT_ASKED:
            continue
        chance = worth == LOOKED and all(each["material"] != "other" for each in looked)
        yield {
            **campaign,
            "round": campaign["rounds"],
            "looked": looked,
            "worth": worth,
            "says": _WORTH[worth] + (_BY_CHANCE if chance else ""),
            "withheld": withheld.get(campaign["campaign"]),
        }


def _looked(strategy: str, seen_at: set[tuple[str, str]], runs: Sequence[Row]) -> Row:
    """Return how a strategy looked in a campaign, beside the angles and snapshots at which it had seen the finding."""
    ran = [run for run in runs if run["ran"]]
    again = [run for run in ran if run["angle"] in {angle for angle, _ in seen_at}]
    chosen = (again or ran)[-1:]
    looked = LOOKED if again else ELSEWHERE if ran else NOT_RUN if runs else NOT_ASKED
    material = None
    if again:
        moved = any((run["angle"], run["snapshot"]) not in seen_at for run in again)
        material = "other" if moved else "the same"
    return {
        "strategy": strategy,
        "looked": looked,
        "round": chosen[0]["round"] if chosen else None,
        "angle": chosen[0]["angle"] if chosen else None,
        "material": material,
    }


def _standing(finding: Row, ruling: Row | None, move: Row | None) -> str:
    said = _said(finding, ruling)
    if move is None or finding["status"] in ("rejected", "undecided"):
        return f"is {finding['status']}: {_seen(finding)}, {said}"
    return f"is {_state(move)}; {said}{_unseen(finding)}"


def _state(move: Row) -> str:
    """Return a state that a finding took, with who, why and what was pointed at."""
    told = {
        "finding_fixed": "fixed",
        "finding_contested": "contested",
        "risk_accepted": "an accepted risk",
        "finding_declined": "declined",
        "finding_escalated": "escalated to a person",
        "finding_reopened": "reopened: it was sighted again on material from after its fix",
        "acceptance_expired": "open again: its accepted risk ran out",
        "acceptance_lapsed": "open again: its accepted risk lapsed",
        "risk_withdrawn": "open again: its accepted risk was withdrawn",
        "contest_withdrawn": "open again: its contest was withdrawn",
        "fix_withdrawn": "open again: it was not fixed after all",
        "decline_withdrawn": "open again: it is not declined after all",
    }
    parts: list[str] = [told.get(str(move["name"]), str(move["state"]))]
    parts += [f"by {move['actor']}"] if move["actor"] else []
    parts += [f"in {move['campaign']} after round {move['round']}"]
    parts += [f"until {move['expires']}"] if move["expires"] else []
    parts += [f"in revision {move['revision']}"] if move["revision"] else []
    parts += [f"with {move['evidence']} ({held(move['verified'])})"] if move["evidence"] else []
    return " ".join(parts) + (f" because {move['reason']}" if move["reason"] else "")


def held(verified: bool | None) -> str:
    """Return what the material said to a piece of evidence."""
    return {True: "found in the snapshot", False: "not in the snapshot, unverified", None: "not looked up"}[verified]


def _seen(finding: Row) -> str:
    who = f"seen by {', '.join(finding['strategies'])}"
    return f"{who}, last in round {finding['last_round']} of {finding['last_campaign']}{_unseen(finding)}"


def _unseen(finding: Row) -> str:
    times = finding["not_observed"]
    return f", and {count(times, 'later campaign')} did not observe it" if times else ""


def _said(finding: Row, ruling: Row | None) -> str:
    if ruling is None:
        return "nobody judged it"
    judge = ruling["judge"]
    who = judge.removeprefix("person:") if judge.startswith("person:") else f"the {judge} judge"
    because = f" because {ruling['reason']}" if ruling["reason"] else ""
    if finding["verdict"] == "unjudged":
        return "nobody judged it"
    return (
        f"{who} left it undecided{because}"
        if finding["verdict"] == "undecided"
        else f"{who} {finding['verdict']} it{because}"
    )

"""What can happen to a ledger, as hypothesis draws it, and a model of it: a set, a list and a few dictionaries.

The model is written from the text of the rules and shares no code with the product; how a journal ends is
``tests.oracle``'s business.
"""

import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from drysweep_pipeline.lifecycle import Act
from tests import oracle

DAY_ONE = date(2026, 1, 1)
LENGTH = 7
LABELS = ("s1/k", "s2/k", "s3/k")
WORST_FIRST = ("blocker", "major", "minor", "nit")
BLOCKING = ("blocker", "major")
Place = tuple[int, int, int]  # the day, the campaign's sequence, the round


def fp_of(label: str) -> UUID:
    return UUID(
        bytes=hashlib.sha256(json.dumps(["fp1", *label.split("/")], separators=(",", ":")).encode()).digest()[:16]
    )


# --- what is scripted -------------------------------------------------------------------------------------------

ROW = st.fixed_dictionaries(
    {"subject": st.sampled_from(["s1", "s2", "s3"]), "kind": st.just("k"), "severity": st.sampled_from(WORST_FIRST)}
)
REFUSED_ROW = st.just({"subject": "s1", "severity": "major"})  # without the field ``kind`` of the fingerprint
ENTRY = st.one_of(
    st.just([]), st.just([]), st.just([]), st.lists(ROW, max_size=2), st.lists(ROW | REFUSED_ROW), st.just("not_run")
)
ASKED = st.one_of(
    st.fixed_dictionaries({"a": ENTRY}),
    st.fixed_dictionaries({"a": ENTRY, "b": ENTRY}),
    st.fixed_dictionaries({"a": ENTRY, "b": ENTRY}),
)
SAID = st.dictionaries(st.sampled_from(LABELS), st.sampled_from(["rejected", "undecided"]), max_size=2)
SCRIPT = st.lists(st.tuples(ASKED, SAID), min_size=LENGTH, max_size=LENGTH)
POLICY = st.fixed_dictionaries(
    {
        "rule": st.sampled_from(["dry", "clean"]),
        "k": st.sampled_from([2, 3]),
        "ask": st.booleans(),
        "manual": st.sampled_from([False, False, True]),
        "rounds": st.integers(2, LENGTH),
        "calls": st.none() | st.integers(2, 14),
    }
)
ACTS = st.sampled_from([act.value for act in (Act.FIX, Act.CONTEST, Act.ACCEPT_RISK, Act.DECLINE, Act.ESCALATE)])
DEED = st.fixed_dictionaries(
    {
        "label": st.sampled_from(LABELS),
        "act": ACTS | st.sampled_from(["confirm", "withdraw"]),
        "by": st.sampled_from(["ann", "ann", "ann", " "]),
        "evidence": st.sampled_from(["a.py:1", "a.py:1", "I looked"]),
        "lasts": st.none() | st.integers(0, 3),
    }
)
PICK = st.integers(0, 3)


# --- the model --------------------------------------------------------------------------------------------------


@dataclass
class Life:
    """What is known of a finding beside where it was sighted."""

    verdict: str = "none"
    by_person: bool = False
    state: str = "open"
    at: Place = (0, 0, 0)
    expires: int | None = None


@dataclass
class Underway:
    """A round between its wave and its decision."""

    files: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    """What each file holds that is still what was landed."""
    down: set[str] = field(default_factory=set)
    taken: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    fresh: set[str] | None = None
    reopened: set[str] = field(default_factory=set)
    rulings: dict[str, str] | None = None
    used: int = 0
    tripped: str | None = None


@dataclass
class Told:
    """One campaign as the model has it."""

    id: str
    seq: int
    day: int
    policy: dict[str, Any]
    script: list[tuple[dict[str, Any], dict[str, str]]]
    journal: list[oracle.Entry] = field(default_factory=list)
    stage: str = "due"
    is_planned: bool = False
    """Whether the snapshot of the round that is due was taken."""
    now: Underway = field(default_factory=Underway)
    new: list[int] = field(default_factory=list)
    events: Counter[tuple[str, int]] = field(default_factory=Counter)

    @property
    def agreed(self) -> oracle.Agreed:
        policy, price = self.policy, len(self.script[0][0])
        return oracle.Agreed(policy["k"], policy["rounds"], policy["calls"], policy["ask"], policy["manual"], price)

    @property
    def ending(self) -> oracle.Ending:
        return oracle.ending(self.journal, self.agreed)

    @property
    def due(self) -> int | None:
        outcome, _, played, _ = self.ending
        return played + 1 if outcome == "running" else None

    def place(self, round: int) -> Place:
        return self.day, self.seq, round

    def room(self) -> float:
        """How many calls the round may still make."""
        most = oracle.ceilings(self.journal, self.agreed)[1]
        spent = max((entry.calls for entry in self.journal if isinstance(entry, oracle.Round)), default=0)
        return float("inf") if most is None or oracle.is_free(self.journal) else most - spent - self.now.used


MOVES = {
    "fix": (("open", "reopened", "escalated"), "fixed"),
    "contest": (("open", "reopened", "escalated"), "contested"),
    "accept_risk": (("open", "reopened", "escalated"), "accepted_risk"),
    "decline": (("open", "reopened", "escalated"), "declined"),
    "escalate": (("open", "reopened"), "escalated"),
    "withdraw": (("fixed", "contested", "accepted_risk", "declined"), "open"),
}
LOGGED = {
    **{"fix": "finding_fixed", "contest": "finding_contested", "accept_risk": "risk_accepted"},
    **{"decline": "finding_declined", "escalate": "finding_escalated", "confirm": "finding_confirmed"},
}
WITHDRAWN = {
    **{"fixed": "fix_withdrawn", "contested": "contest_withdrawn"},
    **{"accepted_risk": "risk_withdrawn", "declined": "decline_withdrawn"},
}


class Model:
    """The rules as a set (seen), a list (rounds) and what is known of each finding."""

    def __init__(self) -> None:
        self.campaigns: dict[str, Told] = {}
        self.sightings: Counter[tuple[Place, str, str]] = Counter()
        self.lives: dict[str, Life] = {}
        self.kept: dict[tuple[str, int], dict[str, list[dict[str, str]]]] = {}

    @property
    def seen(self) -> set[str]:
        return {label for _, label, _ in self.sightings}

    def sighted(self, place: Place) -> set[str]:
        return {label for at, label, _ in self.sightings if at == place}

    def wave(self, told: Told, *, lands: bool) -> None:
        """Every strategy is asked once, in order, as far as the calls go (R5, R7)."""
        now, told.is_planned = told.now, True
        files, down = {}, set()
        for name, entry in sorted(told.script[told.ending[2]][0].items()):
            if told.room() < 1:
                down.add(name)
                now.tripped = "calls"
                continue
            now.used += 1
            rows = [] if entry == "not_run" else [row for row in entry if "kind" in row]
            if entry != "not_run":
                files[name] = rows
            if entry == "not_run" or len(rows) < len(entry):
                down.add(name)
        if lands:
            now.files, now.down, told.stage = files, down, "landed"
        else:
            now.tripped = None

    def spoil(self, told: Told, name: str) -> None:
        del told.now.files[name]

    def take_in(self, told: Told, *, commits: bool = True) -> None:
        """Fresh is what has no sighting at an earlier place; once landed, it is not computed again (R2)."""
        now, place = told.now, told.place(told.ending[2] + 1)
        raised = {f"{row['subject']}/{row['kind']}" for rows in now.files.values() for row in rows}
        expired = [life for life in self.lives.values() if life.expires is not None and life.expires < told.day]
        expired = [life for life in expired if life.state == "accepted_risk"]
        if now.fresh is None:
            now.fresh = {x for x in raised if not any(at < place and x == y for at, y, _ in self.sightings)}
            taken_before = told.place(0) if told.policy["rule"] == "dry" else place
            fixed = {x for x in raised if x in self.lives and self.lives[x].state == "fixed"}
            now.reopened = {label for label in fixed if self.lives[label].at < taken_before}
        if not commits:
            return
        now.down |= set(told.script[place[2] - 1][0]) - set(now.files)
        now.taken, told.stage = dict(now.files), "taken"
        for name, rows in now.files.items():
            self.sightings.update((place, f"{row['subject']}/{row['kind']}", name) for row in rows)
        for label in raised:
            self.lives.setdefault(label, Life())
        for life in expired:
            life.state, life.at, life.expires = "open", place, None
        for label in now.reopened:
            if self.lives[label].state == "fixed":
                self.lives[label].state, self.lives[label].at = "reopened", place
        told.events["acceptance_expired", place[2]] += len(expired)
        told.events["finding_reopened", place[2]] += len(now.reopened)
        told.events["finder_not_run", place[2]] += len(now.down)

    def worst(self, told: Told, round: int, label: str) -> str | None:
        """Return the highest severity that a round raised a finding with, as far as its files can still tell."""
        rows = [row for rows in self.readable(told, round).values() for row in rows]
        said = [row["severity"] for row in rows if f"{row['subject']}/{row['kind']}" == label]
        return min(said, key=WORST_FIRST.index, default=None)

    def readable(self, told: Told, round: int) -> dict[str, list[dict[str, str]]]:
        return told.now.files if round == told.ending[2] + 1 else self.kept[told.id, round]

    def ask(self, told: Told) -> None:
        """Have what has no verdict judged, the worst first, as far as the calls go (R8)."""
        now, round = told.now, told.ending[2] + 1
        mine = [(at, label) for at, label, _ in self.sightings if at[1] == told.seq]
        waiting = {label for at, label in mine if at[2] == round and self.lives[label].verdict == "none"}
        waiting |= {label for _, label in mine if self.lives[label].verdict == "undecided"}
        newest = {label: max(at[2] for at, each in mine if each == label) for label in waiting}
        known = {label: worst for label, at in newest.items() if (worst := self.worst(told, at, label))}
        order = sorted(known, key=lambda label: (WORST_FIRST.index(known[label]), fp_of(label)))
        fits = int(max(0, min(len(order), told.room())))
        now.used += fits
        said = told.script[round - 1][1]
        now.rulings = {x: said.get(x, "confirmed") if n < fits else "undecided" for n, x in enumerate(order)}
        if fits < len(order):
            now.tripped = now.tripped or "calls"

    def judge(self, told: Told) -> None:
        assert told.now.rulings is not None
        for label, verdict in told.now.rulings.items():
            if not self.lives[label].by_person:
                self.lives[label].verdict = verdict
        told.stage = "judged"

    def decide(self, told: Told) -> None:
        """Decide a round on its own results (R3, R6)."""
        now, round = told.now, told.ending[2] + 1
        asked = set(told.script[round - 1][0])
        spoilt = set(now.taken) - set(now.files)
        down = now.down | spoilt
        raised = self.sighted(told.place(round)) if not down else set()
        blocking = [label for label in raised if self.worst(told, round, label) in BLOCKING and self.blocks(label)]
        minded = blocking if told.policy["rule"] == "clean" else [*(now.fresh or ()), *now.reopened]
        spent = max((entry.calls for entry in told.journal if isinstance(entry, oracle.Round)), default=0) + now.used
        told.journal.append(
            oracle.Round(not down and not minded, frozenset(down), False, now.tripped, spent, len(asked))
        )
        told.new.append(len(now.fresh or ()))
        outcome, reason, *_ = told.ending
        told.events["finder_not_run", round] += len(spoilt)
        told.events["campaign_failed", round] += outcome == "failed"
        told.events["budget_exceeded", round] += reason in oracle.ASKED_FOR_MONEY
        told.events["decision_requested", round] += outcome == "needs_decision"
        self.kept[told.id, round] = now.files
        told.now, told.stage, told.is_planned = Underway(), "due", False

    def do(self, told: Told, wanted: list[dict[str, Any]], named: set[str]) -> bool:
        """Do all of some deeds, or none of them where one is not allowed (R9); tell which."""
        left = {deed["label"]: replace(self.lives.get(deed["label"], Life())) for deed in wanted}
        names = []
        for deed in wanted:
            was = left[deed["label"]].state
            if deed["label"] not in named or not self.allows(told, deed, left[deed["label"]]):
                return False
            names.append(WITHDRAWN[was] if deed["act"] == "withdraw" else LOGGED[deed["act"]])
        self.lives.update(left)
        for name in names:
            told.events[name, told.ending[2]] += 1
        return True

    def allows(self, told: Told, deed: dict[str, Any], life: Life) -> bool:
        """Move a life by a deed, where it may be moved so; tell whether it may."""
        act, severity = deed["act"], self.last_worst(told, deed["label"])
        if severity is None or (act == "decline" and severity != "nit"):
            return False
        if act in ("contest", "accept_risk", "confirm", "withdraw") and not deed["by"].strip():
            return False
        if act == "contest" and deed["evidence"] != "a.py:1":
            return False
        if act == "confirm":
            may = life.verdict != "confirmed"
            life.verdict, life.by_person = "confirmed", life.by_person or may
            return may
        from_states, to = MOVES[act]
        may = life.state in from_states and (life.state != "escalated" or bool(deed["by"].strip()))
        expires = deed["lasts"] if act == "accept_risk" else None
        # What is done while a round is searched is not in that round's snapshot.
        life.state, life.at, life.expires = to, told.place(told.ending[2] + told.is_planned), expires
        return may

    def last_worst(self, told: Told, label: str) -> str | None:
        """Return how bad a finding was when the campaign, else the one recorded last that knows it, sighted it last."""
        sightings = [(at[1] == told.seq, at[1], at[2]) for at, each, _ in self.sightings if each == label]
        if not sightings:
            return None
        _, seq, round = max(sightings)
        return self.worst(next(each for each in self.campaigns.values() if each.seq == seq), round, label)

    def blocks(self, label: str) -> bool:
        life = self.lives[label]
        return life.state not in ("contested", "accepted_risk") and life.verdict != "rejected"

"""Anything that can happen to a ledger, in any order, against a model that is a set, a list and a few dictionaries.

Everything is real: a DuckDB ledger, landed Parquet, state files and the published history, by the engine's own
functions. The model is written from the text of the rules and shares no code with the product; how a journal ends is
``tests.oracle``'s business.
"""

import hashlib
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch
from uuid import UUID

import duckdb
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from drysweep_pipeline import landing
from drysweep_pipeline.convergence import Answer
from drysweep_pipeline.declaration.model import Convergence
from drysweep_pipeline.engine import deeds, journal, judging, people, rounds, standing
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.planning import plan
from drysweep_pipeline.engine.repair import repair
from drysweep_pipeline.engine.starting import start
from drysweep_pipeline.engine.state import read_state
from drysweep_pipeline.engine.wave import wave
from drysweep_pipeline.errors import Refused, RoundGap
from drysweep_pipeline.history import history
from drysweep_pipeline.home import Home
from drysweep_pipeline.keeping.verifying import verify
from drysweep_pipeline.ledger import intake, lives, open_ledger
from drysweep_pipeline.lifecycle import Act, Deed
from drysweep_pipeline.replay import scripted
from drysweep_pipeline.replay.pipeline import steps
from drysweep_pipeline.replay.scenario import Scenario, ScriptBudget, ScriptedCampaign, ScriptedRound
from drysweep_pipeline.values import Rule, Verdict
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


# --- the machine ------------------------------------------------------------------------------------------------


TABLES = ("seen", "sightings", "verdicts", "lives", "actions", "strategy_runs", "rounds")
QUESTIONS = {
    **{name: f"from {name} order by all" for name in TABLES},
    "events": "from events order by seq",
    "current_verdicts": "select fp, verdict from current_verdicts order by all",
    "current_lives": "select fp, state from current_lives order by all",
    "campaigns": "select campaign, outcome, reason, rounds, quiet from campaigns order by seq",
    "ended": "select campaign, repeats, ended_at from campaigns order by seq",
    "decided": """
        select campaign, round, fresh, quiet, quiet_in_a_row, outcome, reason
        from rounds
        where outcome is not null
        order by campaign, round
    """,
}
COUNTED = """
    select campaign, outcome, reason, rounds, quiet, seen, confirmed, rejected, undecided, calls from campaigns
"""


class Died(BaseException):
    """What a killed process raises, were it to raise anything."""


@contextmanager
def dying(module: ModuleType, name: str, *, after: bool = False) -> Iterator[None]:
    """Have a block die before, or right after, it calls a function."""
    real = getattr(module, name)

    def dies(*given: Any, **named: Any) -> None:
        if after:
            real(*given, **named)
        raise Died

    with patch.object(module, name, dies), pytest.raises(Died):
        yield


class LedgerMachine(RuleBasedStateMachine):
    """Campaigns of one sweep at every stage at once, and people, and power cuts."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.home = Home(Path(self.folder.name))
        self.model = Model()
        self.real: dict[str, Campaign] = {}
        self.ledger: dict[str, list[tuple[Any, ...]]] = {}
        """What the ledger said after the last step."""
        self.events: list[tuple[Any, ...]] = []
        self.stale: set[str] = set()
        """Campaigns whose process died before it had published what it landed."""
        self.is_published = False
        self.bad: set[Path] = set()
        """Landed files that went bad."""

    def teardown(self) -> None:
        self.folder.cleanup()

    def chosen(self, pick: int) -> tuple[Told, Campaign]:
        name = sorted(self.real)[pick % len(self.real)]
        return self.model.campaigns[name], self.real[name]

    def published(self, told: Told) -> None:
        self.stale.discard(told.id)
        self.is_published = not self.stale

    def repairs(self, told: Told, campaign: Campaign) -> None:
        with open_ledger(campaign.home.ledger) as ledger:
            repair(ledger, campaign)
        self.published(told)

    def mended(self, told: Told) -> None:
        """Note that somebody was refused, who published first what a dead process had left."""
        if told.id in self.stale:
            self.published(told)

    # Campaigns and rounds

    @initialize(day=st.integers(0, 3), policy=POLICY, script=SCRIPT)
    def a_first_campaign_starts(self, day: int, policy: dict[str, Any], script: Any) -> None:
        self.a_campaign_starts(day, policy, script)

    @rule(day=st.integers(0, 3), policy=POLICY, script=SCRIPT)
    def a_campaign_starts(self, day: int, policy: dict[str, Any], script: Any) -> None:
        seq = len(self.real) + 1
        told = Told(f"c{seq}", seq, day, policy, script)
        self.real[told.id] = start(
            self.home, declared(told), as_of=instant(day), driver="cli", campaign=told.id, now=instant(day)
        )
        self.model.campaigns[told.id] = told
        self.published(told)

    @rule(pick=PICK, stages=st.integers(1, 8), by_hand=st.booleans())
    def rounds_go_on(self, pick: int, stages: int, by_hand: bool) -> None:
        """Do what a driver does: the stages of the rounds that are due, one after the other."""
        told, campaign = self.chosen(pick)
        for _ in range(stages):
            if not self.is_driven(told, campaign, by_hand):
                return
            self.stage(told, campaign)

    def is_driven(self, told: Told, campaign: Campaign, by_hand: bool) -> bool:
        """Mend what a dead process left, as a driver does first, and tell whether a round is due to it then.

        The command line repairs; the sensor runs again the round that the state file names.
        """
        if told.id in self.stale and by_hand:
            self.repairs(told, campaign)
        state = read_state(campaign.state_path)
        assert state is not None
        if state.next is not None and state.next <= told.ending[2]:
            steps(campaign, state.next)
            self.published(told)
        waits_for_somebody = told.id in self.stale and state.next is None
        return told.due is not None and told.due <= LENGTH and not waits_for_somebody

    def stage(self, told: Told, campaign: Campaign) -> None:
        round = told.ending[2] + 1
        if told.stage == "due":
            plan(campaign, round)
            list(wave(campaign, round))
            self.model.wave(told, lands=True)
        elif told.stage == "landed":
            self.model.take_in(told)
            report = rounds.take_in(campaign, round)
            assert (report.fresh, report.reopened) == (len(told.now.fresh or ()), len(told.now.reopened))
            assert report.complete == (not told.now.down)
            assert report.twice == ()
            self.is_published = False
        elif told.stage == "taken":
            if told.now.rulings is None:
                self.model.ask(told)
            self.model.judge(told)
            rounds.judge(campaign, round)
            self.is_published = False
        else:
            self.model.decide(told)
            rounds.decide(campaign, round)
            self.published(told)

    @rule(pick=PICK, name=st.sampled_from(["a", "b"]), cut=st.booleans())
    def a_landed_file_goes_bad(self, pick: int, name: str, cut: bool) -> None:
        told, campaign = self.chosen(pick)
        # What was landed as fresh from a file that is gone since is two accidents at once.
        if told.stage == "due" or name not in told.now.files or (told.stage == "landed" and told.now.fresh is not None):
            return
        path = campaign.folder(told.ending[2] + 1) / f"{name}.a1.parquet"
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2] if cut else whole[:-1] + bytes([whole[-1] ^ 1]))
        self.model.spoil(told, name)
        self.bad.add(path)

    @rule(pick=PICK, point=st.integers(0, 2))
    def a_process_dies(self, pick: int, point: int) -> None:
        told, campaign = self.chosen(pick)
        if not self.is_driven(told, campaign, by_hand=False):
            return
        round = told.ending[2] + 1
        if told.stage == "due":
            with dying(landing, "write_manifest"):
                list(wave(campaign, round))
            self.model.wave(told, lands=False)
        elif told.stage == "landed":
            self.dies_at_intake(told, campaign, round, point)
        elif told.stage == "taken":
            self.dies_while_judging(told, campaign, round, point)
        else:
            self.dies_at_the_decision(told, campaign, round, point)

    def dies_at_intake(self, told: Told, campaign: Campaign, round: int, point: int) -> None:
        if point:
            with dying(journal, "write_landed", after=True):
                rounds.take_in(campaign, round)
            self.model.take_in(told, commits=False)
        else:
            with dying(intake, "fresh_of"):
                rounds.take_in(campaign, round)

    def dies_while_judging(self, told: Told, campaign: Campaign, round: int, point: int) -> None:
        if told.now.rulings is None:
            self.model.ask(told)
            if not point:
                with dying(judging, "_land"):
                    rounds.judge(campaign, round)
                told.now.rulings = None
                return
        with dying(lives, "record_verdicts"):
            rounds.judge(campaign, round)

    def dies_at_the_decision(self, told: Told, campaign: Campaign, round: int, point: int) -> None:
        where = [(journal, "write_decision"), (standing, "publish_history"), (standing, "write_state")][point]
        with dying(*where, after=point == 0):
            rounds.decide(campaign, round)
        self.model.decide(told)
        self.stale.add(told.id)
        self.is_published = False

    # Doing things again

    @rule(pick=PICK, choice=st.integers(0, LENGTH))
    def an_old_round_is_run_again(self, pick: int, choice: int) -> None:
        told, campaign = self.chosen(pick)
        if told.ending[2] == 0:
            return
        state = campaign.state_path.read_text()
        steps(campaign, 1 + choice % told.ending[2])
        if told.id in self.stale:  # what a dead process left is mended on the way
            self.ledger = self.look()
        else:
            assert self.look() == self.ledger
            assert campaign.state_path.read_text() == state
        self.published(told)

    @rule(pick=PICK)
    def what_was_done_is_done_again(self, pick: int) -> None:
        told, campaign = self.chosen(pick)
        round = told.ending[2] + 1
        if told.stage != "due":
            list(wave(campaign, round))
        if told.stage in ("taken", "judged"):
            rounds.take_in(campaign, round)
        if told.stage == "judged":
            rounds.judge(campaign, round)
        assert self.look() == self.ledger

    @rule(pick=PICK, gap=st.integers(1, 3))
    def a_gap_is_refused(self, pick: int, gap: int) -> None:
        told, campaign = self.chosen(pick)
        steps_of: list[Callable[[Campaign, int], Any]] = [plan, rounds.take_in, rounds.judge, rounds.decide]
        for step in steps_of:
            with pytest.raises(RoundGap):
                step(campaign, told.ending[2] + 1 + gap)
        if told.due is None and told.stage == "due":
            with pytest.raises(RoundGap):
                list(wave(campaign, told.ending[2] + 1))
        assert self.look() == self.ledger

    # People

    @rule(
        pick=PICK,
        kind=st.sampled_from(["accept", "continue", "continue", "redraft", "go", "go", "stop", "resume", "resume"]),
        more=st.integers(1, 3),
        calls=st.booleans(),
        dies=st.sampled_from([False, False, True]),
    )
    def somebody_answers(self, pick: int, kind: Any, more: int, calls: bool, dies: bool) -> None:
        told, campaign = self.chosen(pick)
        self.left_open_is_decided(told)
        had = oracle.ceilings(told.journal, told.agreed)
        wider = (had[0] + more, had[1] + 4 if calls and had[1] else None) if kind == "resume" else (None, None)
        said = oracle.Said(kind, more if kind == "continue" else wider[0], wider[1])
        answer = Answer(kind, "ann", rounds=said.rounds, calls=said.calls)
        if not oracle.is_allowed(told.journal, said, told.agreed):
            with pytest.raises(Refused):
                people.answer(campaign, answer)
            self.mended(told)
            return
        if dies:
            with dying(journal, "write_action", after=True):
                people.answer(campaign, answer)
            self.stale.add(told.id)
        else:
            people.answer(campaign, answer)
        name = {"stop": "campaign_stopped", "resume": "campaign_resumed"}.get(kind, f"decision_{kind}")
        told.events[name, told.ending[2]] += 1
        told.journal.append(said)
        self.is_published = False
        if not dies:
            self.published(told)

    def left_open_is_decided(self, told: Told) -> None:
        """A round that was taken in is judged and decided before an answer counts."""
        if told.due is None or told.stage not in ("taken", "judged"):
            return
        if told.stage == "taken":
            if told.now.rulings is None:
                self.model.ask(told)
            self.model.judge(told)
        self.model.decide(told)

    @rule(pick=PICK, wanted=st.lists(DEED, min_size=1, max_size=2), dies=st.sampled_from([False, False, False, True]))
    def somebody_acts_on_findings(self, pick: int, wanted: list[dict[str, Any]], dies: bool) -> None:
        told, campaign = self.chosen(pick)
        asked = [deeds.Asked(deed["label"], deed_of(deed)) for deed in wanted]
        if told.id in self.stale:  # what was landed only is made visible first, and so may be named
            self.repairs(told, campaign)
            self.ledger = self.look()
        with history(self.home) as connection:
            named = {row[0] for row in connection.execute("select label from published.payload").fetchall()}
        if not self.model.do(told, wanted, named):
            was_stale = bool(self.stale)
            with pytest.raises(Refused):
                deeds.act(campaign, asked)
            assert was_stale or self.look() == self.ledger
            self.mended(told)
            return
        if dies:
            with dying(journal, "write_action", after=True):
                deeds.act(campaign, asked)
            self.stale.add(told.id)
            self.is_published = False
        else:
            deeds.act(campaign, asked)
            self.published(told)

    # What always holds

    def look(self) -> dict[str, list[tuple[Any, ...]]]:
        """Return what the ledger says; opening it is what costs, so it is opened once for all questions."""
        with duckdb.connect(str(self.home.sweep("machine").ledger), read_only=True) as connection:
            connection.execute("set TimeZone = 'UTC'")
            return {name: connection.execute(query).fetchall() for name, query in QUESTIONS.items()}

    @invariant()
    def the_ledger_is_what_the_model_says(self) -> None:
        if self.real:
            self.ledger = self.look()
            self.seen_is_what_the_model_says()
            self.events_only_grow()
            if not self.stale:
                self.lives_are_what_the_model_says()
                for told in self.model.campaigns.values():
                    self.campaign_is_what_the_model_says(told)

    def seen_is_what_the_model_says(self) -> None:
        model = self.model
        firsts: dict[str, Place] = {}
        for at, label, _ in model.sightings:
            firsts[label] = min(at, firsts.get(label, at))
        assert sorted(self.ledger["seen"]) == sorted((fp_of(x), seq, round) for x, (_, seq, round) in firsts.items())
        assert sorted(self.ledger["sightings"]) == sorted(
            (fp_of(label), name, f"c{seq}", n, hits) for ((_, seq, n), label, name), hits in model.sightings.items()
        )

    def events_only_grow(self) -> None:
        now = self.ledger["events"]
        assert now[: len(self.events)] == self.events
        assert [seq for seq, *_ in now] == list(range(1, len(now) + 1))
        self.events = now

    def lives_are_what_the_model_says(self) -> None:
        verdicts, states = dict(self.ledger["current_verdicts"]), dict(self.ledger["current_lives"])
        for label, life in self.model.lives.items():
            said = (verdicts.get(fp_of(label), "none"), states.get(fp_of(label), "open"))
            assert (label, *said) == (label, life.verdict, life.state)

    def campaign_is_what_the_model_says(self, told: Told) -> None:
        assert [row for name, *row in self.ledger["campaigns"] if name == told.id] == [list(told.ending)]
        state = read_state(self.real[told.id].state_path)
        assert state is not None
        assert (state.outcome, state.reason, state.rounds, state.quiet, state.next) == (*told.ending, told.due)
        decided = [tuple(row) for name, *row in self.ledger["decided"] if name == told.id]
        assert decided == [
            (round, told.new[round - 1], entry.quiet, quiet, outcome, reason)
            for n, entry in enumerate(told.journal)
            if isinstance(entry, oracle.Round)
            for outcome, reason, round, quiet in [oracle.ending(told.journal[: n + 1], told.agreed)]
        ]
        known = {name for name, _ in told.events}
        logged = [(name, round) for _, _, name, of, round, *_ in self.ledger["events"] if of == told.id]
        assert Counter(each for each in logged if each[0] in known) == +told.events

    @invariant()
    def the_history_agrees_with_the_ledger(self) -> None:
        if self.is_published:
            with history(self.home) as connection:
                counted = connection.execute(COUNTED).fetchall()
            assert sorted(counted) == sorted(self.counted(told) for told in self.model.campaigns.values())

    @rule()
    def all_is_as_it_was_recorded(self) -> None:
        """The ledger is the one that follows from the landing, unless a file of that went bad."""
        faults = [fault for fault in verify(self.home, "machine") if not fault.note] if self.real else []
        assert [str(fault) for fault in faults if fault.file not in self.bad] == []

    def counted(self, told: Told) -> tuple[Any, ...]:
        mine = {label for at, label, _ in self.model.sightings if at[1] == told.seq and at[2] <= told.ending[2]}
        verdicts = Counter(self.model.lives[label].verdict for label in mine)
        spent = max((entry.calls for entry in told.journal if isinstance(entry, oracle.Round)), default=0)
        said = (verdicts["confirmed"], verdicts["rejected"], verdicts["undecided"])
        return told.id, *told.ending, len(mine), *said, spent


def instant(day: int) -> datetime:
    return datetime.combine(DAY_ONE + timedelta(days=day), datetime.min.time(), UTC)


def deed_of(wanted: dict[str, Any]) -> Deed:
    lasts = wanted["lasts"]
    expires = DAY_ONE + timedelta(days=lasts) if lasts is not None and wanted["act"] == "accept_risk" else None
    evidence = wanted["evidence"] if wanted["act"] == "contest" else None
    return Deed(Act(wanted["act"]), wanted["by"], evidence, expires=expires)


def declared(told: Told) -> Any:
    policy = told.policy
    played = tuple(
        ScriptedRound(
            {name: "not_run" if entry == "not_run" else tuple(entry) for name, entry in finders.items()},
            {label: Verdict(word) for label, word in said.items()},
            (),
        )
        for finders, said in told.script
    )
    campaign = ScriptedCampaign(instant(told.day), played, {})
    scenario = Scenario(
        Path("made_up.yaml"),
        "Made up.",
        Convergence(rule=Rule(policy["rule"]), k=policy["k"]),
        ScriptBudget(rounds=policy["rounds"], calls=policy["calls"], on_exceeded="ask" if policy["ask"] else "stop"),
        "manual" if policy["manual"] else "auto",
        ("subject", "kind"),
        (campaign,),
        False,
    )
    return scripted.declaration(scenario, campaign, "machine")


# No test is timed. One step is a quarter of a second, because it writes and syncs real files.
QUICK = settings(max_examples=5, stateful_step_count=14, deadline=None, suppress_health_check=list(HealthCheck))
LONG = settings(QUICK, max_examples=300, stateful_step_count=60)


class LongMachine(LedgerMachine):
    """The same, for a profile of its own."""


TestEverySequence = LedgerMachine.TestCase
TestEverySequence.settings = QUICK
TestEverySequenceForLong = pytest.mark.soak(LongMachine.TestCase)
TestEverySequenceForLong.settings = LONG


# --- sequences that are too rare to wait for ----------------------------------------------------------------------

FINDS: dict[str, Any] = {"a": [{"subject": "s1", "kind": "k", "severity": "major"}]}
NOTHING: dict[str, Any] = {"a": []}
OPEN_ENDED = {"rule": "dry", "k": 3, "ask": False, "manual": False, "rounds": LENGTH, "calls": None}


@contextmanager
def machine(*campaigns: list[dict[str, Any]], said: dict[str, str] | None = None, **policy: Any) -> Iterator[Any]:
    """Yield a machine with a campaign for each list of rounds, a day apart; what was not scripted brings nothing."""
    made = LedgerMachine()
    try:
        for day, played in enumerate(campaigns):
            script = [(finders, said or {}) for finders in [*played, *[NOTHING] * (LENGTH - len(played))]]
            made.a_campaign_starts(day, {**OPEN_ENDED, **policy}, script)
        yield made
        made.the_ledger_is_what_the_model_says()
        made.the_history_agrees_with_the_ledger()
        made.all_is_as_it_was_recorded()
    finally:
        made.teardown()


def deed(act: str) -> list[dict[str, Any]]:
    return [{"label": "s1/k", "act": act, "by": "ann", "evidence": "a.py:1", "lasts": None}]


def test_a_deed_that_was_landed_only_comes_before_what_is_done_in_another_campaign() -> None:
    with machine([FINDS], [FINDS]) as made:
        made.rounds_go_on(0, 4, False)
        made.rounds_go_on(1, 4, False)
        made.somebody_acts_on_findings(0, deed("fix"), True)
        made.the_ledger_is_what_the_model_says()
        made.somebody_acts_on_findings(1, deed("contest"), False)
        made.the_ledger_is_what_the_model_says()
        made.somebody_acts_on_findings(0, deed("confirm"), False)


def test_a_fix_that_was_landed_only_is_refuted_by_the_next_round() -> None:
    with machine([FINDS, FINDS], rule="clean") as made:
        made.rounds_go_on(0, 4, False)
        made.somebody_acts_on_findings(0, deed("fix"), True)
        made.rounds_go_on(0, 4, False)
        assert made.model.lives["s1/k"].state == "reopened"


def test_an_intake_done_again_does_not_reopen_what_a_person_settled_meanwhile() -> None:
    with machine([FINDS, FINDS], [FINDS], rule="clean") as made:
        made.rounds_go_on(0, 4, False)
        made.somebody_acts_on_findings(0, deed("fix"), False)
        made.rounds_go_on(0, 1, False)
        made.a_process_dies(0, 1)
        made.rounds_go_on(1, 4, False)
        made.somebody_acts_on_findings(1, deed("contest"), False)
        made.rounds_go_on(0, 4, False)
        assert made.model.lives["s1/k"].state == "contested"


def test_a_verdict_that_was_landed_only_does_not_overrule_a_person() -> None:
    with machine([FINDS], [FINDS], said={"s1/k": "rejected"}) as made:
        made.rounds_go_on(0, 2, False)
        made.a_process_dies(0, 1)
        made.rounds_go_on(1, 4, False)
        made.somebody_acts_on_findings(1, deed("confirm"), False)
        made.rounds_go_on(0, 2, False)
        assert made.model.lives["s1/k"].verdict == "confirmed"


def test_whoever_is_refused_after_a_power_cut_sees_where_the_campaign_stands() -> None:
    with machine([NOTHING], k=2) as made:
        made.rounds_go_on(0, 7, False)
        made.a_process_dies(0, 2)
        made.somebody_answers(0, "stop", 1, False, False)
        assert not made.stale


def test_an_old_round_run_again_after_a_power_cut_leaves_no_round_undecided() -> None:
    with machine([FINDS]) as made:
        made.rounds_go_on(0, 7, False)
        made.a_process_dies(0, 0)
        steps(made.real["c1"], 1)
        made.published(made.model.campaigns["c1"])


def test_a_file_that_went_bad_before_a_power_cut_is_named_all_the_same() -> None:
    with machine([FINDS]) as made:
        made.rounds_go_on(0, 3, False)
        made.a_landed_file_goes_bad(0, "a", True)
        made.dies_at_the_decision(*made.chosen(0), 1, 0)
        made.rounds_go_on(0, 4, False)

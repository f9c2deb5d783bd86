"""A ledger that anything may happen to, in any order, held against the model of ``tests.ledger_model`` after each step.

Everything is real: a DuckDB ledger, landed Parquet, state files and the published history, by the engine's own
functions.
"""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import duckdb
import pytest
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
from tests.ledger_model import DAY_ONE, DEED, LENGTH, PICK, POLICY, SCRIPT, Model, Place, Told, fp_of

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
        # What one that died before has landed as fresh is not looked up again.
        if point or told.now.fresh is not None:
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

"""The clean rule over real files: what blocks a round and what does not, and which text each round reads.

Two reviewers read a line ``severity subject`` each from their own file, so that every round says what it should.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from drysweep_pipeline.engine import deeds, rounds
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.journal import standing
from drysweep_pipeline.engine.planning import plan, read_plan
from drysweep_pipeline.engine.wave import wave
from drysweep_pipeline.history import history
from drysweep_pipeline.home import Home
from drysweep_pipeline.lifecycle import Act, Deed
from drysweep_pipeline.replay import pipeline
from drysweep_pipeline.replay.scenario import read_scenario
from drysweep_pipeline.reports import FORMATS
from drysweep_pipeline.reports.summary import summary
from tests.sweeps import begin, declare, steps

READS = """
    select split_part(line, ' ', 2) as subject, 'k' as kind, split_part(line, ' ', 1) as severity, path
    from (
        select path, unnest(string_split(trim(text, chr(10)), chr(10))) as line
        from files
        where path = '{}.txt'
    )
    where line <> '-'
"""
# Says nothing of what begins with "open", so that this stays undecided.
JUDGE = """
    select fp, case when subject like 'wrong%' then 'rejected' else 'confirmed' end as verdict, 'read' as reason
    from findings
    where subject not like 'open%'
"""


@dataclass
class Review:
    """A review under way; ``said`` is what each round was told to say."""

    folder: Path
    home: Home
    campaign: Campaign
    said: list[tuple[str, ...]] = field(default_factory=list)

    def says(self, *ann: str, bob: tuple[str, ...] = ()) -> None:
        """Write what the reviewers will read."""
        write(self.folder, ann, bob)

    def round(self, *ann: str, bob: tuple[str, ...] = ()) -> bool:
        """Run the round that is due over these texts, and tell whether it was clean."""
        self.says(*ann, bob=bob)
        due = standing(self.campaign).due
        assert due is not None
        steps(self.campaign, due)
        return bool(self.row(due)["quiet"])

    def does(self, act: Act, label: str, **given: Any) -> None:
        """Have somebody do something to a finding."""
        evidence = "ann.txt:1" if act is Act.CONTEST else None
        deeds.act(self.campaign, [deeds.Asked(label, Deed(act, "eve", evidence, **given))])

    def row(self, round: int) -> dict[str, Any]:
        """Return what the history says of a round."""
        with history(self.home) as connection:
            cursor = connection.execute("from rounds where campaign = ? and round = ?", [self.campaign.id, round])
            names = [column[0] for column in cursor.description or []]
            [row] = cursor.fetchall()
        return dict(zip(names, row, strict=True))


def write(folder: Path, ann: tuple[str, ...], bob: tuple[str, ...]) -> None:
    (folder / "text").mkdir(exist_ok=True)
    for name, lines in (("ann", ann), ("bob", bob)):
        (folder / "text" / f"{name}.txt").write_text("\n".join(lines or ("-",)) + "\n")


Begun = Callable[..., Review]


@pytest.fixture
def begun(tmp_path: Path) -> Begun:
    def begin_review(rule: str = "clean", **convergence: Any) -> Review:
        write(tmp_path, (), ())
        (tmp_path / "judge.sql").write_text(JUDGE)
        path = declare(
            tmp_path,
            {name: READS.format(name) for name in ("ann", "bob")},
            material={"kind": "files", "path": "text"},
            fingerprint={"fields": ["subject", "kind"]},
            judge={"kind": "sql", "query": {"file": "judge.sql"}},
            convergence={"rule": rule, "k": 2, **convergence},
        )
        home = Home(tmp_path / "home")
        return Review(tmp_path, home, begin(path, home))

    return begin_review


@pytest.mark.parametrize(
    ("ann", "bob", "is_clean"),
    [
        ((), (), True),
        (("nit a", "minor b"), ("nit c",), True),
        (("major a",), (), False),
        ((), ("blocker a",), False),
        (("nit a",), ("major a",), False),  # of the same finding, the highest severity raised counts
        (("major wrong",), (), True),  # the verdict of the same round counts
        (("major open",), (), False),  # no answer is no acquittal
        (("minor open",), ("nit wrong",), True),
    ],
    ids=str,
)
def test_a_round_is_clean_where_nothing_blocking_is_raised_and_unsettled(
    begun: Begun, ann: tuple[str, ...], bob: tuple[str, ...], is_clean: bool
) -> None:
    assert begun().round(*ann, bob=bob) is is_clean


def test_what_blocks_is_what_was_declared_to_block(begun: Begun) -> None:
    review = begun(blocking=["minor"])
    assert review.round("major a", bob=("blocker b",))
    assert not review.round("minor c")
    assert review.round("nit c"), "raised as a nit in this round, whatever it was before"


@pytest.mark.parametrize(
    ("act", "settles"), [(Act.CONTEST, True), (Act.ACCEPT_RISK, True), (Act.FIX, False), (Act.ESCALATE, False)]
)
def test_only_a_contest_and_an_accepted_risk_settle(begun: Begun, act: Act, settles: bool) -> None:
    review = begun()
    assert not review.round("major a")
    review.does(act, "a/k")
    assert review.round("major a") is settles


def test_a_declined_nit_that_comes_back_as_a_major_blocks(begun: Begun) -> None:
    review = begun()
    assert review.round("nit a")
    review.does(Act.DECLINE, "a/k")
    assert not review.round("major a")


def test_what_is_open_blocks_only_the_rounds_that_raise_it(begun: Begun) -> None:
    review = begun()
    assert not review.round("major a")
    assert [review.round(), review.round()] == [True, True]
    told = summary(review.home, "small", review.campaign.id)
    assert (told["outcome"], told["states"], told["blocking"]["open"]) == ("converged", {"a/k": "open"}, 1)


@pytest.mark.parametrize("ann", ["terrible a", "major "], ids=["a severity that there is not", "a name that is empty"])
def test_a_reviewer_that_was_not_run_leaves_a_round_that_raises_nothing_unclean(begun: Begun, ann: str) -> None:
    review = begun()
    assert review.round()
    assert not review.round(ann)
    assert (review.row(2)["complete"], review.row(2)["blocking"]) == (False, 0)
    assert standing(review.campaign).quiet == 0


def test_a_round_is_decided_before_the_fixes_and_the_contests_that_come_after_it(begun: Begun) -> None:
    review = begun()
    assert not review.round("major a", bob=("major b",))
    before = review.row(1)
    review.does(Act.FIX, "a/k")
    review.does(Act.CONTEST, "b/k")
    steps(review.campaign, 1)
    assert review.row(1) == before
    assert standing(review.campaign).quiet == 0


def test_a_contest_recorded_before_the_decision_counts_and_a_fix_does_not(begun: Begun) -> None:
    review = begun()
    assert not review.round("major a", bob=("major b",))
    review.says("major a", bob=("major b",))
    plan(review.campaign, 2)
    list(wave(review.campaign, 2))
    rounds.take_in(review.campaign, 2)
    rounds.judge(review.campaign, 2)
    review.does(Act.CONTEST, "a/k")
    review.does(Act.FIX, "b/k")
    assert rounds.decide(review.campaign, 2).quiet == 0
    assert review.row(2)["blocking"] == 1


def test_each_round_reads_the_text_as_it_is_then_and_records_which(begun: Begun) -> None:
    review = begun()
    review.round("major a")
    review.round("minor b")
    steps(review.campaign, 3)  # over a text that nobody touched
    digests = [review.row(round)["snapshot"] for round in (1, 2, 3)]
    planned = [read_plan(review.campaign, round) for round in (1, 2, 3)]
    assert digests == [each.snapshot for each in planned if each is not None]
    assert digests[0] != digests[1] == digests[2], "what nobody touched has the same digest"
    assert [review.row(round)["fresh"] for round in (1, 2, 3)] == [1, 1, 0]


def test_all_rounds_of_a_dry_search_read_one_text_whatever_changes_meanwhile(begun: Begun) -> None:
    review = begun("dry")
    assert not review.round("major a")
    assert review.round("blocker b", bob=("blocker c",))
    assert review.round()
    assert len({review.row(round)["snapshot"] for round in (1, 2, 3)}) == 1
    assert summary(review.home, "small", review.campaign.id)["states"] == {"a/k": "open"}


def test_a_fix_is_refuted_by_the_round_that_raises_it_again(begun: Begun) -> None:
    review = begun()
    review.round("minor a")
    review.does(Act.FIX, "a/k")
    assert review.round("minor a"), "a minor does not block, reopened or not"
    told = summary(review.home, "small", review.campaign.id)
    assert told["states"] == {"a/k": "reopened"}
    assert [event["name"] for event in told["events"]] == ["finding_fixed", "finding_reopened"]


def test_a_risk_accepted_for_a_text_lapses_with_the_text_and_blocks_again(begun: Begun) -> None:
    review = begun()
    review.round("major a")
    review.does(Act.ACCEPT_RISK, "a/k")
    assert review.round("major a")
    assert not review.round("major a", "nit z")
    assert summary(review.home, "small", review.campaign.id)["states"]["a/k"] == "open"


def test_what_a_campaign_raised_last_is_told_as_raised_whatever_later_campaigns_raise(tmp_path: Path) -> None:
    told = "{rounds: [{finders: {a: [{subject: s1, kind: k, severity: blocker}]}}], expect: {}"
    path = tmp_path / "twice.yaml"
    path.write_text(
        "why: It is raised in both.\nconvergence: {rule: clean}\nbudget: {rounds: 1, on_exceeded: stop}\n"
        f"campaigns:\n  - {told}, as_of: 2026-01-01}}\n  - {told}, as_of: 2026-01-02}}\n"
    )
    home = Home(tmp_path / "home")
    pipeline.replay(read_scenario(path), pipeline.steps, home)
    for campaign in ("c1", "c2"):
        blocking = summary(home, "twice", campaign)["blocking"]
        assert (blocking["raised"], blocking["open"]) == (1, 0), "nobody can say that nobody raised it again"


def test_a_page_does_not_call_clean_rounds_that_brought_something_new_rounds_without_news(tmp_path: Path) -> None:
    path = tmp_path / "nits.yaml"
    path.write_text(
        "why: Nits do not block.\nconvergence: {rule: clean}\nexpect: {}\nrounds:\n"
        "  - finders: {a: [{subject: s1, kind: k, severity: nit}]}\n"
        "  - finders: {a: [{subject: s2, kind: k, severity: nit}]}\n"
    )
    home = Home(tmp_path / "home")
    [told] = pipeline.replay(read_scenario(path), pipeline.steps, home)
    assert (told["outcome"], told["new"]) == ("converged", [1, 1])
    page = str(FORMATS["html"](home, "nits", "c1"))
    assert "to look where nothing unsettled that blocks turned up" in page
    assert "nothing new turned up" not in page

"""Churn in material that lies in git: the revert test is really run, on a copy, once, and within the budget."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from drysweep_pipeline import landing
from drysweep_pipeline.convergence import Answer
from drysweep_pipeline.engine import churn, deeds, journal, people, rounds
from drysweep_pipeline.engine.campaign import Campaign, Overrides
from drysweep_pipeline.engine.journal import budget_of, standing
from drysweep_pipeline.engine.planning import plan
from drysweep_pipeline.engine.wave import wave
from drysweep_pipeline.errors import RoundGap
from drysweep_pipeline.home import Home
from drysweep_pipeline.lifecycle import Act, Deed
from drysweep_pipeline.material import Snapshot
from drysweep_pipeline.reports.summary import summary
from drysweep_pipeline.values import Outcome
from tests.repositories import commit, git, kept, needs_git, repository
from tests.sweeps import begin, declare, ledger_rows, steps

pytestmark = needs_git

LONG, SHORT = "intro\n" + "too many words\n" * 9, "intro\n"
# The length of a document, in lines, has to be between three and eight.
LENGTH = """
    select
        path as subject, path as scope, path,
        case when len(string_split(text, chr(10))) > 8 then 'too_long' else 'too_short' end as kind
    from files
    where path like '%.md' and len(string_split(text, chr(10))) not between 3 and 8
"""
DOCUMENTS = {"kind": "files", "path": "docs"}


def declared(place: Path, strategies: dict[str, str] | None = None, **attributes: Any) -> Path:
    convergence = {"rule": "clean", "k": 2, **attributes.pop("convergence", {})}
    return declare(
        place,
        strategies or {"length": LENGTH},
        **{
            "material": DOCUMENTS,
            "fingerprint": {"fields": ["subject", "kind"]},
            "convergence": convergence,
            **attributes,
        },
    )


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return repository(tmp_path / "docs", {"guide.md": LONG, "other.md": "a\nb\nc\n"})


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def fixed(campaign: Campaign, label: str = "guide.md/too_long", **given: Any) -> None:
    deeds.act(campaign, [deeds.Asked(label, Deed(Act.FIX, "ann", **given))])


def events(campaign: Campaign) -> list[tuple[str, str | None]]:
    told = summary(campaign.home.home, "small", campaign.id)
    return [(event["name"], event.get("reason")) for event in told["events"] if event["name"] != "finding_fixed"]


def after_a_fix(docs: Path, path: Path, home: Home, text: str = SHORT, **options: Any) -> Campaign:
    """Play a round that finds the guide too long, commit a text as the fix of it, and record the fix."""
    campaign = begin(path, home, **options)
    steps(campaign, 1)
    commit(docs, {"guide.md": text})
    fixed(campaign)
    return campaign


def test_a_fix_that_brings_something_new_at_its_scope_is_churn(tmp_path: Path, docs: Path, home: Home) -> None:
    campaign = after_a_fix(docs, declared(tmp_path), home)
    before = kept(docs)
    steps(campaign, 2)
    now = standing(campaign)
    assert (now.outcome, now.reason, now.rounds) == (Outcome.NEEDS_DECISION, "churn", 2)
    [test] = landed(campaign, 2).tests
    head = git(docs, "rev-parse", "HEAD")
    assert (test.answer, test.strategy, test.revision, test.scope) == ("resolves", "length", head, "guide.md")
    assert events(campaign) == [
        ("revert_tested", f"yes: it goes away when the fix of guide.md/too_long ({head}) is reverted"),
        ("churn_detected", None),
        ("decision_requested", "churn"),
    ]
    assert now.spent.calls == 3, "two rounds of one strategy, and one revert test"
    assert kept(docs) == before


def landed(campaign: Campaign, round: int) -> churn.Looked:
    found = churn.read(campaign, round)
    assert found is not None
    assert found.done
    return found


def test_the_evidence_of_a_revert_test_is_kept(tmp_path: Path, docs: Path, home: Home) -> None:
    campaign = after_a_fix(docs, declared(tmp_path), home)
    steps(campaign, 2)
    [test] = landed(campaign, 2).tests
    assert test.file is not None
    assert test.snapshot is not None
    landing.verify(campaign.folder(2), test.file)
    assert test.file.rows == 1, "the guide is too long again"
    reverted = Snapshot.open(campaign.home.snapshots / test.snapshot)
    planned = plan(campaign, 2)
    assert reverted.digest != planned.snapshot
    assert (reverted.revision, reverted.dirty) == (git(docs, "rev-parse", "HEAD"), 1)
    told = summary(home, "small", campaign.id)
    [tested] = [event for event in told["events"] if event["name"] == "revert_tested"]
    assert (tested["evidence"], tested["fp"]) == (f"sha256:{test.file.sha256}", test.finding)
    assert (test.angle, test.seed) == (planned.looks[0].angle, planned.looks[0].seed)
    assert not [path for path in campaign.home.snapshots.iterdir() if path.name.startswith(".")]


def test_a_finding_that_stays_without_the_fix_is_no_churn(tmp_path: Path, docs: Path, home: Home) -> None:
    typo = "select path as subject, 'typo' as kind, 'guide.md' as scope from files where contains(text, 'teh')"
    campaign = begin(declared(tmp_path, {"length": LENGTH, "typo": typo}), home)
    steps(campaign, 1)
    commit(docs, {"guide.md": "a\nb\nc\n"})
    fixed(campaign)
    commit(docs, {"other.md": "teh\nb\nc\n"})
    steps(campaign, 2)
    [test] = landed(campaign, 2).tests
    assert (test.answer, test.strategy) == ("remains", "typo")
    assert test.reason.startswith("no: it remains when the fix of guide.md/too_long (")
    assert standing(campaign).outcome is Outcome.RUNNING
    assert [name for name, _ in events(campaign)] == ["revert_tested"]


def test_a_fix_that_conflicts_with_what_came_after_it_is_suspected(tmp_path: Path, docs: Path, home: Home) -> None:
    campaign = after_a_fix(docs, declared(tmp_path), home)
    commit(docs, {"guide.md": "another intro\n"})
    before = kept(docs)
    steps(campaign, 2)
    assert standing(campaign).outcome is Outcome.RUNNING
    [(name, reason)] = events(campaign)
    assert name == "churn_suspected"
    assert "could not be reverted: reverting" in str(reason)
    assert "conflicts with what came after it" in str(reason)
    assert budget_of(campaign, 2).used.calls == 1, "what was reserved for the test was given back"
    assert kept(docs) == before


@pytest.mark.parametrize("moved", ["changed", "gone", "binary"])
def test_a_checkout_that_is_not_as_committed_is_suspected(tmp_path: Path, docs: Path, home: Home, moved: str) -> None:
    campaign = after_a_fix(docs, declared(tmp_path), home)
    if moved == "gone":
        (docs / "other.md").unlink()
    elif moved == "changed":
        (docs / "other.md").write_text("x\ny\nz\n")
    else:
        (docs / "new.bin").write_bytes(b"\0\xff")  # the snapshot has no text of it, and so not all of it
    (docs / "new.md").write_text("x\ny\nz\n")
    steps(campaign, 2)
    [(name, reason)] = events(campaign)
    assert name == "churn_suspected"
    assert "1 files of the material were not as in" in str(reason)


def test_files_that_nobody_committed_lie_in_the_reverted_material_too(tmp_path: Path, docs: Path, home: Home) -> None:
    commit(docs, {".gitignore": "*.log\n"})
    campaign = after_a_fix(docs, declared(tmp_path), home)
    (docs / "new.md").write_bytes("\ufeffx\r\ny\nz".encode())
    (docs / "below").mkdir()
    (docs / "below" / "run.log").write_text("ran\n")
    before = kept(docs)
    steps(campaign, 2)
    [test] = landed(campaign, 2).tests
    assert (test.answer, test.snapshot is not None) == ("resolves", True)
    planned = plan(campaign, 2).snapshot
    assert planned is not None
    now, reverted = (files_of(campaign, digest) for digest in (planned, str(test.snapshot)))
    assert {path for path in now | reverted if now.get(path) != reverted.get(path)} == {"guide.md"}
    assert {"new.md", "below/run.log"} < set(reverted)
    assert kept(docs) == before


def files_of(campaign: Campaign, digest: str) -> dict[str, tuple[str, object]]:
    table = pq.read_table(campaign.home.snapshots / digest / "files.parquet").to_pylist()
    return {row["path"]: (row["sha256"], row["modified_at"]) for row in table}


@pytest.mark.parametrize("place", ["a file", "a folder", "a link"])
def test_what_reverting_brings_back_is_not_overwritten_and_leads_nowhere(
    tmp_path: Path, docs: Path, home: Home, place: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    if place == "a link":
        (docs / "new").symlink_to(outside)
    else:
        name = "new" if place == "a file" else "new/a.md/b.md"
        (docs / name).parent.mkdir(parents=True, exist_ok=True)
        (docs / name).write_text("x\ny\nz\n")
    git(docs, "add", "new")
    campaign = begin(declared(tmp_path), home)
    commit(docs, {})
    steps(campaign, 1)
    git(docs, "rm", "-q", "-r", "new")
    commit(docs, {"guide.md": SHORT})
    fixed(campaign)
    (docs / "new").mkdir()
    (docs / "new" / "a.md").write_text("x\ny\nz\n")
    steps(campaign, 2)
    [(name, reason)] = events(campaign)
    assert name == "churn_suspected"
    assert "without the fix" in str(reason)
    assert list(outside.iterdir()) == []


def test_suspected_churn_asks_a_person_where_that_is_declared(tmp_path: Path, docs: Path, home: Home) -> None:
    path = declared(tmp_path, convergence={"suspected_churn": "ask"})
    campaign = after_a_fix(docs, path, home)
    (docs / "other.md").write_text("x\ny\nz\n")
    steps(campaign, 2)
    now = standing(campaign)
    assert (now.outcome, now.reason) == (Outcome.NEEDS_DECISION, "churn")
    assert [name for name, _ in events(campaign)] == ["churn_suspected", "decision_requested"]
    people.answer(campaign, Answer("continue", "ann", rounds=1))
    steps(campaign, 3)
    assert standing(campaign).outcome is Outcome.RUNNING, "it is fresh only once"


def test_a_fix_outside_git_that_holds_is_suspected(tmp_path: Path, home: Home) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "guide.md").write_text(LONG)
    campaign = begin(declared(tmp_path), home)
    steps(campaign, 1)
    (docs / "guide.md").write_text(SHORT)
    fixed(campaign)
    steps(campaign, 2)
    [(name, reason)] = events(campaign)
    assert name == "churn_suspected"
    assert str(reason).endswith("could not be reverted: the material is no git checkout")
    assert str(reason).startswith("the fix of guide.md/too_long has the same scope")


def test_a_fix_that_the_round_could_not_read_yet_causes_nothing(tmp_path: Path, docs: Path, home: Home) -> None:
    late = "select 'x' as subject, 'late' as kind, 'guide.md' as scope where $round > 1"
    path = declared(tmp_path, {"length": LENGTH, "late": late}, convergence={"rule": "dry", "k": 2})
    campaign = after_a_fix(docs, path, home)
    steps(campaign, 2)
    [test] = landed(campaign, 2).tests
    assert (test.answer, test.file) == ("remains", None)
    assert test.reason.endswith("is not in this material")
    assert standing(campaign).outcome is Outcome.RUNNING
    assert standing(campaign).spent.calls == 4, "no strategy was asked again"


def test_a_fix_without_a_revision_that_the_round_could_not_read_is_not_even_suspected(
    tmp_path: Path, home: Home
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "guide.md").write_text(LONG)
    late = "select 'x' as subject, 'late' as kind, 'guide.md' as scope where $round > 1"
    path = declared(tmp_path, {"length": LENGTH, "late": late}, convergence={"rule": "dry", "k": 2})
    campaign = begin(path, home)
    steps(campaign, 1)
    fixed(campaign)
    steps(campaign, 2)
    assert landed(campaign, 2).tests == ()
    assert events(campaign) == []


def test_a_ceiling_on_calls_leaves_the_test_unmade(tmp_path: Path, docs: Path, home: Home) -> None:
    campaign = after_a_fix(docs, declared(tmp_path), home, overrides=Overrides(calls=2))
    steps(campaign, 2)
    now = standing(campaign)
    assert (now.outcome, now.reason, now.spent.calls) == (Outcome.NEEDS_DECISION, "calls", 2)
    logged = events(campaign)
    assert [name for name, _ in logged] == ["churn_suspected", "budget_exceeded", "decision_requested"]
    assert str(logged[0][1]).endswith("could not be reverted: ceiling: calls")
    assert rounds.settle(campaign, 2).tripped == "calls"


def test_findings_of_one_strategy_at_one_fix_share_a_test(tmp_path: Path, docs: Path, home: Home) -> None:
    more = (
        LENGTH
        + """
        union all
        select path, 'guide.md', path, 'bare' from files where path = 'guide.md' and not contains(text, 'words')
        union all
        select path, 'guide.md', path, 'plain' from files where path = 'guide.md' and not contains(text, 'words')
    """
    )
    campaign = after_a_fix(docs, declared(tmp_path, {"length": more, "again": more}), home)
    steps(campaign, 2)
    tests = landed(campaign, 2).tests
    assert [test.answer for test in tests] == ["resolves"] * 6
    files = {(test.strategy, test.file.name) for test in tests if test.file}
    assert files == {("again", "reverted-001.parquet"), ("length", "reverted-002.parquet")}
    assert budget_of(campaign, 2).used.calls == 2 + 2, "two strategies, each looking once more at all they raised"


# Raises what the length strategy raises of a short guide, for a reason of its own.
MARKED = """
    select path as subject, 'guide.md' as scope, path, 'too_short' as kind
    from files
    where path = 'guide.md' and exists (select 1 from files where path = 'other.md' and text like 'x%')
"""


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_a_finding_that_one_of_two_strategies_still_raises_remains(
    tmp_path: Path, docs: Path, home: Home, names: tuple[str, str]
) -> None:
    path = declared(tmp_path, dict(zip(names, (LENGTH, MARKED), strict=True)))
    campaign = after_a_fix(docs, path, home)
    commit(docs, {"other.md": "x\nb\nc\n"})
    steps(campaign, 2)
    found = landed(campaign, 2)
    assert (list(found.answers.values()), found.churn, found.suspected) == (["remains"], False, False)
    assert standing(campaign).outcome is Outcome.RUNNING
    [(name, reason)] = events(campaign)
    assert (name, str(reason)[:14]) == ("revert_tested", "no: it remains")
    # The one that still raises it came first or last; after it nobody has to be asked.
    assert len(found.tests) == (2 if names == ("a", "b") else 1)


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_a_finding_that_one_of_two_strategies_could_not_be_asked_for_is_suspected(
    tmp_path: Path, docs: Path, home: Home, names: tuple[str, str]
) -> None:
    fails = "case when $round > 1 and contains(text, 'words') then cast(left(text, 5) as boolean) else true end"
    path = declared(tmp_path, dict(zip(names, (LENGTH, f"{LENGTH} and {fails}"), strict=True)))
    campaign = after_a_fix(docs, path, home)
    steps(campaign, 2)
    found = landed(campaign, 2)
    assert sorted(test.answer for test in found.tests) == ["resolves", "untested"]
    assert (list(found.answers.values()), found.churn, found.suspected) == (["untested"], False, True)
    assert [name for name, _ in events(campaign)] == ["churn_suspected"]


def test_a_fix_that_came_as_another_commit_is_suspected(tmp_path: Path, docs: Path, home: Home) -> None:
    campaign = begin(declared(tmp_path), home)
    steps(campaign, 1)
    git(docs, "checkout", "-q", "-b", "shorter")
    fix = commit(docs, {"guide.md": SHORT})
    git(docs, "checkout", "-q", "main")
    commit(docs, {"other.md": "a\nb\nd\n"})
    git(docs, "cherry-pick", fix)
    fixed(campaign, revision=fix)
    steps(campaign, 2)
    [(name, reason)] = events(campaign)
    head = git(docs, "rev-parse", "HEAD")
    assert name == "churn_suspected"
    assert f"its commit is not in the history of {head[:12]}; it may be there as another commit" in str(reason)
    assert standing(campaign).spent.calls == 2, "no strategy was asked again"


def test_no_more_tests_are_made_than_a_round_is_worth(
    tmp_path: Path, docs: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(churn, "MOST_TESTS", 0)
    campaign = after_a_fix(docs, declared(tmp_path), home)
    steps(campaign, 2)
    [(name, reason)] = events(campaign)
    assert name == "churn_suspected"
    assert "0 revert tests were made in this round" in str(reason)


def test_a_strategy_that_fails_without_the_fix_answers_nothing(tmp_path: Path, docs: Path, home: Home) -> None:
    fails = "case when $round > 1 and contains(text, 'words') then cast(left(text, 5) as boolean) else true end"
    campaign = after_a_fix(docs, declared(tmp_path, {"length": f"{LENGTH} and {fails}"}), home)
    steps(campaign, 2)
    [test] = landed(campaign, 2).tests
    assert (test.answer, test.file) == ("untested", None)
    assert "Could not convert" in test.reason
    assert budget_of(campaign, 2).used.calls == 2, "it was asked all the same"


def test_what_reverting_makes_unreadable_is_no_answer(tmp_path: Path, home: Home) -> None:
    """A file that was mended brings findings that nobody could see before; they are not the mending's doing."""
    place = repository(tmp_path / "docs", {"guide.md": LONG, "a.yaml": "x: ["})
    keys = "select key as subject, 'key' as kind, 'guide.md' as scope from settings"
    campaign = begin(declared(tmp_path, {"length": LENGTH, "keys": keys}), home)
    steps(campaign, 1)
    commit(place, {"guide.md": "a\nb\nc\n", "a.yaml": "x: 1\n"})
    fixed(campaign)
    steps(campaign, 2)
    [test] = landed(campaign, 2).tests
    assert test.answer == "untested"
    assert "without the fix a.yaml cannot be read" in test.reason


def test_a_person_who_goes_on_is_not_asked_about_the_same_pair_again(tmp_path: Path, docs: Path, home: Home) -> None:
    campaign = after_a_fix(docs, declared(tmp_path), home)
    steps(campaign, 2)
    people.answer(campaign, Answer("continue", "ann", rounds=2))
    steps(campaign, 3)
    now = standing(campaign)
    assert (now.outcome, now.reason, now.rounds) == (Outcome.RUNNING, None, 3)
    assert landed(campaign, 3).tests == ()
    # The fix of the fix brings the first finding back: that is reopened, not fresh, and so no churn of its own.
    commit(docs, {"guide.md": LONG})
    fixed(campaign, "guide.md/too_short")
    steps(campaign, 4)
    assert standing(campaign).outcome is Outcome.RUNNING


def test_a_fix_may_be_a_range_of_commits(tmp_path: Path, docs: Path, home: Home) -> None:
    campaign = begin(declared(tmp_path), home)
    steps(campaign, 1)
    first = git(docs, "rev-parse", "HEAD")
    commit(docs, {"guide.md": "intro\nstill\na few\nwords\n"})
    last = commit(docs, {"guide.md": SHORT})
    fixed(campaign, revision=f"{first}..{last}")
    steps(campaign, 2)
    [test] = landed(campaign, 2).tests
    assert test.answer == "resolves"


def test_a_fix_may_be_a_merge(tmp_path: Path, docs: Path, home: Home) -> None:
    campaign = begin(declared(tmp_path), home)
    steps(campaign, 1)
    git(docs, "checkout", "-q", "-b", "shorter")
    commit(docs, {"guide.md": SHORT})
    git(docs, "checkout", "-q", "main")
    commit(docs, {"other.md": "a\nb\nd\n"})
    git(docs, "merge", "-q", "--no-ff", "-m", "merged", "shorter")
    fixed(campaign)
    steps(campaign, 2)
    assert [test.answer for test in landed(campaign, 2).tests] == ["resolves"]


@pytest.mark.parametrize(
    "revision",
    [
        *("0" * 40, "--output=x", "main:guide.md", "HEAD..HEAD"),
        *(pytest.param(each, marks=pytest.mark.soak) for each in ("nowhere", "a b")),
    ],
)
def test_a_revision_that_is_no_commit_here_is_suspected_and_runs_nothing(
    tmp_path: Path, docs: Path, home: Home, revision: str
) -> None:
    campaign = begin(declared(tmp_path), home)
    steps(campaign, 1)
    commit(docs, {"guide.md": SHORT})
    fixed(campaign, revision=revision)
    steps(campaign, 2)
    assert [name for name, _ in events(campaign)] == ["churn_suspected"]


def test_the_revision_of_a_fix_that_nobody_named_is_the_commit_that_is_checked_out(
    tmp_path: Path, docs: Path, home: Home
) -> None:
    campaign = begin(declared(tmp_path), home)
    steps(campaign, 1)
    fixed(campaign)
    commit(docs, {"other.md": LONG})
    steps(campaign, 2)
    head = commit(docs, {"other.md": "a\nb\nc\n"})
    fixed(campaign, "other.md/too_long")
    revisions = {row[0]: row for row in ledger_rows(campaign)["lives"]}
    assert [row for row in revisions.values() if None in row and head not in row], "not committed, so no revision"
    assert [row for row in revisions.values() if head in row]


def test_a_round_is_tested_once_however_often_it_is_asked_for(
    tmp_path: Path, docs: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = after_a_fix(docs, declared(tmp_path), home)
    plan(campaign, 2)
    list(wave(campaign, 2))
    rounds.take_in(campaign, 2)
    rounds.judge(campaign, 2)
    asked: list[object] = []
    monkeypatch.setattr(churn, "Bench", lambda *given: asked.append(given))
    for _ in range(2):
        rounds.judge(campaign, 2)
        rounds.decide(campaign, 2)
    rounds.judge(campaign, 2)
    assert asked == []
    assert [name for name, _ in events(campaign)] == ["revert_tested", "churn_detected", "decision_requested"]


def test_a_round_is_not_decided_before_it_was_tested(tmp_path: Path, docs: Path, home: Home) -> None:
    campaign = after_a_fix(docs, declared(tmp_path), home)
    steps_until_judged(campaign, 2)
    (campaign.folder(2) / churn.FILE).unlink()
    with pytest.raises(RoundGap):
        rounds.decide(campaign, 2)


def steps_until_judged(campaign: Campaign, round: int) -> None:
    plan(campaign, round)
    list(wave(campaign, round))
    rounds.take_in(campaign, round)
    rounds.judge(campaign, round)


# Kills its own process as a power cut would, before or after a function is called.
KILLED = """
import importlib, os, signal, sys
from pathlib import Path
from drysweep_pipeline.engine import campaign as campaigns
from drysweep_pipeline.engine import rounds
from drysweep_pipeline.home import Home

module, name, when, home = sys.argv[1:]
target = importlib.import_module(module)
real = getattr(target, name)

def dies(*args, **kwargs):
    if when == "after":
        real(*args, **kwargs)
    os.kill(os.getpid(), signal.SIGKILL)

setattr(target, name, dies)
campaign = campaigns.load(Home(Path(home)), "small", "c")
rounds.judge(campaign, 2)
rounds.decide(campaign, 2)
"""


@pytest.mark.parametrize(
    ("module", "name", "when", "calls"),
    [
        ("drysweep_pipeline.engine.journal", "write_decision", "before", 2),
        pytest.param("drysweep_pipeline.engine.journal", "write_decision", "after", 2, marks=pytest.mark.soak),
        # The call was made and its answer lost: it counts, and is made again.
        ("drysweep_pipeline.engine.reverting", "land", "after", 3),
    ],
)
def test_a_process_killed_between_test_and_decision_leaves_an_answer_that_is_not_asked_for_again(
    tmp_path: Path, docs: Path, home: Home, module: str, name: str, when: str, calls: int
) -> None:
    campaign = after_a_fix(docs, declared(tmp_path), home, campaign="c")
    plan(campaign, 2)
    list(wave(campaign, 2))
    rounds.take_in(campaign, 2)
    before = kept(docs)
    command = [sys.executable, "-c", KILLED, module, name, when, str(home.root)]
    killed = subprocess.run(command, env=dict(os.environ), capture_output=True, timeout=120, check=False)
    assert killed.returncode == -9, killed.stderr.decode()
    steps(campaign, 2)
    now = standing(campaign)
    assert (now.outcome, now.reason) == (Outcome.NEEDS_DECISION, "churn")
    assert budget_of(campaign, 2).used.calls == calls
    assert len(list(campaign.folder(2).glob("reverted-*.parquet"))) == 1
    assert [name for name, _ in events(campaign) if name != "calls_lost"] == [
        "revert_tested",
        "churn_detected",
        "decision_requested",
    ]
    assert kept(docs) == before


def test_a_clean_round_that_converges_is_converged_whatever_its_nits_do(tmp_path: Path, docs: Path, home: Home) -> None:
    nit = LENGTH.replace("path as scope, path,", "path as scope, path, 'nit' as severity,")
    nit = nit.replace("not between", "+ (case when $round < 3 then 2 else 0 end) not between")
    campaign = begin(declared(tmp_path, {"length": nit}), home)
    steps(campaign, 1)
    commit(docs, {"guide.md": "a\n"})
    fixed(campaign)
    steps(campaign, 2)
    now = standing(campaign)
    assert (now.outcome, now.reason) == (Outcome.CONVERGED, None)


def test_the_result_of_a_round_keeps_what_was_said_of_churn(tmp_path: Path, docs: Path, home: Home) -> None:
    campaign = after_a_fix(docs, declared(tmp_path), home)
    steps(campaign, 2)
    result = journal.read_result(campaign, 2)
    assert result is not None
    assert (result.churn, result.suspected) == (True, False)
    assert json.loads((campaign.folder(2) / churn.FILE).read_text())["schema_version"] == 1

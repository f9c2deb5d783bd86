"""What each named query answers to a history that can be counted by hand, and how its parameters are filled."""

import json
from collections.abc import Callable
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from drysweep_pipeline.cli import main
from drysweep_pipeline.errors import DeclarationError
from drysweep_pipeline.home import Home
from drysweep_pipeline.queries import catalogue
from drysweep_pipeline.sandbox import check_query
from tests.story import tell
from tests.sweeps import NO_OWNER, begin, declare, registry, run_to_its_end

Ask = Callable[..., dict[str, Any]]
ONE_ROUND = """
why: Another sweep, with a campaign of the same name.
budget: {rounds: 1}
campaigns: [{as_of: 2026-01-01, rounds: [{finders: {a: []}}], expect: {outcome: budget_exceeded}}]
"""
CUT, CONVERGED = "budget_exceeded", "converged"


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return tell(tmp_path_factory.mktemp("story"))


@pytest.fixture
def ask(story: Home, capsys: pytest.CaptureFixture[str]) -> Ask:
    def asked(*words: str, code: int = 0, home: Home = story) -> dict[str, Any]:
        assert main(["sql", *words, "--home", str(home.root), "--json"]) == code
        told: dict[str, Any] = json.loads(capsys.readouterr().out)
        return told

    return asked


WANTED: dict[str, tuple[list[str], list[list[Any]]]] = {
    "fresh_per_round": (
        ["campaign=c1"],
        [
            [1, 4, 4, 0, True, False, False, 6, CUT],
            [2, 2, 6, 0, True, False, False, 4, CUT],
            [3, 0, 6, 0, True, True, True, 2, CUT],
            [4, 1, 7, 0, True, False, False, 3, CUT],
        ],
    ),
    "found_by_one": (
        ["campaign=c1"],
        [
            ["a", "s2/k", "major", "open", 1, CUT],
            ["a", "s4/k", "blocker", "open", 4, CUT],
            ["b", "s6/k", "minor", "accepted_risk", 1, CUT],
            ["b", "s3/k", "minor", "open", 2, CUT],
        ],
    ),
    "late_tail": (["campaign=c1"], [[4, "s4/k", "blocker", "open", ["a", "b"], CUT]]),
    "rejected_again": ([], [["junk/k", "major", 4, 2, ["a", "b"], "scripted", "scripted", CONVERGED]]),
    "flapping": (
        [],
        [
            ["s1/k", "blocker", "fixed", 2, 0, 0, 1, CONVERGED],
            ["s3/k", "minor", "open", 2, 1, 1, 0, CONVERGED],
        ],
    ),
    "time_to_fix": (
        [],
        [
            ["s1/k", "blocker", "fixed", 31, 0, 2, "script", "c2", CONVERGED],
            ["s1/k", "blocker", "fixed", 0, 0, 1, "script", "c1", CUT],
        ],
    ),
    # Two finders a round, and a call of the judge for each of the seven and the one that were fresh.
    "cost_per_fresh": (
        [],
        [
            ["c1", 7, 4 * 2 + 7, 0, 0.0, 15 / 7, 0.0, CUT],
            ["c2", 0, 4 * 2, 0, 0.0, None, None, CONVERGED],
            ["c3", 1, 3 * 2 + 1, 0, 0.0, 7.0, 0.0, CONVERGED],
        ],
    ),
    "strategy_overlap": (["campaign=c1"], [["a", "b", 4, 5, 2, 0.5, CUT]]),
    # All three read the same material, on which what was once seen is still there, however often it is looked for.
    "campaign_difference": (
        [],
        [
            ["fresh", "major", 1, 0, 32, CONVERGED, CONVERGED],
            ["gone", "blocker", 1, 0, 32, CONVERGED, CONVERGED],
            ["not_observed", "blocker", 1, 0, 32, CONVERGED, CONVERGED],
            ["still_there", "minor", 1, 0, 32, CONVERGED, CONVERGED],
        ],
    ),
    "open_by_owner": (
        [],
        [
            ["ada", "major", 1, 0, 0, 0, CONVERGED],
            ["bob", "minor", 1, 0, 0, 63, CONVERGED],
            ["nobody", "blocker", 1, 0, 1, 63, CONVERGED],
            ["nobody", "major", 1, 0, 1, 63, CONVERGED],
        ],
    ),
    # Nothing had been recorded in January 2025: the story was told later.
    "state_on": (
        ["at=2025-01-15"],
        [[status, "nobody knew yet", n, CUT] for status, n in (("accepted_risk", 2), ("open", 2), ("fixed", 1))],
    ),
    "cut_short": ([], [["story", "c1", CUT, "rounds", 4, 0, 2, 1, 7, 0]]),
    "fixed_passes": (
        ["campaign=c1"],
        [[1, 4, 3, 1, 1, CUT], [2, 6, 1, 0, 1, CUT], [3, 6, 1, 0, 1, CUT], [4, 7, 0, 0, 0, CUT]],
    ),
    "angles_not_tried": ([], []),
    "not_earning": (
        ["last=2"],
        [
            ["b", 2, 6, 7, 0.0, 0, 0, None, CONVERGED],
            ["a", 2, 7, 7, 0.0, 1, 1, None, CONVERGED],
        ],
    ),
    "accepted_risks": (
        [],
        [
            ["s6/k", "minor", "holds", "eve", None, "2026-01-01", 302, CONVERGED],
            ["s2/k", "major", "expired", "eve", None, "2025-03-01", -4, CONVERGED],
        ],
    ),
}


@pytest.mark.parametrize("name", WANTED)
def test_a_named_query_answers_what_can_be_counted_by_hand(name: str, ask: Ask) -> None:
    parameters, wanted = WANTED[name]
    told = ask(name, *(word for each in parameters for word in ("-p", each)))
    rows = [[round(v, 9) if isinstance(v, float) else v for v in row] for row in told["rows"]]
    assert rows == [[round(v, 9) if isinstance(v, float) else v for v in row] for row in wanted]
    assert told["query"] == name


def test_every_named_query_is_held_against_numbers_here() -> None:
    assert sorted(WANTED) == sorted(catalogue())


@pytest.mark.parametrize("name", sorted(catalogue()))
def test_a_named_query_reads_views_only_and_binds_what_its_head_declares(name: str) -> None:
    query = catalogue()[name]
    assert check_query(query.text) == {parameter.name for parameter in query.parameters}
    assert "published." not in query.sql


def test_angles_that_no_round_looked_along_are_told_beside_the_campaigns_that_did(tmp_path: Path, ask: Ask) -> None:
    from drysweep_pipeline.engine.campaign import Overrides

    registry(tmp_path / "registry", {"api": None})
    fails_at_c = "select $word as service, 'k' as failure_mode where if($word = 'c', cast($word as integer), 1) > 0"
    path = declare(
        tmp_path, {"words": fails_at_c, "labels": NO_OWNER}, words={"angles": [{"word": word} for word in "abcd"]}
    )
    home = Home(tmp_path / "home")
    for name, rounds in (("first", 2), ("second", 1)):
        run_to_its_end(begin(path, home, campaign=name, overrides=Overrides(rounds=rounds)))
    # The second went on with the third angle, at which the strategy fails.
    assert ask("angles_not_tried", home=home)["rows"] == [
        ["words", 1, '{"word": "a"}', 0, 1, CUT],
        ["words", 2, '{"word": "b"}', 0, 1, CUT],
        ["words", 3, '{"word": "c"}', 1, 0, CUT],
        ["words", 4, '{"word": "d"}', 0, 0, CUT],
    ]


def test_what_was_recorded_by_now_is_known_of_all_material_up_to_now(ask: Ask) -> None:
    rows = ask("state_on", "-p", "at=2100-01-01")["rows"]
    assert rows == [
        ["open", "open", 4, "budget_exceeded, converged"],
        *[[s, s, 1, o] for s, o in (("accepted_risk", CUT), ("fixed", CONVERGED))],
    ]


def test_a_query_says_what_it_was_asked_about_and_what_it_does_not_say(
    story: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sql", "fresh_per_round", "--home", str(story.root)]) == 0
    told = capsys.readouterr()
    assert "sweep story, campaign c3" in told.err
    assert "lower bound" in told.err
    assert told.out.splitlines()[0].split()[:2] == ["round", "fresh"]


def test_a_campaign_of_another_sweep_names_its_sweep_and_several_have_to_be_told_apart(
    story: Home, tmp_path: Path, ask: Ask
) -> None:
    copytree(story.root, tmp_path / "home")
    home = tell(tmp_path, "other", ONE_ROUND)
    told = ask("cost_per_fresh", home=home, code=2)
    assert told["key"] == "sweep"
    assert "-p sweep=other, -p sweep=story" in told["help"]
    assert ask("late_tail", "-p", "campaign=c1", home=home, code=2)["key"] == "sweep"
    for given in (["campaign=story/c1"], ["sweep=story", "campaign=c1"]):
        words = [word for each in given for word in ("-p", each)]
        assert ask("late_tail", *words, home=home)["parameters"] == {"sweep": "story", "campaign": "c1", "after": 2}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fresh_per_rond"], "there is fresh_per_round"),
        (["fresh_per_round", "-p", "campaign=c9"], "there is c3, c2, c1"),
        (["fresh_per_round", "-p", "sweep=stroy"], "there is story"),
        (["fresh_per_round", "-p", "campain=c1"], "it takes sweep, campaign"),
        (["fresh_per_round", "-p", "campaign"], "write -p campaign=ID"),
        (["late_tail", "-p", "after=two"], "the last round that does not count as late"),
        (["state_on"], "-p at=VALUE"),
        (["state_on", "-p", "at=soon"], ""),
        (["campaign_difference", "-p", "newer=c1"], "nothing to ask about"),
        (["campaign_difference", "-p", "older=c3", "-p", "newer=c1"], ""),
        (["findings"], "drysweep sql 'from findings'"),
        (["select $x"], "-p x=VALUE"),
        (["select 1", "-p", "x=1"], "it has none"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_what_can(words: list[str], said: str, ask: Ask) -> None:
    told = ask(*words, code=2)
    assert said in (told["help"] or "")
    assert told["error"]


def test_a_value_is_bound_and_never_becomes_sql(ask: Ask) -> None:
    hostile = "x' or '1' = '1"
    assert ask("select $it as it", "-p", f"it={hostile}")["rows"] == [[hostile]]
    assert ask("cut_short", "-p", f"sweep={hostile}")["rows"] == []


def test_the_text_of_a_query_can_be_taken_away_without_a_history(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", "--show", "late_tail"]) == 0
    assert capsys.readouterr().out.rstrip() == catalogue()["late_tail"].text.rstrip()
    assert main(["sql", "--show", "late_tale", "--json"]) == 2


def test_a_project_brings_its_own_queries_and_takes_no_name_that_is_taken(
    tmp_path: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "queries").mkdir()
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "queries" / "other.sql").write_text("select 1, without a head, is somebody else's")
    head = (
        "-- title: T\n-- question: How many?\n-- parameter most = 5: up to\n-- reading: a\n--   sum\n-- caution: no\n"
    )
    (tmp_path / "queries" / "ours.sql").write_text(head + "select least($most, count(*)) as n from findings\n")
    monkeypatch.chdir(tmp_path)
    assert ask("ours")["rows"] == [[5]]
    assert ask("ours", "-p", "most=3")["rows"] == [[3]]
    assert ["ours", "query", "How many?"] in ask()["rows"]
    (tmp_path / "queries" / "late_tail.sql").write_text(head + "select 1")
    assert "late_tail already" in ask("ours", code=2)["error"]


@pytest.mark.parametrize(
    ("head", "line", "said"),
    [
        ("-- title: T\n-- quastion: Q?\n", 2, "unknown 'quastion'"),
        ("-- title: T\nselect 1", None, "no question"),
        ("-- title: T\n-- parameter n = many: how many\n", 2, "the default many"),
        ("-- title: T\n--nothing\n", 2, "not a line of a head"),
    ],
)
def test_a_head_that_is_wrong_is_refused_with_its_line(tmp_path: Path, head: str, line: int | None, said: str) -> None:
    (tmp_path / "mine.sql").write_text(head)
    with pytest.raises(DeclarationError, match=said) as refused:
        catalogue(tmp_path)
    assert (refused.value.file, refused.value.line) == (str(tmp_path / "mine.sql"), line)

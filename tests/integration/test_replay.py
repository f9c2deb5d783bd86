"""Scenarios end as they say, through the rules alone and through ledger, landing and state files; both ways agree."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from drysweep_pipeline.cli.playing import play
from drysweep_pipeline.errors import DrysweepError
from drysweep_pipeline.home import Home
from drysweep_pipeline.ledger import intake
from drysweep_pipeline.replay import answer, core, pipeline
from drysweep_pipeline.replay.scenario import Scenario, read_scenario
from tests import scenarios
from tests.story import replayed

# Our own that lean on what the ledger keeps, opened for each step; the others play through it too, but not every time.
LEDGER = (
    *("backfill_between_two", "backfill_reopens_nothing", "same_day_goes_by_sequence", "expiry_on_the_last_day"),
    *("not_run_keeps_valid_rows", "numbers_and_text_differ", "people_act_on_what_others_found"),
    *("calls_trip_while_judging_with_k_left", "calls_trip_during_the_wave", "continue_lifts_every_ceiling"),
    *("escalated_then_decided", "labels_hold_slashes_and_numbers", "dry_churn_across_campaigns"),
    *("churn_asks_though_only_nits_came", "churn_needs_the_same_scope", "odd_keys_cost_their_row_only"),
    *("cover_wants_finders_to_have_run", "undecided_of_another_campaign_waits_until_it_is_sighted"),
)
# What only a real run has: when things happened, and what its report says beside the keys of an answer.
KEYS = (
    *("campaign", "as_of", "outcome", "reason", "k", "rounds", "quiet", "new", "seen", "confirmed", "rejected"),
    *("undecided", "unjudged", "ledger_seen", "calls", "states", "not_searched", "matches", "differs"),
)

Answers = list[dict[str, Any]]


def played(path: Path, replay: Callable[[Scenario], Answers]) -> Answers | DrysweepError:
    scenario = scenarios.read(path)
    if isinstance(scenario, DrysweepError):
        return scenario
    try:
        return replay(scenario)
    except DrysweepError as error:
        return error


def expected_error(path: Path) -> str | None:
    scenario = scenarios.read(path)
    if isinstance(scenario, DrysweepError):
        # A file that is refused when it is read cannot say here what it expects.
        return path.read_text().split("error: ")[1].strip(" }\n")
    return scenario.campaigns[0].expect.get("error")


def held(path: Path, told: Answers | DrysweepError) -> None:
    wanted = expected_error(path)
    if wanted is not None:
        assert isinstance(told, DrysweepError)
        assert wanted in str(told)
        assert str(told).startswith(f"{path}:{told.line}:")
        return
    assert not isinstance(told, DrysweepError), told
    assert [each["differs"] for each in told] == [[] for _ in told], json.dumps(told, indent=1)


def through_files(home: Path) -> Callable[[Scenario], Answers]:
    return lambda scenario: pipeline.replay(scenario, pipeline.steps, Home(home))


def kept_open(home: Path) -> Callable[[Scenario], Answers]:
    return lambda scenario: replayed(scenario, Home(home))


def comparable(told: Answers | DrysweepError) -> object:
    if isinstance(told, DrysweepError):
        return str(told)
    logged = [[(event["name"], event["round"]) for event in each["events"]] for each in told]
    return [{key: each[key] for key in KEYS} for each in told], logged


def held_both_ways(path: Path, replay: Callable[[Scenario], Answers]) -> None:
    told = played(path, replay)
    held(path, told)
    assert comparable(told) == comparable(played(path, core.replay))


@pytest.mark.parametrize("path", [*scenarios.own(), *scenarios.further()])
def test_the_rules_alone_end_a_scenario_as_it_says(path: Path) -> None:
    held(path, played(path, core.replay))


@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in scenarios.OWN if path.stem in LEDGER])
def test_ledger_and_files_end_a_scenario_as_the_rules_alone(path: Path, tmp_path: Path) -> None:
    held_both_ways(path, through_files(tmp_path))


@pytest.mark.parametrize("path", scenarios.further())
def test_ledger_and_files_end_a_further_scenario_as_the_rules_alone(path: Path, tmp_path: Path) -> None:
    held_both_ways(path, kept_open(tmp_path))


@pytest.mark.soak
@pytest.mark.parametrize("path", [pytest.param(p, id=p.stem) for p in scenarios.OWN if p.stem not in LEDGER])
def test_ledger_and_files_end_any_scenario_as_the_rules_alone(path: Path, tmp_path: Path) -> None:
    held_both_ways(path, through_files(tmp_path))


def test_without_the_anti_join_the_files_disagree_with_the_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "known.yaml"
    path.write_text(
        "why: What is known is not fresh.\n"
        "rounds:\n"
        "  - finders: {a: [{subject: s1, kind: k}]}\n"
        "  - finders: {a: [{subject: s1, kind: k}]}\n"
        "  - finders: {a: [{subject: s1, kind: k}]}\n"
        "expect: {outcome: converged, rounds: 3, new: [1, 0, 0]}\n"
    )
    monkeypatch.setattr(intake, "_FRESH", "create or replace temp table fresh as select fp from candidates -- {}")
    [told] = pipeline.replay(read_scenario(path), pipeline.steps, Home(tmp_path / "home"))
    assert told["differs"] == ["outcome", "new"]
    [alone] = core.replay(read_scenario(path))
    assert alone["matches"]


def test_the_rules_alone_open_no_database_and_write_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = read_scenario(next(path for path in scenarios.OWN if path.stem == "backfill_between_two"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(duckdb, "connect", None)
    assert all(each["matches"] for each in core.replay(scenario))
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_campaigns_answers_with_a_list(tmp_path: Path) -> None:
    scenario = read_scenario(next(path for path in scenarios.OWN if path.stem == "backfill_between_two"))
    told = answer.of_file(scenario, core.replay(scenario))
    assert told["file"] == str(scenario.path)
    assert [each["campaign"] for each in told["campaigns"]] == ["c1", "c2", "c3", "c4"]


def test_a_file_of_one_campaign_answers_as_a_run_would() -> None:
    scenario = read_scenario(next(path for path in scenarios.OWN if path.stem == "continue_twice"))
    told = answer.of_file(scenario, core.replay(scenario))
    assert (told["file"], told["sweep"], told["campaign"]) == (str(scenario.path), "continue_twice", "c1")
    assert (told["schema_version"], told["as_of"], told["report"]) == (1, "2026-01-01T00:00:00Z", None)
    assert told["events"][0] == {"name": "budget_exceeded", "round": 1, "reason": "rounds"}
    json.dumps(told)


def test_an_answer_names_every_key_that_is_not_as_expected() -> None:
    told = {"outcome": "converged", "quiet": 2, "states": {"a/b": "open"}, "events": [{"name": "x"}, {"name": "y"}]}
    met = {"quiet": 2, "events": ["x", "y"], "states": {}}
    assert answer.compared(told, met)["matches"]
    missed = {"outcome": "failed", "quiet": 2, "states": {"a/b": "fixed"}, "events": ["y", "x"], "error": "evidence"}
    assert answer.compared(told, missed)["differs"] == ["outcome", "states", "events", "error"]


def test_a_refused_file_answers_with_its_error_as_every_command_does_and_with_all_that_is_wrong(tmp_path: Path) -> None:
    path = next(path for path in scenarios.OWN if path.stem == "go_only_at_a_turn")
    error = played(path, core.replay)
    assert isinstance(error, DrysweepError)
    told = answer.refused(path, error)
    assert set(told) == {"schema_version", "file", "error", "line", "key", "help", "code"}
    assert told["error"].startswith(f"{path}:4: go: ")
    assert told["line"] == 4
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("why: x\nrounds: 3\nconvergance: {}\n")
    told = play(wrong)
    assert [each["line"] for each in told["problems"]] == [2, 3, 1]
    # What checks declarations does not know of scripts.
    assert "validate" not in told["error"]


def test_a_file_name_that_is_no_sweep_name_plays_all_the_same(tmp_path: Path) -> None:
    path = tmp_path / "2nd Try-Ä.yaml"
    path.write_text("why: Names.\nrounds: [{finders: {a: []}}]\nexpect: {outcome: running, quiet: 1}\n")
    [told] = pipeline.replay(read_scenario(path), pipeline.steps, Home(tmp_path / "home"))
    assert told["matches"]
    assert told["sweep"] == "2nd Try-Ä"

"""What `plan` says of a campaign before there is one, held against the campaign that then runs."""

import json
from pathlib import Path
from typing import Any

import pytest

from drysweep_pipeline.budget import Ceilings
from drysweep_pipeline.cli import main
from drysweep_pipeline.declaration import read_declaration
from drysweep_pipeline.engine.campaign import NO_OVERRIDES, Overrides
from drysweep_pipeline.engine.forecast import Forecast, Trip, forecast
from drysweep_pipeline.engine.journal import spent
from drysweep_pipeline.engine.planning import read_plan
from drysweep_pipeline.home import Home
from tests.sweeps import AS_OF, NO_OWNER, begin, declare, registry, run_to_its_end

FAILS = "select cast(s.service as integer) as service, 'k' as failure_mode from services s"
VARIED = {"labels": {"angles": [{"key": "owner"}, {"key": "tier"}, {"key": "team"}]}}
BY_KEY = """
    select s.service, 'no_' || $key as failure_mode, s.path
    from services s
    where not exists (select 1 from labels l where l.service = s.service and l.key = $key)
"""
JUDGE = {"kind": "sql", "query": {"file": "judge.sql"}, "panel": 3}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    registry(tmp_path / "registry", {"api": None, "web": "team", "db": None})
    (tmp_path / "judge.sql").write_text("select fp, 'confirmed' as verdict, 'so it is' as reason from findings")
    return tmp_path


def planned(path: Path, home: Path, **options: Any) -> Forecast:
    return forecast(Home(home), read_declaration(path), AS_OF, NO_OVERRIDES, **options)


def told(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    assert main(["plan", *arguments, "--json"]) == code
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    found: dict[str, Any] = json.loads(out)
    return found


@pytest.mark.parametrize(
    ("strategies", "attributes"),
    [
        ({"labels": NO_OWNER}, {}),
        ({"labels": NO_OWNER, "fails": FAILS}, {}),
        ({"labels": NO_OWNER}, {"judge": JUDGE}),
        ({"labels": NO_OWNER, "fails": FAILS}, {"judge": JUDGE, "budget": {"rounds": 9, "calls": 8}}),
        ({"labels": NO_OWNER, "fails": FAILS}, {"budget": {"rounds": 9, "calls": 5}}),
    ],
    ids=["quiet", "failing", "judged", "judged_tight", "tight"],
)
def test_no_campaign_makes_more_calls_than_its_plan_said(
    place: Path, strategies: dict[str, str], attributes: dict[str, Any]
) -> None:
    path = declare(place, strategies, **attributes)
    before = planned(path, place / "home", campaign="mine")
    assert not (place / "home").exists()
    campaign = run_to_its_end(begin(path, Home(place / "home"), campaign="mine"))
    most = before.at_most["calls"]
    assert most is not None
    assert spent(campaign).calls <= most
    assert spent(campaign).calls >= before.least.calls


def test_angles_go_on_where_the_last_campaign_stopped_and_are_those_that_run(place: Path) -> None:
    path = declare(place, {"labels": BY_KEY}, **VARIED)
    home = Home(place / "home")
    run_to_its_end(begin(path, home, campaign="first"))
    before = planned(path, place / "home", campaign="mine")
    campaign = run_to_its_end(begin(path, home, campaign="mine"))
    plans = [read_plan(campaign, round) for round in (1, 2)]
    assert [plan.looks for plan in plans if plan is not None] == list(before.rounds[:2])
    assert before.rounds[0] != planned(path, place / "elsewhere", campaign="mine").rounds[0]


def test_a_plan_asks_nobody_and_writes_nothing(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = place / "search.py"
    program.write_text(f"open({str(place / 'asked')!r}, 'w').close()\n")
    path = declare(place, {"labels": NO_OWNER})
    sweep = json.loads(path.read_text())
    sweep["attributes"]["strategies"].append({"name": "program", "kind": "command", "argv": ["python3", str(program)]})
    path.write_text(json.dumps(sweep))
    before = sorted(place.rglob("*"))
    facts = told(capsys, str(path), "--home", str(place / "home"))
    assert sorted(place.rglob("*")) == before
    assert [each["kind"] for each in facts["strategies"]] == ["sql", "command"]
    assert facts["strategies"][0]["isolation"] == "locked SQL"


def test_retries_of_a_service_and_of_a_panel_count_at_their_worst(place: Path) -> None:
    service = {"name": "asks", "kind": "http", "url": "https://localhost:1/", "retries": 3, "at_most": {"calls": 2}}
    judge = {"kind": "http", "url": "https://localhost:1/", "retries": 1, "panel": 3}
    path = declare(place, {"labels": NO_OWNER}, judge=judge, budget={"rounds": 4, "calls": 90, "minutes": 30})
    sweep = json.loads(path.read_text())
    sweep["attributes"]["strategies"].append(service)
    path.write_text(json.dumps(sweep))
    before = planned(path, place / "home")
    asks = before.strategies[1]
    # Two attempts, each of one try and three more, each of at most two calls.
    assert (asks.least.calls, asks.most.calls) == (2, 2 * 4 * 2)
    assert before.judge is not None
    assert (before.judge.least.calls, before.judge.most.calls) == (3, 6)
    # Four rounds of three calls leave 78, and a finding takes three.
    assert before.judge.fit == 26
    assert before.at_most["calls"] == 90
    # How many findings a round brings to the judge nobody knows, and a ceiling on minutes ends no round under way.
    assert before.at_most["minutes"] is None
    assert before.trips == (Trip("rounds", 4), Trip("rounds", 4))


@pytest.mark.parametrize(
    ("budget", "trips"),
    [
        ({"rounds": 9, "calls": 200}, (Trip("rounds", 9), Trip("rounds", 9))),
        ({"rounds": 9, "calls": 5}, (Trip("calls", 6), Trip("calls", 3))),
        ({"rounds": 9, "calls": 200, "minutes": 7}, (Trip("rounds", 9), Trip("minutes", 2))),
    ],
)
def test_the_ceiling_that_ends_it_first_is_named(place: Path, budget: dict[str, Any], trips: tuple[Trip, Trip]) -> None:
    before = planned(declare(place, {"labels": NO_OWNER}, budget=budget), place / "home")
    assert before.ceilings == Ceilings(**budget)
    assert before.trips == trips
    # Nobody judges: what searching takes is all, to the end of the round in which the minutes are used up.
    assert before.at_most["minutes"] == min(9 * 4, budget.get("minutes", 100) + 4)


def test_a_search_that_cannot_converge_under_its_ceilings_is_told_so(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cover = {"k": 2, "cover": "all_angles"}
    path = declare(place, {"labels": BY_KEY}, convergence=cover, **VARIED)
    assert told(capsys, str(path))["convergence"]["earliest"] == 3
    facts = told(capsys, str(path), "--rounds", "2")
    assert "it cannot converge: round 3 is the earliest, and the ceiling on rounds is 2" in facts["warnings"]
    facts = told(capsys, str(path), "--calls", "2")
    assert "it cannot converge: 3 rounds take 3 calls, and the ceiling is 2" in facts["warnings"]


def test_rounds_beyond_convergence_are_counted_and_raise_no_bound(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = declare(place, {"labels": NO_OWNER, "fails": FAILS})
    without, asked = told(capsys, str(path)), told(capsys, str(path), "--past", "3")
    assert without["past"] is None
    past = asked["past"]
    # Two quiet rounds converge, and each strategy is asked once, or once more.
    assert (past["rounds"], past["earliest"], past["least"]["calls"], past["most"]["calls"]) == (3, 5, 6, 12)
    # The ceilings are on all rounds, so that those beyond are in the bound already.
    assert asked["at_most"] == without["at_most"]
    assert main(["plan", str(path), "--past", "1", "--home", str(place / "home")]) == 0
    line = "1 round looks on beyond that, to round 3 at the earliest: searching takes 2 to 4 more calls, under the same"
    assert line in capsys.readouterr().out


def test_a_campaign_takes_for_its_rounds_beyond_what_the_plan_said(place: Path) -> None:
    path, asked = declare(place, {"labels": NO_OWNER}), Overrides(past=2)
    before = forecast(Home(place / "home"), read_declaration(path), AS_OF, asked)
    campaign = run_to_its_end(begin(path, Home(place / "home"), campaign="mine", overrides=asked))
    assert before.past is not None
    # The first round finds, two quiet ones follow.
    assert spent(campaign).calls == 3 * before.least.calls + before.past.least.calls


@pytest.mark.parametrize(
    ("ceiling", "says"),
    [
        ("--rounds", "they end in round 5 at the earliest, and the ceiling on rounds is 4"),
        ("--calls", "5 rounds take 5 calls, and the ceiling is 4"),
    ],
)
def test_a_ceiling_that_leaves_no_room_beyond_convergence_is_named(
    place: Path, capsys: pytest.CaptureFixture[str], ceiling: str, says: str
) -> None:
    facts = told(capsys, str(declare(place, {"labels": NO_OWNER})), "--past", "3", ceiling, "4")
    assert f"it cannot look 3 rounds beyond its convergence: {says}" in facts["warnings"]


def test_no_round_beyond_is_refused_by_a_plan_as_by_a_run(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = told(capsys, str(declare(place, {"labels": NO_OWNER})), "--past", "0", code=2)
    assert (facts["error"], facts["key"]) == ("--past 0 looks at no round", "past")


def test_what_a_run_would_refuse_is_said_and_returns_2(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REGISTRY_AT", raising=False)
    path = declare(place, {"labels": NO_OWNER})
    path.write_text(path.read_text().replace('"path": "registry"', '"path": "{env.REGISTRY_AT}"'))
    facts = told(capsys, str(path), code=2)
    assert facts["environment"] == {"named": ["REGISTRY_AT"], "unset": ["REGISTRY_AT"]}
    assert (facts["material"]["reachable"], facts["problems"][0]["code"]) == (False, "material")
    monkeypatch.setenv("REGISTRY_AT", str(place / "registry"))
    facts = told(capsys, str(path))
    assert (facts["material"]["reachable"], facts["material"]["size"]["files"]) == (True, 3)


def test_a_ceiling_on_minutes_is_told_as_it_was_declared(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = declare(place, {"labels": BY_KEY}, budget={"rounds": 20, "calls": 90, "minutes": 30}, **VARIED)
    assert main(["plan", str(path), "--home", str(place / "home")]) == 0
    out = capsys.readouterr().out
    assert "30 minutes, or 34 with the round that is under way then" in out
    assert (
        "the ceiling on rounds ends it in round 20; where strategies fail and are asked again, the ceiling on " in out
    )


def test_what_a_plan_says_can_be_read_as_it_is(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schedule = {"cron": "0 6 1 1 *", "timezone": "Europe/Berlin"}
    path = declare(place, {"labels": BY_KEY}, schedule=schedule, judge=JUDGE, **VARIED)
    assert main(["plan", str(path), "--as-of", "2026-01-01", "--home", str(place / "home")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "small/20260101T000000Z, as of 2026-01-01T00:00:00Z: what it would do; nothing was asked"
    for line in (
        "labels    sql   3       1 to 2         locked SQL",
        "round 1: labels {key: owner}",
        "converges after 2 quiet rounds in a row: in round 2 at the earliest",
        "judged by sql, calls a finding: 3; 63 findings fit where all 10 rounds run and nothing is asked twice",
        "searching takes 1 to 2 calls a round, 200 calls at most with all that comes on top",
        "at most 10 rounds, 200 calls, no bound on minutes is known, unless a person lifts a ceiling",
    ):
        assert line in lines
    [scheduled] = [line for line in lines if line.startswith("scheduled 0 6 1 1 * Europe/Berlin, next at ")]
    assert scheduled.count("-01-01T05:00:00Z") == 3
    assert "if it does not converge, the ceiling on rounds ends it in round 10" in lines
    assert "complete" not in "\n".join(lines)

"""People and campaigns: what is refused changes nothing, who goes on after an answer, and how campaigns queue."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
import psutil
import pytest

from drysweep_pipeline.cli import main
from drysweep_pipeline.convergence import Answer, after_answer
from drysweep_pipeline.declaration import read_declaration
from drysweep_pipeline.engine import deeds, journal, people
from drysweep_pipeline.engine.campaign import Campaign, campaigns, load
from drysweep_pipeline.engine.deeds import Asked
from drysweep_pipeline.engine.journal import standing
from drysweep_pipeline.engine.planning import read_plan
from drysweep_pipeline.engine.starting import released
from drysweep_pipeline.engine.state import Lease, change_state, hand_over, read_state
from drysweep_pipeline.home import Home
from drysweep_pipeline.lifecycle import Act, Deed
from drysweep_pipeline.orchestration import jobs as job_module
from drysweep_pipeline.orchestration.daemon import looks_at_sensors
from drysweep_pipeline.orchestration.inprocess import InProcess
from drysweep_pipeline.orchestration.partitions import round_tags
from drysweep_pipeline.orchestration.schedule import build_schedules, why_to_skip
from drysweep_pipeline.reports import write_report
from drysweep_pipeline.reports.summary import summary
from tests.integration.test_dagster_layer import asked, checks, wired
from tests.ledger_machine import dying
from tests.sweeps import NO_OWNER, begin, declare, ledger_rows, registry, run_to_its_end, steps

QUEUE = {"cron": "0 6 * * *", "if_waiting": "queue"}
Stage = Callable[[Path, Home], Campaign]
SUPERSEDE = {"cron": "0 6 * * *", "if_waiting": "supersede"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    registry(tmp_path / "registry", {"api": None, "web": "team", "db": None})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DRYSWEEP_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    return Home(tmp_path / "home")


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as made:
        yield made


def everything(campaign: Campaign) -> tuple[Any, ...]:
    """All that a refusal must leave as it was: ledger rows, landed files, the state file."""
    landing = campaign.home.landing(campaign.id)
    files = {str(path.relative_to(landing)): path.read_bytes() for path in landing.rglob("*") if path.is_file()}
    return ledger_rows(campaign), files, campaign.state_path.read_bytes()


def converged(tmp_path: Path, home: Home) -> Campaign:
    return run_to_its_end(begin(declare(tmp_path, {"labels": NO_OWNER}), home, campaign="mine"))


def running(tmp_path: Path, home: Home) -> Campaign:
    campaign = begin(declare(tmp_path, {"labels": NO_OWNER}), home, campaign="mine")
    steps(campaign, 1)
    return campaign


def at_a_turn(tmp_path: Path, home: Home) -> Campaign:
    return run_to_its_end(begin(declare(tmp_path, {"labels": NO_OWNER}, turns="manual"), home, campaign="mine"))


def at_a_ceiling(tmp_path: Path, home: Home) -> Campaign:
    budget = {"rounds": 1, "calls": 50, "on_exceeded": "ask"}
    return run_to_its_end(begin(declare(tmp_path, {"labels": NO_OWNER}, budget=budget), home, campaign="mine"))


@pytest.mark.parametrize(
    ("make", "commands"),
    [
        (
            at_a_turn,
            {
                ("go", "mine", "--by", ""): "needs a name",
                ("go", "mine", "--by", "  "): "needs a name",
                ("resume", "mine"): "waits for a person",
            },
        ),
        (
            at_a_ceiling,
            {
                ("decide", "mine", "accept", "--by", ""): "needs a name",
                ("decide", "mine", "continue", "0"): "1 or more",
                ("decide", "mine", "continue"): "1 or more",
                ("decide", "mine", "continue", "two"): "valid integer",
                ("decide", "mine", "accept", "3"): "no number",
                ("decide", "mine", "perhaps"): "no answer",
                ("go", "mine"): "waits for no go-ahead",
                ("resume", "mine"): "still forbids round 2",
                ("resume", "mine", "--rounds", "0"): "no ceiling",
                ("resume", "mine", "--calls", "-5"): "no ceiling",
            },
        ),
        (
            running,
            {
                ("decide", "mine", "accept"): "waits for no decision",
                ("go", "mine"): "waits for no go-ahead",
            },
        ),
        (
            converged,
            {
                ("resume", "mine"): "ended as converged",
                ("resume", "mine", "--rounds", "99"): "ended as converged",
                ("stop", "mine"): "ended already",
                ("decide", "mine", "redraft"): "waits for no decision",
                ("go", "nobody"): "no campaign",
                ("status", "small/nobody"): "no campaign",
            },
        ),
    ],
)
def test_what_is_not_asked_for_is_refused_with_a_reason_and_help_and_changes_nothing(
    tmp_path: Path,
    home: Home,
    capsys: pytest.CaptureFixture[str],
    make: Callable[[Path, Home], Campaign],
    commands: dict[tuple[str, ...], str],
) -> None:
    campaign = make(tmp_path, home)
    before = everything(campaign)
    for command, said in commands.items():
        assert main([*command, "--json"]) == 2
        told = json.loads(capsys.readouterr().out)
        assert said in told["error"]
        assert told["help"]
        assert everything(campaign) == before


def test_a_refusal_says_what_is_asked_instead(tmp_path: Path, home: Home, capsys: pytest.CaptureFixture[str]) -> None:
    at_a_ceiling(tmp_path, home)
    assert main(["go", "mine"]) == 2
    assert f"`drysweep decide small/mine accept --home {home.root}`" in capsys.readouterr().err


def stopped_at_its_ceiling(tmp_path: Path, home: Home) -> Campaign:
    campaign = at_a_ceiling(tmp_path, home)
    people.answer(campaign, Answer("stop", "ann"))
    return campaign


def cut_short(tmp_path: Path, home: Home) -> Campaign:
    path = declare(tmp_path, {"labels": NO_OWNER}, budget={"rounds": 9, "calls": 2})
    return run_to_its_end(begin(path, home, campaign="mine"))


def failed(tmp_path: Path, home: Home) -> Campaign:
    down = f"{NO_OWNER} and error('down')"
    return run_to_its_end(begin(declare(tmp_path, {"labels": down}), home, campaign="mine"))


@pytest.mark.parametrize("stage", [stopped_at_its_ceiling, cut_short, failed], ids=lambda stage: stage.__name__)
def test_the_way_on_that_status_and_report_offer_is_one_that_is_allowed(
    tmp_path: Path, home: Home, capsys: pytest.CaptureFixture[str], stage: Stage
) -> None:
    campaign = stage(tmp_path, home)
    assert main(["status", "mine"]) == 0
    shown = capsys.readouterr().out
    reported = write_report(home, "small", "mine")["md"].read_text()
    offered = {words for text in (shown, reported) for words in re.findall(r"drysweep resume [^`\n]*", text)}
    assert len(offered) == 1
    wider = {name: int(number) for name, number in re.findall(r"--(rounds|calls) (\d+)", offered.pop())}
    before = standing(campaign)
    assert after_answer(before, Answer("resume", "ann", **wider))[0].due == before.rounds + 1


def test_the_verdict_counts_what_blocks_and_the_contests_that_the_material_does_not_bear_out(
    tmp_path: Path, home: Home
) -> None:
    path = declare(tmp_path, {"labels": NO_OWNER}, convergence={"rule": "clean"}, turns="manual")
    campaign = run_to_its_end(begin(path, home, campaign="mine"))
    deeds.act(campaign, [Asked("api/no_owner", Deed(Act.CONTEST, "ann", evidence="services/nowhere.yaml:1"))])
    told = summary(home, "small", "mine")
    assert (told["blocking"]["raised"], told["blocking"]["contested"]) == (1, 1)
    assert told["blocking"]["contested_unverified"] == 1
    assert "1 contested (1 with evidence that the material does not have)" in told["verdict"]


def test_what_is_waited_for_is_in_status_and_in_both_reports_and_null_once_it_is_answered(
    tmp_path: Path, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign = at_a_turn(tmp_path, home)
    waits_for = summary(home, "small", "mine")["waits_for"]
    assert waits_for == {
        "what": "turn",
        "sentence": "mine waits for a go-ahead for round 2",
        "commands": [f"drysweep {verb} small/mine --home {home.root}" for verb in ("go", "stop")],
    }
    assert main(["status", "mine"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-4] == "mine waits for a go-ahead for round 2:"
    # What each does is said behind it, as a comment, so that the whole line can be pasted.
    assert [line.partition("  # ")[0] for line in lines[-3:-1]] == [f"  {each}" for each in waits_for["commands"]]
    assert all(line.partition("  # ")[2] for line in lines[-3:-1])
    assert lines[-1].startswith("NOT CONVERGED, needs_decision (turn)")
    files = write_report(home, "small", "mine")
    assert json.loads(files["json"].read_text())["waits_for"] == waits_for
    told = files["md"].read_text()
    assert "**What it waits for:** mine waits for a go-ahead for round 2." in told
    assert f"- `drysweep go small/mine --home {home.root}` runs that round." in told
    assert "accept" not in told.split("## What to do next")[1]
    people.answer(campaign, Answer("go", "ann"))
    assert summary(home, "small", "mine")["waits_for"] is None


def test_a_round_that_asks_a_person_says_so_on_its_decision_until_it_is_answered(
    tmp_path: Path, home: Home, instance: dg.DagsterInstance
) -> None:
    path = declare(tmp_path, {"labels": NO_OWNER}, turns="manual")
    campaign = begin(path, home, campaign="mine", driver="sensor")
    InProcess(read_declaration(path), home, instance).round(campaign, 1)
    assert checks(instance)["decision nobody_is_asked"] is False
    shown = instance.get_latest_materialization_event(dg.AssetKey(["small", "decision"]))
    assert shown is not None
    assert shown.asset_materialization is not None
    said = str(shown.asset_materialization.metadata["waits_for"].value)
    assert said.startswith("mine waits for a go-ahead for round 2: `drysweep go small/mine")
    assert asked(path, home, instance)[0][0] == "small_report", "the report says what is waited for"
    decided(path, home, instance, "go")
    assert last_check(instance) == "SUCCEEDED"


def test_an_answer_that_ends_a_campaign_is_seen_in_the_pages_with_its_report(
    tmp_path: Path, home: Home, instance: dg.DagsterInstance
) -> None:
    budget = {"rounds": 1, "calls": 50, "on_exceeded": "ask"}
    path = declare(tmp_path, {"labels": NO_OWNER}, budget=budget)
    jobs = InProcess(read_declaration(path), home, instance)
    first, second = (begin(path, home, campaign=name) for name in ("mine", "other"))
    jobs.round(first, 1)
    jobs.round(second, 1)
    jobs.report(first)
    assert last_check(instance) == "FAILED"
    people.answer(first, Answer("accept", "ann"))
    jobs.report(first)
    assert last_check(instance) == "FAILED", "another campaign of the sweep still asks"
    people.answer(second, Answer("accept", "ann"))
    jobs.report(second)
    assert last_check(instance) == "SUCCEEDED"


def last_check(instance: dg.DagsterInstance) -> str:
    """What the newest evaluation of the check on the decision says."""
    key = dg.AssetCheckKey(dg.AssetKey(["small", "decision"]), "nobody_is_asked")
    return instance.event_log_storage.get_asset_check_execution_history(key, limit=1)[0].status.value


def decided(path: Path, home: Home, instance: dg.DagsterInstance, choice: str) -> str:
    """Answer ``mine`` by the job and return what its op logged of who goes on."""
    config = {"ops": {"small_record_decision": {"config": {"campaign": "mine", "choice": choice, "by": "ann"}}}}
    done = wired(path, home).resolve_job_def("small_decide").execute_in_process(config, instance=instance)
    assert done.success
    logged = [entry.user_message for entry in instance.all_logs(done.run_id) if "campaign mine" in entry.user_message]
    return logged[-1]


def test_a_campaign_that_nobody_works_on_is_handed_to_the_sensor_when_it_is_answered_in_the_pages(
    tmp_path: Path, home: Home, instance: dg.DagsterInstance
) -> None:
    path = declare(tmp_path, {"labels": NO_OWNER}, turns="manual")
    campaign = run_to_its_end(begin(path, home, campaign="mine", driver="cli"))
    assert asked(path, home, instance) == []
    assert decided(path, home, instance, "go") == "campaign mine: running; the sensor goes on with round 2"
    assert asked(path, home, instance) == [("small_round", "small/mine-r002#1", "mine-r002")]
    steps(campaign, 2)
    assert decided(path, home, instance, "stop") == "campaign mine: stopped; no round is due"


def test_a_campaign_that_a_living_process_works_on_stays_with_it(
    tmp_path: Path, home: Home, instance: dg.DagsterInstance
) -> None:
    path = declare(tmp_path, {"labels": NO_OWNER}, turns="manual")
    campaign = run_to_its_end(begin(path, home, campaign="mine", driver="cli"))
    with living_process() as lease:
        change_state(campaign.state_path, lease=lease)
        assert "command line that works on it goes on with round 2" in decided(path, home, instance, "go")
        assert asked(path, home, instance) == []
        assert hand_over(campaign.state_path) == "cli"
    assert hand_over(campaign.state_path) == "sensor", "a lease whose process is gone is no lease"


@contextmanager
def living_process() -> Iterator[Lease]:
    """Another process that lives as long as the block, as a lease."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield Lease(Lease.mine().host, process.pid, round(psutil.Process(process.pid).create_time(), 2))
        process.communicate(b"\n")


def test_a_stop_whose_process_died_is_seen_by_the_run_of_the_round_that_is_not_due_any_more(
    tmp_path: Path, home: Home, instance: dg.DagsterInstance
) -> None:
    path = declare(tmp_path, {"labels": NO_OWNER})
    campaign = begin(path, home, campaign="mine", driver="sensor")
    with dying(journal, "write_action", after=True):
        people.answer(campaign, Answer("stop", "ann"))
    ((_, _, key),) = asked(path, home, instance)
    instance.add_dynamic_partitions("small_rounds", [str(key)])
    ran = (
        wired(path, home)
        .resolve_job_def("small_round")
        .execute_in_process(partition_key=key, instance=instance, raise_on_error=False)
    )
    assert not ran.success, "round 1 is not due"
    state = read_state(campaign.state_path)
    assert state is not None
    assert (state.outcome, state.rounds, state.next) == ("stopped", 0, None)
    assert [job for job, *_ in asked(path, home, instance)] == ["small_report"]


def test_an_answer_at_the_terminal_leaves_a_campaign_of_the_sensor_to_the_sensor_and_says_so(
    tmp_path: Path, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    path = declare(tmp_path, {"labels": NO_OWNER}, turns="manual")
    run_to_its_end(begin(path, home, campaign="mine", driver="sensor"))
    assert main(["go", "mine", "--by", "ann", "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["rounds"] == 1, "it was not driven here"
    assert "the daemon goes on with round 2 where one runs; `drysweep resume small/mine" in printed.err
    state = read_state(home.sweep("small").state("mine"))
    assert state is not None
    assert (state.driver, state.next, state.lease) == ("sensor", 2, None)


def test_whether_a_daemon_runs_is_told_from_its_heartbeats(
    tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from dagster._daemon.types import DaemonHeartbeat

    path = declare(tmp_path, {"labels": NO_OWNER})
    begin(path, home, campaign="mine", driver="sensor")
    assert looks_at_sensors(home) is None
    home.dagster.mkdir(parents=True)
    (home.dagster / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    assert looks_at_sensors(home) is False
    assert main(["status", "mine"]) == 0
    assert "no daemon runs: start `dagster-daemon run`, or `drysweep resume small/mine" in capsys.readouterr().out
    with dg.DagsterInstance.from_config(str(home.dagster)) as instance:
        instance.add_daemon_heartbeat(DaemonHeartbeat(time.time(), "SENSOR", "one", []))
    assert looks_at_sensors(home) is True
    assert main(["status", "mine"]) == 0
    assert "the daemon goes on with round 1" in capsys.readouterr().out


def test_a_round_of_which_three_runs_were_canceled_is_given_up_by_the_sensor_and_status_says_so(
    tmp_path: Path, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    path = declare(tmp_path, {"labels": NO_OWNER})
    begin(path, home, campaign="mine", driver="sensor")
    home.dagster.mkdir(parents=True)
    (home.dagster / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    job, tags = wired(path, home).resolve_job_def("small_round"), round_tags("small", "mine-r001")
    with dg.DagsterInstance.from_config(str(home.dagster)) as instance:
        for _ in range(2):
            instance.report_run_canceled(instance.create_run_for_job(job, tags=tags))
        assert asked(path, home, instance) == [("small_round", "small/mine-r001#3", "mine-r001")]
        third = instance.create_run_for_job(job, tags=tags)
        assert main(["status", "mine"]) == 0
        assert "launches round 1 no more" not in capsys.readouterr().out
        instance.report_run_canceled(third)
        assert asked(path, home, instance) == []
        sensor = wired(path, home).resolve_sensor_def("small_next_round")
        skipped = sensor(dg.build_sensor_context(instance, resources={"home": home}))
    assert isinstance(skipped, dg.SkipReason)
    assert skipped.skip_message == "3 runs of round mine-r001 failed or were canceled; see why, then `drysweep resume`"
    assert main(["status", "mine"]) == 0
    said = (
        "the sensor launches round 1 no more, since runs of it failed or were canceled, as Dagster's pages show; `dry"
    )
    assert said in capsys.readouterr().out


def tick(path: Path, home: Home, instance: dg.DagsterInstance, hour: int) -> str:
    """Have the start job record the campaign of a tick, and return its id."""
    as_of = f"2026-01-01T{hour:02d}:00:00+00:00"
    config = {"ops": {"small_start_campaign": {"config": {"as_of": as_of}}}}
    assert wired(path, home).resolve_job_def("small_start").execute_in_process(config, instance=instance).success
    return campaigns(home, "small")[-1]


def sentences(home: Home, names: tuple[str, ...]) -> list[str]:
    """Return what campaigns wait for."""
    return [summary(home, "small", name)["waits_for"]["sentence"] for name in names]


def test_queued_campaigns_start_one_after_the_other_in_the_order_of_their_ticks(
    tmp_path: Path, home: Home, instance: dg.DagsterInstance, capsys: pytest.CaptureFixture[str]
) -> None:
    path = declare(tmp_path, {"labels": NO_OWNER}, schedule=QUEUE, turns="manual")
    first, second, third = (tick(path, home, instance, hour) for hour in (6, 7, 8))
    assert [request[2] for request in asked(path, home, instance)] == [f"{first}-r001"]
    steps(load(home, "small", first), 1)
    assert [request[0] for request in asked(path, home, instance)] == ["small_report"]
    assert summary(home, "small", third)["waits_for"]["sentence"] == (
        f"{third} is queued: its first round waits for campaign {first} to end, and then for {second}"
    )
    assert main(["status", second]) == 0
    assert f"waits for campaign {first} to end" in capsys.readouterr().out
    assert main(["campaigns"]) == 0
    lines = capsys.readouterr().out.splitlines()
    head = ["campaign", "age", "outcome", "reason", "rounds", "seen", "confirmed", "rejected", "unjudged"]
    assert lines[0].split() == head
    assert lines[4:] == [f"small/{waits}" for waits in sentences(home, (first, second, third))]
    assert main(["campaigns", "--json"]) == 0
    listed = {row["campaign"]: row["waits_for"] for row in json.loads(capsys.readouterr().out)["campaigns"]}
    assert listed == {
        first: f"{first} waits for a go-ahead for round 2",
        second: f"{second} is queued: its first round waits for campaign {first} to end",
        third: f"{third} is queued: its first round waits for campaign {first} to end, and then for {second}",
    }
    people.answer(load(home, "small", second), Answer("stop", "ann"))
    people.answer(load(home, "small", first), Answer("go", "ann"))
    assert [request[2] for request in asked(path, home, instance) if request[0] == "small_round"] == [f"{first}-r002"]
    people.answer(load(home, "small", first), Answer("stop", "ann"))
    assert [request[2] for request in asked(path, home, instance) if request[0] == "small_round"] == [f"{third}-r001"]


def test_what_a_queue_waits_for_is_why_the_sensor_asks_for_nothing(
    tmp_path: Path, home: Home, instance: dg.DagsterInstance
) -> None:
    path = declare(tmp_path, {"labels": NO_OWNER}, schedule=QUEUE, turns="manual")
    first, second = (tick(path, home, instance, hour) for hour in (6, 7))
    steps(load(home, "small", first), 1)
    change_state(home.sweep("small").state(first), reported=True)
    sensor = wired(path, home).resolve_sensor_def("small_next_round")
    skipped = sensor(dg.build_sensor_context(instance=instance, resources={"home": home}))
    assert isinstance(skipped, dg.SkipReason)
    assert f"{first} waits for a go-ahead for round 2; {second} is queued" in str(skipped.skip_message)


def test_a_queued_campaign_freezes_its_material_and_takes_its_angles_when_it_starts(
    tmp_path: Path, home: Home, instance: dg.DagsterInstance
) -> None:
    angles = [{"n": 1}, {"n": 2}, {"n": 3}, {"n": 4}]
    query = NO_OWNER + " and $n > 0"
    path = declare(tmp_path, {"labels": query}, schedule=QUEUE, labels={"angles": angles})
    first, second = (tick(path, home, instance, hour) for hour in (6, 7))
    run_to_its_end(load(home, "small", first))
    registry(tmp_path / "registry", {"late": None})
    InProcess(read_declaration(path), home, instance).round(load(home, "small", second), 1)
    before, after = (read_plan(load(home, "small", name), 1) for name in (first, second))
    assert before is not None
    assert after is not None
    assert after.snapshot != before.snapshot
    assert summary(home, "small", second)["new"] == [1]
    assert after.looks[0].angle == {"n": 4}, "the three rounds of the first one took the angles before"
    again = load(home, "small", second)
    assert released(again) == again, "a campaign that has begun keeps its angles"


def test_a_person_may_start_a_queued_campaign_and_is_told_what_it_overtakes(
    tmp_path: Path, home: Home, instance: dg.DagsterInstance, capsys: pytest.CaptureFixture[str]
) -> None:
    path = declare(tmp_path, {"labels": NO_OWNER}, schedule=QUEUE, turns="manual")
    first, second = (tick(path, home, instance, hour) for hour in (6, 7))
    assert main(["resume", second, "--json"]) == 4
    assert f"small/{second} was queued; it starts now and overtakes {first}" in capsys.readouterr().err
    assert [request[2] for request in asked(path, home, instance)] == [f"{first}-r001"]


def test_a_tick_that_supersedes_stops_what_waits_and_starts(
    tmp_path: Path, home: Home, instance: dg.DagsterInstance
) -> None:
    path = declare(tmp_path, {"labels": NO_OWNER}, schedule=SUPERSEDE, turns="manual")
    first = tick(path, home, instance, 6)
    steps(load(home, "small", first), 1)
    second = tick(path, home, instance, 7)
    told = summary(home, "small", first)
    assert (told["outcome"], "; the schedule stopped it, a lower bound." in told["verdict"]) == ("stopped", True)
    assert f"{second}-r001" in [request[2] for request in asked(path, home, instance)]


def test_a_tick_that_cannot_stop_a_campaign_in_the_middle_of_a_round_is_not_lost(
    tmp_path: Path, home: Home, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    from drysweep_pipeline.engine import rounds
    from drysweep_pipeline.engine.planning import plan
    from drysweep_pipeline.engine.wave import wave

    monkeypatch.setattr(job_module, "SUPERSEDE_SECONDS", 0.6)
    path = declare(tmp_path, {"labels": NO_OWNER}, schedule=SUPERSEDE)
    busy = load(home, "small", tick(path, home, instance, 6))
    plan(busy, 1)
    list(wave(busy, 1))
    rounds.take_in(busy, 1)
    with living_process() as lease:
        change_state(busy.state_path, lease=lease)
        second = tick(path, home, instance, 7)
        state = read_state(busy.state_path)
        assert state is not None
        assert state.outcome == "running"
        assert summary(home, "small", second)["waits_for"]["what"] == "campaign"
    run_to_its_end(busy)
    assert f"{second}-r001" in [request[2] for request in asked(path, home, instance)]


def test_a_tick_that_skips_says_which_campaign_has_not_ended(
    tmp_path: Path, home: Home, instance: dg.DagsterInstance
) -> None:
    path = declare(tmp_path, {"labels": NO_OWNER}, schedule={"cron": "0 6 * * *"}, turns="manual")
    definitions = wired(path, home)
    [schedule] = build_schedules(read_declaration(path), definitions.resolve_job_def("small_start"))
    campaign = begin(path, home, campaign="mine", driver="sensor")
    steps(campaign, 1)
    context = dg.build_schedule_context(instance=instance, resources={"home": home})
    skipped = schedule(context)
    assert isinstance(skipped, dg.SkipReason)
    assert skipped.skip_message == "campaign mine has not ended and waits for a person; if_waiting is skip"


def test_a_tick_that_skips_for_a_campaign_that_nobody_goes_on_with_says_what_to_do(tmp_path: Path, home: Home) -> None:
    path = declare(tmp_path, {"labels": NO_OWNER}, schedule={"cron": "0 6 * * *"})
    begin(path, home, campaign="refused", driver="cli")
    assert why_to_skip(home, "small") == (
        "campaign refused has not ended and no process works on it: "
        "`drysweep resume` goes on with it, `drysweep stop` ends it; if_waiting is skip"
    )


def test_a_tick_whose_start_waited_in_a_queue_skips_where_the_one_before_it_was_recorded_meanwhile(
    tmp_path: Path, home: Home, instance: dg.DagsterInstance
) -> None:
    path = declare(tmp_path, {"labels": NO_OWNER}, schedule={"cron": "* * * * *"})
    start = wired(path, home).resolve_job_def("small_start")
    of_a_tick = {"dagster/schedule_name": "small_campaigns"}
    for _ in range(2):
        assert start.execute_in_process(tags=of_a_tick, instance=instance).success
    assert len(campaigns(home, "small")) == 1
    assert start.execute_in_process(instance=instance).success, "a person who starts one is not skipped"
    assert len(campaigns(home, "small")) == 2


def test_a_campaign_stopped_from_elsewhere_ends_the_run_that_drives_it(
    tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = declare(tmp_path, {"labels": NO_OWNER})
    drives = InProcess.round

    def stopped_meanwhile(self: InProcess, campaign: Campaign, round: int) -> None:
        people.answer(campaign, Answer("stop", "ann"))
        drives(self, campaign, round)

    monkeypatch.setattr(InProcess, "round", stopped_meanwhile)
    assert main(["run", str(path), "--campaign", "mine", "--json"]) == 3
    assert json.loads(capsys.readouterr().out)["outcome"] == "stopped"
    assert standing(load(home, "small", "mine")).due is None
    assert os.environ["DAGSTER_HOME"] == str(home.dagster)

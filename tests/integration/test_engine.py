"""A campaign by the engine: what counts as silence, what is done once, what is refused."""

import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import psutil
import pytest

from drysweep_pipeline import landing, sandbox
from drysweep_pipeline.convergence import Answer
from drysweep_pipeline.engine import journal, people, rounds
from drysweep_pipeline.engine.campaign import Overrides, campaigns, load
from drysweep_pipeline.engine.journal import standing
from drysweep_pipeline.engine.planning import plan
from drysweep_pipeline.engine.quality import merged_by
from drysweep_pipeline.engine.state import read_state, take_lease
from drysweep_pipeline.engine.wave import wave
from drysweep_pipeline.errors import Busy, DeclarationError, MaterialError, Refused, RoundGap
from drysweep_pipeline.home import Home
from drysweep_pipeline.ledger import intake, open_ledger
from drysweep_pipeline.reports.summary import summary
from drysweep_pipeline.values import Outcome
from tests.sweeps import AS_OF, NO_OWNER, begin, declare, ledger_rows, registry, run_to_its_end, steps

HANGS = "select 'a' as service, 'k' as failure_mode where (select count(*) from range(9999999) a, range(9999999) b) < 0"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    registry(tmp_path / "registry", {"api": None, "web": "team", "db": None})
    return Home(tmp_path / "home")


def facts(home: Home, campaign: str) -> dict:
    return summary(home, "small", campaign)


def test_a_small_registry_is_swept_until_two_rounds_bring_nothing_new(tmp_path: Path, home: Home) -> None:
    campaign = run_to_its_end(begin(declare(tmp_path, {"labels": NO_OWNER}), home))
    told = facts(home, campaign.id)
    assert (told["outcome"], told["new"], told["quiet"]) == ("converged", [2, 0, 0], 2)
    assert told["states"] == {"api/no_owner": "open", "db/no_owner": "open"}
    assert told["unjudged"] == 2
    assert told["calls"] == 3


# What a strategy may be that does not run to its end, and what is said of it.
BROKEN = {
    "raises": ("select service, failure_mode from nowhere", "nowhere"),
    "converts": ("select cast('x' as integer) as service, 'k' as failure_mode", "Could not convert"),
    "lacks_a_field": ("select service from services", "missing_field: failure_mode"),
    "has_an_empty_field": ("select '  ' as service, 'k' as failure_mode", "missing_field: service"),
    "has_a_null_field": ("select null as service, 'k' as failure_mode", "missing_field: service"),
    "claims_a_verdict": ("select 'a' as service, 'k' as failure_mode, 'confirmed' as verdict", "verdict"),
    "is_no_severity": ("select 'a' as service, 'k' as failure_mode, 'huge' as severity", "bad_severity"),
    "reads_files": ("select content as service, 'k' as failure_mode from read_text('/etc/hostname')", "read_text"),
    "reads_by_name": ("select column0 as service, 'k' as failure_mode from '/etc/passwd'", ""),
    "attaches": ("attach 'x.db'", "ATTACH"),
    "copies": ("copy services to 'x.csv'", "COPY"),
    "installs": ("install httpfs", "only a SELECT"),
    "sets": ("set threads = 1", "SET"),
    "asks_pragmas": ("pragma database_list", "SELECT"),
    "asks_settings": ("select name as service, 'k' as failure_mode from duckdb_settings()", "duckdb_settings"),
    "runs_text": ("select service, 'k' as failure_mode from query('select 1 as service')", "query"),
    "says_two_things": ("select 1; select 2", "2 statements"),
}


def test_a_finder_that_does_not_run_to_its_end_is_named_and_its_round_is_not_quiet(tmp_path: Path, home: Home) -> None:
    queries = {"labels": NO_OWNER, **{name: query for name, (query, _) in BROKEN.items()}}
    campaign = begin(declare(tmp_path, queries, budget={"rounds": 10, "calls": 500}), home)
    for round in (1, 2, 3):
        steps(campaign, round)
    told = facts(home, campaign.id)
    assert (told["outcome"], told["reason"], told["quiet"]) == ("failed", "not_run", 0)
    assert told["new"] == [2, 0, 0], "what the others found is kept"
    for name, (_, reason) in BROKEN.items():
        missing = [each for each in told["not_run"] if each["strategy"] == name]
        assert [each["round"] for each in missing] == [1, 2, 3], name
        assert all(reason in each["reason"] for each in missing), missing
    names = [event["name"] for event in told["events"]]
    assert names == ["finder_not_run"] * 3 * len(BROKEN) + ["campaign_failed"]


@pytest.mark.parametrize("name", ["raises", "lacks_a_field"])
def test_one_finder_that_does_not_run_to_its_end_is_enough(tmp_path: Path, home: Home, name: str) -> None:
    campaign = begin(declare(tmp_path, {"labels": NO_OWNER, name: BROKEN[name][0]}), home)
    steps(campaign, 1)
    assert (standing(campaign).quiet, standing(campaign).outcome) == (0, Outcome.RUNNING)
    assert {missing["strategy"] for missing in facts(home, campaign.id)["not_run"]} == {name}


def test_a_finder_that_hangs_is_stopped_at_its_deadline_and_tried_once_more(tmp_path: Path, home: Home) -> None:
    path = declare(tmp_path, {"labels": NO_OWNER, "hangs": HANGS}, hangs={"timeout_s": 0.3})
    campaign = begin(path, home)
    steps(campaign, 1)
    told = facts(home, campaign.id)
    assert told["not_run"] == [{"round": 1, "strategy": "hangs", "reason": "timeout: still running after 0.3 s"}]
    assert told["calls"] == 3, "every attempt is a call"


def test_a_finder_over_its_cap_on_rows_or_memory_is_not_run_and_nothing_of_it_is_cut_silently(
    tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sandbox.LOCKED, "memory_limit", "64MB")
    floods = "select 'a' || range as service, 'k' as failure_mode from range(11)"
    sorted_list = "string_agg(range, ',' order by md5(range::text))"
    hogs = f"select md5({sorted_list}) as service, 'k' as failure_mode from range(3000000)"
    path = declare(tmp_path, {"labels": NO_OWNER, "floods": floods, "hogs": hogs}, floods={"max_rows": 10})
    campaign = begin(path, home)
    runs = {run.strategy: run for run in wave(campaign, 1)}
    assert {name: run.status for name, run in runs.items()} == {"labels": "ok", "floods": "not_run", "hogs": "not_run"}
    assert [each.status for each in runs["floods"].attempts] == ["truncated"], "asking again would bring the same"
    assert runs["floods"].file is None
    assert "more than 10 rows" in str(runs["floods"].reason)
    assert "memory" in str(runs["hogs"].reason).lower()


def test_valid_rows_beside_a_refused_one_are_kept(tmp_path: Path, home: Home) -> None:
    mixed = "select * from (values ('x', 'k'), (null, 'k'), ('y', 'k')) t(service, failure_mode)"
    campaign = begin(declare(tmp_path, {"mixed": mixed}), home)
    steps(campaign, 1)
    told = facts(home, campaign.id)
    assert told["states"] == {"x/k": "open", "y/k": "open"}
    assert "1 row refused, first row 2: missing_field: service" in told["not_run"][0]["reason"]
    assert told["calls"] == 1, "asking again cannot mend refused rows"


def test_running_any_round_again_in_any_order_calls_no_finder_and_leaves_the_ledger_as_it_was(
    tmp_path: Path, home: Home
) -> None:
    campaign = run_to_its_end(begin(declare(tmp_path, {"labels": NO_OWNER}), home))
    before, state = ledger_rows(campaign), campaign.state_path.read_text()
    for file in (tmp_path / "registry" / "services").iterdir():
        file.unlink()
    for round in (2, 3, 1, 1, 3):
        steps(campaign, round)
    assert ledger_rows(campaign) == before
    assert campaign.state_path.read_text() == state


@pytest.mark.parametrize("done", ["plan", "wave", "intake", "judge"])
def test_a_round_that_was_cut_short_goes_on_where_it_stopped(tmp_path: Path, home: Home, done: str) -> None:
    campaign = begin(declare(tmp_path, {"labels": NO_OWNER}), home)
    plan(campaign, 1)
    if done != "plan":
        list(wave(campaign, 1))
    if done in ("intake", "judge"):
        rounds.take_in(campaign, 1)
    if done == "judge":
        rounds.judge(campaign, 1)
    again = load(home, "small", campaign.id)
    run_to_its_end(again)
    told = facts(home, campaign.id)
    assert (told["new"], told["calls"]) == ([2, 0, 0], 3)


def test_what_was_fresh_is_not_computed_twice_though_a_backfill_comes_between(tmp_path: Path, home: Home) -> None:
    path = declare(tmp_path, {"labels": NO_OWNER})
    later = begin(path, home, campaign="later")
    list(wave(later, 1))
    rounds.take_in(later, 1)
    earlier = begin(path, home, campaign="earlier", as_of=later.as_of.replace(year=2025))
    run_to_its_end(earlier)
    run_to_its_end(later)
    assert facts(home, "later")["new"] == [2, 0, 0]
    assert facts(home, "earlier")["new"] == [2, 0, 0]


def test_a_gap_in_the_rounds_is_refused(tmp_path: Path, home: Home) -> None:
    campaign = begin(declare(tmp_path, {"labels": NO_OWNER}), home)
    with pytest.raises(RoundGap, match="round 2 cannot run, round 1 is due"):
        plan(campaign, 2)
    run_to_its_end(campaign)
    with pytest.raises(RoundGap, match="none is due"):
        plan(campaign, 4)


def test_a_landed_file_that_changed_before_intake_makes_its_strategy_not_run(tmp_path: Path, home: Home) -> None:
    campaign = begin(declare(tmp_path, {"labels": NO_OWNER}), home)
    plan(campaign, 1)
    list(wave(campaign, 1))
    file = campaign.folder(1) / "labels.a1.parquet"
    spoilt = bytearray(file.read_bytes())
    spoilt[len(spoilt) // 2] ^= 1
    file.write_bytes(spoilt)
    steps(campaign, 1)
    told = facts(home, campaign.id)
    assert (told["new"], told["quiet"], told["outcome"]) == ([0], 0, "running")
    assert [event["name"] for event in told["events"]] == ["finder_not_run"]


def test_a_file_that_no_manifest_lists_did_not_land(tmp_path: Path, home: Home) -> None:
    campaign = begin(declare(tmp_path, {"labels": NO_OWNER}), home)
    plan(campaign, 1)
    stray = campaign.folder(1) / "labels.a7.parquet"
    stray.write_bytes(b"PAR1")
    steps(campaign, 1)
    assert facts(home, campaign.id)["seen"] == 2
    assert not stray.exists()
    assert (campaign.folder(1) / landing.ORPHANS / stray.name).exists()


def test_a_ceiling_on_rounds_is_a_lower_bound_and_resuming_keeps_the_count(tmp_path: Path, home: Home) -> None:
    campaign = run_to_its_end(begin(declare(tmp_path, {"labels": NO_OWNER}), home, overrides=Overrides(rounds=2)))
    told = facts(home, campaign.id)
    assert (told["outcome"], told["reason"], told["quiet"]) == ("budget_exceeded", "rounds", 1)
    assert told["verdict"].startswith("NOT CONVERGED, budget_exceeded (rounds) at round 2")
    with pytest.raises(Refused, match="raise it to 3 or more"):
        people.answer(campaign, Answer("resume", "operator", rounds=2))
    people.answer(campaign, Answer("resume", "operator", rounds=5))
    run_to_its_end(campaign)
    told = facts(home, campaign.id)
    assert (told["outcome"], told["rounds"], told["quiet"], told["new"]) == ("converged", 3, 2, [2, 0, 0])


def test_a_ceiling_on_calls_leaves_findings_undecided_never_confirmed(tmp_path: Path, home: Home) -> None:
    (tmp_path / "judge.sql").write_text("select fp, 'confirmed' as verdict, 'seen' as reason from findings")
    judged = {"judge": {"kind": "sql", "query": {"file": "judge.sql"}}}
    path = declare(tmp_path, {"labels": NO_OWNER}, **judged)
    campaign = run_to_its_end(begin(path, home, overrides=Overrides(calls=2)))
    told = facts(home, campaign.id)
    assert (told["outcome"], told["reason"], told["calls"]) == ("budget_exceeded", "calls", 2)
    assert (told["confirmed"], told["undecided"]) == (1, 1)


@pytest.mark.parametrize("judge", ["select nonsense", "select fp from findings", "select 1 as fp"])
def test_a_judge_that_fails_leaves_everything_undecided(tmp_path: Path, home: Home, judge: str) -> None:
    (tmp_path / "judge.sql").write_text(judge)
    path = declare(tmp_path, {"labels": NO_OWNER}, judge={"kind": "sql", "query": {"file": "judge.sql"}})
    campaign = run_to_its_end(begin(path, home))
    told = facts(home, campaign.id)
    assert (told["outcome"], told["undecided"], told["confirmed"], told["rejected"]) == ("converged", 2, 0, 0)
    failed = [event for event in told["events"] if event["name"] == "judge_failed"]
    assert [event["round"] for event in failed] == [1, 2, 3], "a judge that fails is named, round by round"


def test_a_process_that_works_on_a_campaign_keeps_others_out(tmp_path: Path, home: Home) -> None:
    campaign = begin(declare(tmp_path, {"labels": NO_OWNER}), home)
    state = json.loads(campaign.state_path.read_text())
    other = {"host": socket.gethostname(), "pid": 1, "holder": None}
    started = psutil.Process(1).create_time()
    campaign.state_path.write_text(json.dumps({**state, "lease": {**other, "started": started}}))
    with pytest.raises(Busy, match="is being run by process 1"):
        take_lease(campaign.state_path)
    campaign.state_path.write_text(json.dumps({**state, "lease": {**other, "started": started - 500}}))
    take_lease(campaign.state_path)
    taken = read_state(campaign.state_path)
    assert taken is not None
    assert taken.lease is not None
    assert taken.lease.pid == os.getpid()


def test_the_ledger_has_one_writer_at_a_time(tmp_path: Path, home: Home) -> None:
    campaign = begin(declare(tmp_path, {"labels": NO_OWNER}), home)
    refused = []

    def second() -> None:
        try:
            with open_ledger(campaign.home.ledger, wait_seconds=0.2):
                pass
        except Busy as error:
            refused.append(str(error))

    with open_ledger(campaign.home.ledger):
        thread = threading.Thread(target=second)
        thread.start()
        thread.join()
    assert len(refused) == 1


def test_a_foreign_reader_of_the_ledger_is_waited_for_and_then_named(tmp_path: Path, home: Home) -> None:
    campaign = begin(declare(tmp_path, {"labels": NO_OWNER}), home)
    code = (
        "import duckdb, sys, time; c = duckdb.connect(sys.argv[1], read_only=True);"
        "print('open', flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(campaign.home.ledger)], stdout=subprocess.PIPE) as reader:
        assert reader.stdout is not None
        reader.stdout.readline()
        with pytest.raises(Busy, match=f"PID {reader.pid}"), open_ledger(campaign.home.ledger, wait_seconds=0.3):
            pass
        reader.kill()


def test_the_same_id_goes_on_under_the_same_declaration_and_is_refused_under_another(
    tmp_path: Path, home: Home
) -> None:
    path = declare(tmp_path, {"labels": NO_OWNER})
    first = begin(path, home, campaign="mine")
    steps(first, 1)
    assert standing(begin(path, home, campaign="mine")).rounds == 1
    (tmp_path / "labels.sql").write_text(NO_OWNER + " and true")
    with pytest.raises(Refused, match="under another declaration"):
        begin(path, home, campaign="mine")


def test_a_second_campaign_brings_nothing_new_and_takes_the_next_angles(tmp_path: Path, home: Home) -> None:
    query = "select $word as service, 'k' as failure_mode"
    angled = {"words": {"angles": [{"word": word} for word in "abcde"]}}
    path = declare(tmp_path, {"words": query}, **angled)
    first = run_to_its_end(begin(path, home, campaign="first", overrides=Overrides(rounds=2)))
    second = begin(path, home, campaign="second", as_of=first.as_of.replace(month=2))
    planned = plan(second, 1)
    assert planned.looks[0].angle == {"word": "c"}


def test_quiet_rounds_that_only_repeat_are_counted_and_said(tmp_path: Path, home: Home) -> None:
    campaign = run_to_its_end(begin(declare(tmp_path, {"labels": NO_OWNER}), home))
    told = facts(home, campaign.id)
    assert told["repeats"] == 2
    assert "repeat" in told["verdict"]


def test_material_out_of_reach_refuses_the_run_with_its_path_and_records_no_campaign(
    tmp_path: Path, home: Home
) -> None:
    path = declare(tmp_path, {"labels": NO_OWNER})
    (tmp_path / "registry").rename(tmp_path / "elsewhere")
    with pytest.raises(MaterialError, match="registry"):
        begin(path, home)
    assert campaigns(home, "small") == []


def test_material_that_went_out_of_reach_later_refuses_the_round_and_the_campaign_can_go_on(
    tmp_path: Path, home: Home
) -> None:
    campaign = begin(declare(tmp_path, {"labels": NO_OWNER}), home)
    (tmp_path / "registry").rename(tmp_path / "elsewhere")
    with pytest.raises(MaterialError, match="registry"):
        plan(campaign, 1)
    assert journal.standing(campaign).outcome is Outcome.RUNNING
    (tmp_path / "elsewhere").rename(tmp_path / "registry")
    assert journal.standing(run_to_its_end(campaign)).outcome is Outcome.CONVERGED


@pytest.mark.parametrize("overrides", [Overrides(k=1), Overrides(rounds=0), Overrides(calls=0)])
def test_overrides_keep_to_the_rules_of_a_declaration(tmp_path: Path, home: Home, overrides: Overrides) -> None:
    with pytest.raises(DeclarationError):
        begin(declare(tmp_path, {"labels": NO_OWNER}), home, overrides=overrides)


@pytest.mark.parametrize("name", ["../x", "", "a/b", ".hidden", "x" * 64, "a b"])
def test_a_campaign_id_cannot_leave_its_folder(tmp_path: Path, home: Home, name: str) -> None:
    with pytest.raises(DeclarationError):
        begin(declare(tmp_path, {"labels": NO_OWNER}), home, campaign=name or "-")


def test_strategies_of_a_wave_see_the_snapshot_and_nothing_that_leads_elsewhere(tmp_path: Path, home: Home) -> None:
    sees = "select table_name as service, table_schema as failure_mode from information_schema.tables"
    campaign = begin(declare(tmp_path, {"labels": NO_OWNER, "sees": sees}), home)
    steps(campaign, 1)
    with duckdb.connect(str(campaign.home.ledger), read_only=True) as connection:
        seen = connection.execute("select count(*) from sightings where strategy = 'sees'").fetchall()
    told = facts(home, campaign.id)
    tables = {label.split("/")[0] for label in told["states"] if label.endswith("/main")}
    assert seen[0][0] >= 7
    assert tables == {"files", "settings", "unreadable", "services", "labels", "live", "charter"}


def test_a_file_that_goes_bad_between_intake_and_decision_cannot_make_its_round_quiet(
    tmp_path: Path, home: Home
) -> None:
    path = declare(tmp_path, {"labels": NO_OWNER}, convergence={"rule": "clean", "k": 2})
    campaign = begin(path, home)
    plan(campaign, 1)
    list(wave(campaign, 1))
    rounds.take_in(campaign, 1)
    rounds.judge(campaign, 1)
    file = campaign.folder(1) / "labels.a1.parquet"
    file.write_bytes(file.read_bytes()[:-9] + b"\0" * 9)
    assert rounds.decide(campaign, 1).quiet == 0
    assert [event["name"] for event in facts(home, campaign.id)["events"]] == ["finder_not_run"]


def test_what_is_written_in_two_ways_is_one_finding_where_the_sweep_makes_it_alike(tmp_path: Path, home: Home) -> None:
    shouting = NO_OWNER.replace("select s.service", "select upper(s.service) as service")
    fields = {"fields": ["service", "failure_mode"], "normalise": {"service": ["casefold"]}}
    path = declare(tmp_path, {"labels": NO_OWNER, "shouting": shouting}, fingerprint=fields)
    campaign = run_to_its_end(begin(path, home))
    told = facts(home, campaign.id)
    assert sorted(told["states"]) == ["api/no_owner", "db/no_owner"]
    assert told["new"] == [2, 0, 0]
    assert merged_by(campaign, 3).sentence is None
    sightings = ledger_rows(campaign)["sightings"]
    assert {row[1] for row in sightings} == {"labels", "shouting"}
    path = declare(tmp_path, {"labels": NO_OWNER}, fingerprint={"fields": ["service", "failure_mode"]})
    with pytest.raises(
        Refused, match=r"by service \(casefold\), failure_mode, not by service, failure_mode"
    ) as refused:
        begin(path, home)
    assert refused.value.key == "fingerprint.normalise"


def test_a_ledger_does_not_mix_identities_by_different_fields(tmp_path: Path, home: Home) -> None:
    path = declare(tmp_path, {"labels": NO_OWNER})
    run_to_its_end(begin(path, home))
    path = declare(tmp_path, {"labels": NO_OWNER}, fingerprint={"fields": ["service", "path"]})
    with pytest.raises(Refused, match="tells findings apart by service, failure_mode"):
        begin(path, home)


@pytest.mark.parametrize(("needs", "link"), [("services/*.yaml", "services"), ("**/*.yaml", "api.yaml")])
def test_a_strategy_does_not_run_where_what_it_needs_may_lie_in_what_could_not_be_read(
    tmp_path: Path, home: Home, needs: str, link: str
) -> None:
    path = declare(
        tmp_path,
        {"labels": "select path as service, 'k' as failure_mode from files"},
        labels={"needs": [needs]},
        material={"kind": "files", "path": "linked"},
    )
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked" / "there.txt").write_text("x")
    (tmp_path / "linked" / link).symlink_to(tmp_path / "registry")
    campaign = begin(path, home)
    steps(campaign, 1)
    assert facts(home, campaign.id)["not_run"][0]["strategy"] == "labels"


def test_what_a_person_did_is_taken_in_though_the_process_died_before_the_commit(
    tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    campaign = begin(declare(tmp_path, {"labels": NO_OWNER}), home)
    steps(campaign, 1)

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    written = journal.write_action
    monkeypatch.setattr(journal, "write_action", lambda *given: (written(*given), dies()))
    with pytest.raises(KeyboardInterrupt):
        people.answer(campaign, Answer("stop", "operator"))
    monkeypatch.undo()
    with pytest.raises(Refused, match="ended already"):
        people.answer(campaign, Answer("stop", "operator"))
    told = facts(home, campaign.id)
    assert (told["outcome"], [event["name"] for event in told["events"]]) == ("stopped", ["campaign_stopped"])


def test_stopping_a_campaign_first_decides_the_round_that_was_taken_in(tmp_path: Path, home: Home) -> None:
    campaign = begin(declare(tmp_path, {"labels": NO_OWNER}), home)
    plan(campaign, 1)
    list(wave(campaign, 1))
    rounds.take_in(campaign, 1)
    people.answer(campaign, Answer("stop", "operator"))
    told = facts(home, campaign.id)
    assert (told["outcome"], told["rounds"], told["new"]) == ("stopped", 1, [2])


def test_a_wave_is_run_by_one_process_at_a_time(tmp_path: Path, home: Home) -> None:
    campaign = begin(declare(tmp_path, {"labels": NO_OWNER}), home)
    plan(campaign, 1)
    first = wave(campaign, 1)
    next(first)
    with pytest.raises(Busy, match="is being searched"):
        list(wave(campaign, 1))
    list(first)


def test_other_ceilings_for_a_recorded_campaign_are_refused_and_not_ignored(tmp_path: Path, home: Home) -> None:
    path = declare(tmp_path, {"labels": NO_OWNER})
    begin(path, home, campaign="mine", overrides=Overrides(rounds=4))
    assert begin(path, home, campaign="mine").ceilings.rounds == 4
    with pytest.raises(Refused, match="other ceilings or another K"):
        begin(path, home, campaign="mine", overrides=Overrides(rounds=5))


def test_an_intake_done_again_does_not_undo_what_a_backfill_moved(tmp_path: Path, home: Home) -> None:
    path = declare(tmp_path, {"labels": NO_OWNER})
    late, early, middle = (
        begin(path, home, campaign=name, as_of=AS_OF.replace(day=day))
        for name, day in (("late", 20), ("early", 1), ("middle", 10))
    )
    plan(late, 1)
    list(wave(late, 1))
    files = [late.folder(1) / "labels.a1.parquet"]
    with open_ledger(late.home.ledger) as ledger:
        intake.take_in(ledger, "late", late.place(1), files)
        fresh = intake.fresh_of(ledger)
        intake.take_in(ledger, "early", early.place(1), files)
        ledger.connection.execute("delete from sightings where campaign = 'late'")
        intake.take_in(ledger, "late", late.place(1), files, fresh)
        assert intake.take_in(ledger, "middle", middle.place(1), files).fresh == 0

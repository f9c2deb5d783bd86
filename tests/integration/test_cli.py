"""The command line: what it prints, and which exit code says what."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from drysweep_pipeline.cli import driving, main
from drysweep_pipeline.convergence import Answer
from drysweep_pipeline.engine import people
from drysweep_pipeline.engine.campaign import Overrides
from drysweep_pipeline.home import Home
from tests.sweeps import AS_OF, NO_OWNER, begin, declare, registry, run_to_its_end, steps

SLOW = """
    select 'x' as service, 'k' as failure_mode
    where (select count(*) from range(9999999) a, range(9999999) b) < 0
"""
OLD = ["--as-of", "2026-01-01"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a small registry; the home is beside it."""
    registry(tmp_path / "registry", {"api": None, "web": "team", "db": None})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DRYSWEEP_HOME", str(tmp_path / "home"))
    return tmp_path


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a campaign, small/mine, that converged; for tests that only read."""
    folder = tmp_path_factory.mktemp("swept")
    registry(folder / "registry", {"api": None, "web": "team", "db": None})
    run_to_its_end(begin(declare(folder, {"labels": NO_OWNER}), Home(folder / "home"), campaign="mine"))
    return folder


@pytest.fixture
def swept(shared: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(shared)
    monkeypatch.setenv("DRYSWEEP_HOME", str(shared / "home"))
    return shared


def told(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    out = capsys.readouterr().out
    assert out.count("\n") == 1, "stdout is exactly one JSON object"
    found: dict[str, Any] = json.loads(out)
    return found


def test_a_run_that_converges_returns_0_and_says_so_last(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = declare(place, {"labels": NO_OWNER})
    assert main(["run", str(path), *OLD]) == 0
    assert (
        capsys.readouterr().out.strip().splitlines()[-1].startswith("CONVERGED after 3 rounds (K=2): 2 findings seen")
    )


def test_a_run_that_was_cut_short_returns_3_and_resumes_to_0(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = declare(place, {"labels": NO_OWNER})
    assert main(["run", str(path), *OLD, "--rounds", "1", "--json"]) == 3
    first = told(capsys)
    assert (first["outcome"], first["reason"]) == ("budget_exceeded", "rounds")
    assert main(["resume", first["campaign"], "--rounds", "9", "--by", "operator", "--json"]) == 0
    assert told(capsys)["new"] == [2, 0, 0]
    assert main(["resume", first["campaign"], "--by", "operator"]) == 2


def test_a_campaign_that_waits_for_people_returns_4(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = declare(place, {"labels": NO_OWNER}, turns="manual")
    assert main(["run", str(path), *OLD, "--campaign", "mine", "--json"]) == 4
    assert told(capsys)["reason"] == "turn"
    assert main(["go", "mine", "--by", "operator", "--json"]) == 0
    assert told(capsys)["rounds"] == 2
    assert main(["stop", "mine", "--by", "operator", "--json"]) == 0
    assert told(capsys)["outcome"] == "stopped"
    assert main(["decide", "mine", "accept", "--by", "operator"]) == 2


def test_a_campaign_whose_strategy_keeps_failing_returns_5(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raises = "select cast('x' as integer) as service, 'k' as failure_mode"
    path = declare(place, {"labels": NO_OWNER, "raises": raises})
    campaign = begin(path, Home(place / "home"), campaign="mine")
    for round in (1, 2):
        steps(campaign, round)
    assert main(["run", str(path), *OLD, "--campaign", "mine", "--json"]) == 5
    assert told(capsys)["reason"] == "not_run"


def test_findings_at_a_threshold_return_6_and_known_ones_can_be_left_out(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = declare(place, {"labels": NO_OWNER})
    for month, name in enumerate(("first", "second"), start=1):
        run_to_its_end(begin(path, Home(place / "home"), campaign=name, as_of=AS_OF.replace(month=month)))
    # What a campaign comes to is held against the threshold, whoever drove its rounds.
    given = ["run", str(path), "--campaign"]
    assert main([*given, "first", "--fail-on", "major"]) == 6
    assert main([*given, "second", "--fail-on", "new:major"]) == 0
    assert main([*given, "second", "--fail-on", "blocker"]) == 0
    capsys.readouterr()
    assert main(["run", str(path), "--fail-on", "huge", "--json"]) == 2
    assert told(capsys)["key"] == "--fail-on"


def test_a_refusal_names_file_line_key_and_help(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = place / "bad.yaml"
    path.write_text("type: drysweep_pipeline.Sweep\nattributes:\n  name: bad\n  stratgies: []\n")
    assert main(["run", str(path), "--json"]) == 2
    error = told(capsys)
    assert (error["file"], error["line"], error["key"]) == (str(path), 4, "stratgies")
    assert "strategies" in error["help"]
    assert main(["validate", str(path), "--json"]) == 2
    assert told(capsys)["problems"][0]["key"] == "stratgies"


def test_a_run_whose_material_is_refused_says_that_its_campaign_is_there_and_what_helps(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = {"kind": "registry", "path": "registry", "map": {"services": "services/*.{yaml,json}"}}
    path = declare(place, {"labels": NO_OWNER}, material=named)
    assert main(["run", str(path), "--campaign", "early", "--quiet"]) == 2
    said = capsys.readouterr().err
    assert "small/early has not ended: `" in said
    assert " stop small/early" in said
    assert "help: braces stand for themselves in a pattern, services/*.* takes files of any ending" in said
    assert main(["stop", "small/early", "--by", "operator"]) == 0
    assert "fresh findings a round: no round yet\n" in capsys.readouterr().out


def test_sql_that_may_not_run_is_refused_before_anything_is_paid_for(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = declare(place, {"labels": "copy services to 'x'"})
    assert main(["run", str(path), "--json"]) == 2
    assert "COPY" in told(capsys)["error"]
    assert not (place / "home").exists()


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("select service, nonsense as failure_mode from services", "nonsense"),
        ("select service from services", "gives no column failure_mode"),
        ("select service, 'k' as failure_mode from nowhere", "nowhere"),
    ],
)
def test_sql_that_does_not_fit_the_tables_is_refused_before_anything_is_paid_for(
    place: Path, capsys: pytest.CaptureFixture[str], query: str, said: str
) -> None:
    path = declare(place, {"labels": query})
    assert main(["validate", str(path), "--json"]) == 2
    assert said in told(capsys)["problems"][0]["error"]
    assert main(["run", str(path), "--json"]) == 2
    assert not (place / "home").exists()


def test_a_judge_that_does_not_fit_the_tables_is_refused_too(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "judge.sql").write_text("select fp, 'confirmed' as verdict from nowhere")
    path = declare(place, {"labels": NO_OWNER}, judge={"kind": "sql", "query": {"file": "judge.sql"}})
    assert main(["validate", str(path), "--json"]) == 2
    problem = told(capsys)["problems"][0]
    assert (problem["key"], "nowhere" in problem["error"]) == ("judge.query.file", True)


def test_a_person_without_a_login_variable_still_has_a_name(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("USER", "LOGNAME", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    path = declare(place, {"labels": NO_OWNER})
    run_to_its_end(begin(path, Home(place / "home"), campaign="mine", overrides=Overrides(rounds=1)))
    assert main(["resume", "mine", "--rounds", "2"]) == 3


def test_a_resumed_campaign_is_replayed_to_the_end_it_had(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = declare(place, {"labels": NO_OWNER})
    campaign = run_to_its_end(begin(path, Home(place / "home"), campaign="mine", overrides=Overrides(rounds=1)))
    people.answer(campaign, Answer("resume", "operator", rounds=9))
    run_to_its_end(campaign)
    assert main(["replay", "mine", "--json"]) == 0
    assert told(capsys)["outcome"] == "converged"


def test_an_unknown_command_or_option_returns_2_as_json_where_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["campaigns", "--nonsense", "--json"]) == 2
    assert "nonsense" in told(capsys)["error"]
    assert main(["nonsense"]) == 2


def test_a_campaign_is_found_by_its_id_and_the_nearest_are_named_otherwise(
    swept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", "mine", "--json"]) == 0
    by_id = told(capsys)
    assert main(["status", "small/mine", "--json"]) == 0
    assert told(capsys) == by_id
    assert main(["status", "yours", "--json"]) == 2
    assert "small/mine" in told(capsys)["help"]


def test_who_names_a_sweep_for_a_campaign_is_told_its_campaigns_the_newest_first(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = declare(place, {"labels": NO_OWNER})
    for name in ("c1", "c2"):
        begin(path, Home(place / "home"), campaign=name)
    assert main(["status", "small", "--home", str(place / "home"), "--json"]) == 2
    assert told(capsys)["help"] == "there is small/c2, small/c1"


def test_campaigns_reports_and_sql_agree_on_the_outcome(swept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["campaigns", "--json"]) == 0
    listed = told(capsys)["campaigns"]
    assert [(row["campaign"], row["outcome"], row["rounds"]) for row in listed] == [("mine", "converged", 3)]
    assert listed[0]["unjudged"] == listed[0]["seen"] > 0
    assert main(["campaigns"]) == 0
    head, row = (line.split() for line in capsys.readouterr().out.splitlines())
    assert (head[-1], row[-1]) == ("unjudged", str(listed[0]["seen"])), "what nobody judged is not only neither"
    assert main(["sql", "select campaign, outcome, rounds from campaigns", "--json"]) == 0
    assert told(capsys)["rows"] == [["mine", "converged", 3]]
    assert main(["report", "mine", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["outcome"] == "converged"
    assert main(["report", "mine"]) == 0
    assert "CONVERGED after 3 rounds" in capsys.readouterr().out
    assert main(["report", "mine", "--format", "pdf"]) == 2


@pytest.mark.parametrize("command", ["campaigns", "verify", "prune", "rebuild"])
def test_what_was_recorded_of_a_sweep_is_asked_about_by_its_name_and_by_its_file(
    swept: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    answers = []
    for name in ("small", "sweep.yaml"):
        assert main([command, name, "--json"]) == 0
        answers.append({key: value for key, value in told(capsys).items() if key != "kept"})
    assert answers[0] == answers[1]
    assert main([command, "gone.yaml", "--json"]) == 2
    assert told(capsys)["error"] == "there is no such file"


def test_a_home_beside_the_file_of_a_sweep_is_found_by_that_file(
    shared: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(shared / "home", tmp_path / "there" / ".drysweep")
    shutil.copy(shared / "sweep.yaml", tmp_path / "there")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DRYSWEEP_HOME", raising=False)
    assert main(["campaigns", "there/sweep.yaml", "--json"]) == 0
    assert [each["campaign"] for each in told(capsys)["campaigns"]] == ["mine"]


def test_validating_where_no_sweep_is_declared_says_where_it_looked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["validate", "--json"]) == 2
    said = told(capsys)
    assert (said["error"], said["file"], said["code"]) == (
        *("no sweep is declared there", str(tmp_path / "assets" / "sweeps")),
        "not_found",
    )


@pytest.mark.parametrize(
    "text", ["delete from events", "attach 'x'", "select * from read_text('/etc/passwd')", "nonsense"]
)
def test_analysts_can_read_the_history_and_nothing_else(
    swept: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    assert main(["sql", text, "--json"]) == 2
    assert told(capsys)["error"]


def test_sql_without_a_query_says_what_there_is(swept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", "--json"]) == 0
    assert {"findings", "all_findings", "new_between"} <= {row[0] for row in told(capsys)["rows"]}


def test_doctor_says_what_is_well_here(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    assert {"python", "duckdb", "home", "disk", "isolation"} <= {check["name"] for check in told(capsys)["checks"]}


def test_doctor_says_which_isolation_there_is(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {}
    for said in ("auto", "none", "nome"):
        monkeypatch.setenv("DRYSWEEP_ISOLATION", said)
        assert main(["doctor", "--json"]) == (1 if said == "nome" else 0)
        [found[said]] = [check for check in told(capsys)["checks"] if check["name"] == "isolation"]
    assert found["auto"]["found"].startswith(("landlock ", "none"))
    assert found["none"]["found"].startswith("none, ")
    assert "can read what was found" in found["none"]["help"]
    assert (found["nome"]["ok"], found["nome"]["found"]) == (False, "DRYSWEEP_ISOLATION is 'nome'")


def test_a_recorded_campaign_is_replayed_under_another_k(swept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", "mine", "--k", "3", "--json"]) == 0
    again = told(capsys)
    assert (again["outcome"], again["k"], again["new"]) == ("running", 3, [2, 0, 0])


def test_a_campaign_interrupted_at_the_terminal_returns_130_and_goes_on(place: Path) -> None:
    path = declare(place, {"labels": NO_OWNER, "slow": SLOW}, slow={"timeout_s": 250})
    command = [sys.executable, "-m", "drysweep_pipeline.cli", "run", str(path), *OLD, "--campaign", "mine"]
    environment = {**os.environ, "DRYSWEEP_HOME": str(place / "home")}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        plan = place / "home" / "sweeps" / "small" / "landing" / "mine" / "r001" / "plan.json"
        deadline = time.monotonic() + 200
        while not plan.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, complained = process.communicate(timeout=200)
    assert process.returncode == 130, complained.decode()[-2000:]
    assert b"Traceback" not in complained
    assert b"interrupted" in complained
    assert main(["status", "mine", "--json"]) == 0


def test_who_interrupts_again_while_the_first_is_dealt_with_is_told_how_it_goes_on_all_the_same(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def again(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)

    path = declare(place, {"labels": NO_OWNER})
    monkeypatch.setattr(driving, "_to_where_it_stops", again)
    monkeypatch.setattr(driving, "drop_lease", again)
    assert main(["run", str(path), *OLD, "--campaign", "mine"]) == 130
    assert capsys.readouterr().err.splitlines()[-1].startswith("interrupted; `drysweep resume small/mine --home ")
    # What is interrupted next is another matter.
    monkeypatch.setattr("drysweep_pipeline.cli.doctor.home_of", again)
    assert main(["doctor"]) == 130
    assert "small/mine" not in capsys.readouterr().err


# Swallows a signal before a campaign's first round, as a library may that is imported then.
SWALLOWED = """
import os, signal, sys
from drysweep_pipeline.cli import driving, main

def swallows(*_):
    try:
        os.kill(os.getpid(), signal.SIGTERM)
    except KeyboardInterrupt:
        pass

driving._say_what_it_overtakes = swallows
sys.exit(main())
"""


def test_an_interruption_that_was_swallowed_before_the_first_round_holds_before_anything_is_asked(place: Path) -> None:
    command = [sys.executable, "-c", SWALLOWED, "run", str(declare(place, {"labels": NO_OWNER})), *OLD]
    done = subprocess.run([*command, "--campaign", "mine", "--home", str(place / "home")], capture_output=True)
    assert done.returncode == 130, done.stderr.decode()
    assert done.stderr.startswith(b"interrupted; `drysweep resume small/mine --home ")
    assert list(Home(place / "home").sweep("small").landing("mine").glob("r*/calls.jsonl")) == []


def test_a_query_whose_values_json_or_python_lacks_is_answered_or_refused(
    swept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sql", "select cast('nan' as double) as a, [cast('inf' as double), 1] as b", "--json"]) == 0
    assert told(capsys)["rows"] == [[None, [None, 1.0]]]
    assert main(["sql", "select timestamp 'infinity' as a", "--json"]) == 2
    assert "cast it to varchar" in told(capsys)["help"]

"""The Dagster layer: it loads, shows what the engine did, and is never an input of a decision."""

import base64
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree

import dagster as dg
import psutil
import pytest
from dagster.components.scaffold.scaffold import NoParams
from dagster.components.testing import create_defs_folder_sandbox

from drysweep_pipeline import Sweep
from drysweep_pipeline.declaration import errors, read_declaration
from drysweep_pipeline.engine.campaign import load
from drysweep_pipeline.engine.journal import standing
from drysweep_pipeline.engine.state import Lease, change_state, read_state
from drysweep_pipeline.errors import Refused
from drysweep_pipeline.home import Home
from drysweep_pipeline.orchestration import assets as orchestrated
from drysweep_pipeline.orchestration.definitions import build_definitions
from drysweep_pipeline.orchestration.inprocess import InProcess
from drysweep_pipeline.orchestration.resources import HomeResource
from drysweep_pipeline.orchestration.scaffolding import SweepScaffolder
from drysweep_pipeline.testing import look
from tests.sweeps import NO_OWNER, begin, declare, ledger_rows, registry

ROOT = Path(__file__).parents[2]
WIRING = """
import dagster as dg
from drysweep_pipeline.orchestration.resources import HomeResource

defs = dg.Definitions(resources={"home": HomeResource(root=".drysweep")})
"""
FAILS = "select cast('x' as integer) as service, 'k' as failure_mode"


_SVG = "{http://www.w3.org/2000/svg}"
_CHECK = dg.AssetCheckKey(dg.AssetKey(["small", "report"]), "search_went_quiet")


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as made:
        yield made


@pytest.fixture
def home(tmp_path: Path) -> Home:
    registry(tmp_path / "registry", {"api": None, "web": "team"})
    return Home(tmp_path / "home")


def test_the_code_location_of_this_repository_loads_with_every_declared_sweep() -> None:
    from assets.definitions import defs

    loaded = defs()
    dg.Definitions.validate_loadable(loaded)
    keys = {key.to_user_string() for key in loaded.resolve_asset_graph().get_all_asset_keys()}
    for sweep in ("config_registry", "compose_catalogue", "document_review", "code_audit", "deprecated_api"):
        assert {
            f"{sweep}/{name}" for name in ("snapshot", "wave", "intake", "verdicts", "budget", "decision", "report")
        } <= keys
    assert {job.name for job in loaded.resolve_all_job_defs()} >= {
        f"config_registry_{name}" for name in ("round", "report", "start", "decide")
    }


def test_the_declared_sweep_is_what_the_template_writes() -> None:
    template = ROOT / "drysweep_pipeline" / "templates" / "config_registry"
    declared = ROOT / "assets" / "sweeps" / "config_registry"
    files = {path.relative_to(template): path.read_bytes() for path in template.rglob("*") if path.is_file()}
    assert files == {path.relative_to(declared): path.read_bytes() for path in declared.rglob("*") if path.is_file()}


def test_the_component_builds_from_a_defs_folder() -> None:
    with create_defs_folder_sandbox() as sandbox:
        folder = sandbox.scaffold_component(component_cls=Sweep)
        shutil.copytree(ROOT / "assets" / "sweeps" / "config_registry", folder, dirs_exist_ok=True)
        (folder.parent / "wiring.py").write_text(WIRING)
        with sandbox.build_all_defs() as definitions:
            keys = definitions.resolve_asset_graph().get_all_asset_keys()
            assert {key.path[0] for key in keys} == {"config_registry"}
            assert len(keys) == 12


def test_a_sweep_that_dagster_scaffolds_loads_as_it_is_under_a_name_like_that_of_its_folder() -> None:
    with create_defs_folder_sandbox() as sandbox:
        folder = sandbox.scaffold_component(component_cls=Sweep, defs_path="More-of-it")
        (folder.parent / "wiring.py").write_text(WIRING)
        assert errors(folder / "defs.yaml") == []
        assert look(folder / "defs.yaml", "left_out") != []
        with sandbox.build_all_defs() as definitions:
            keys = definitions.resolve_asset_graph().get_all_asset_keys()
            assert {key.path[0] for key in keys} == {"more_of_it"}


@pytest.mark.parametrize(("name", "format"), [("7 days", "yaml"), ("fine", "python")])
def test_a_sweep_that_cannot_be_scaffolded_is_refused_and_leaves_nothing(
    tmp_path: Path, name: str, format: Literal["yaml", "python"]
) -> None:
    (tmp_path / name).mkdir()
    request = dg.ScaffoldRequest("drysweep_pipeline.Sweep", tmp_path / name, format, tmp_path, NoParams())
    with pytest.raises(Refused):
        SweepScaffolder().scaffold(request)
    assert not list(tmp_path.rglob("*.yaml"))


def test_a_round_shows_a_strategy_that_was_not_run_as_missing_with_a_failed_check_and_stays_green(
    tmp_path: Path, home: Home, instance: dg.DagsterInstance
) -> None:
    path = declare(tmp_path, {"labels": NO_OWNER, "fails": FAILS})
    campaign = begin(path, home)
    jobs = InProcess(read_declaration(path), home, instance)
    jobs.round(campaign, 1)
    labels = instance.get_latest_materialization_event(dg.AssetKey(["small", "candidates", "labels"]))
    assert labels is not None
    assert labels.asset_materialization is not None
    assert labels.asset_materialization.metadata["isolation"].value == "locked SQL"
    assert instance.get_latest_materialization_event(dg.AssetKey(["small", "candidates", "fails"])) is None
    assert checks(instance) == {
        "candidates/labels ran_to_its_end": True,
        "candidates/fails ran_to_its_end": False,
        "intake round_complete": False,
        "intake seen_once": True,
        "intake fingerprint_quality": True,
        "verdicts judge_ran": True,
        "budget within_ceilings": True,
        "decision nobody_is_asked": True,
    }
    decision = instance.get_latest_materialization_event(dg.AssetKey(["small", "decision"]))
    assert decision is not None
    assert decision.asset_materialization is not None
    assert decision.asset_materialization.metadata["outcome"].value == "running"


def test_a_campaign_that_did_not_converge_is_no_green_report(
    tmp_path: Path, home: Home, instance: dg.DagsterInstance
) -> None:
    path = declare(tmp_path, {"labels": NO_OWNER, "fails": FAILS})
    campaign = begin(path, home)
    jobs = InProcess(read_declaration(path), home, instance)
    for number in (1, 2, 3):
        jobs.round(campaign, number)
    jobs.report(campaign)
    shown = instance.get_latest_asset_check_evaluation_record(_CHECK)
    assert shown is not None
    evaluation = shown.event.dagster_event.asset_check_evaluation_data
    assert (evaluation.passed, evaluation.severity) == (False, dg.AssetCheckSeverity.ERROR)
    assert evaluation.description.startswith("NOT CONVERGED, failed (not_run) at round 3")


def test_pages_show_rows_a_partition_how_the_search_went_and_where_to_read_on(
    tmp_path: Path, home: Home, instance: dg.DagsterInstance
) -> None:
    path = declare(tmp_path, {"labels": NO_OWNER})
    campaign = begin(path, home)
    jobs = InProcess(read_declaration(path), home, instance)
    for number in (1, 2, 3):
        jobs.round(campaign, number)
    jobs.report(campaign)
    assert metadata(instance, "intake")["dagster/partition_row_count"] == 1
    assert metadata(instance, "decision")["fresh"].splitlines()[2:] == [
        f"| 1 | 1 | {'█' * 32} |",
        "| 2 | 0 |  |",
        "| 3 | 0 |  |",
    ]
    told = metadata(instance, "report")
    assert told["verdict"].startswith("CONVERGED after 3 rounds (K=2)")
    assert told["history"] == str(home.history)
    says, data = re.fullmatch(r"!\[(.*)\]\(data:image/svg\+xml;base64,(.*)\)", told["discovery_curve"]).groups()
    assert says == "Fresh findings a round: 1, 0, 0; 1 met in all. 2 quiet at the end, of K = 2."
    drawn = ElementTree.fromstring(base64.b64decode(data))
    assert {"round", "quiet", "2 quiet of K = 2"} <= {each.text for each in drawn.iter(f"{_SVG}text")}
    assert b"var(" not in base64.b64decode(data)
    assert all(Path(told[f"file_{name}"]).is_file() for name in ("md", "json"))


def test_whatever_a_person_meets_on_the_pages_says_what_it_is_and_whose(tmp_path: Path, home: Home) -> None:
    path = declare(tmp_path, {"labels": NO_OWNER}, owners=["team:edge"], schedule={"cron": "0 6 * * 1"})
    wiring = dg.Definitions(resources={"home": HomeResource(root=str(home.root))})
    made = dg.Definitions.merge(build_definitions(read_declaration(path)), wiring)
    assets = made.resolve_asset_graph()
    for key in assets.get_all_asset_keys():
        node = assets.get(key)
        assert (node.owners, bool(node.description), bool(node.kinds)) == (["team:edge"], True, True), key
    rounds = [job for job in made.resolve_all_job_defs() if job.name != "__ASSET_JOB"]
    assert {job.name for job in rounds} == {f"small_{n}" for n in ("round", "report", "start", "decide", "findings")}
    for each in [*rounds, *made.sensors, *made.schedules]:
        assert "small" in (each.description or ""), each.name
        assert list(each.owners or ()) == ["team:edge"], each.name


def test_a_fingerprint_that_merges_distinct_findings_is_warned_of(
    tmp_path: Path, home: Home, instance: dg.DagsterInstance
) -> None:
    query = "select * from (values ('n1', 'oom'), ('n1', 'cert'), ('n2', 'oom')) t(node, kind)"
    path = declare(tmp_path, {"nodes": query}, fingerprint={"fields": ["node"]})
    campaign = begin(path, home)
    InProcess(read_declaration(path), home, instance).round(campaign, 1)
    assert checks(instance)["intake fingerprint_quality"] is False


def test_the_sensor_asks_for_the_due_round_once_and_for_the_report_in_the_end(
    tmp_path: Path, home: Home, instance: dg.DagsterInstance
) -> None:
    path = declare(tmp_path, {"labels": NO_OWNER})
    campaign = begin(path, home, campaign="mine", driver="sensor")
    assert asked(path, home, instance) == [("small_round", "small/mine-r001#1", "mine-r001")]
    jobs = InProcess(read_declaration(path), home, instance)
    jobs.round(campaign, 1)
    assert asked(path, home, instance) == [("small_round", "small/mine-r002#1", "mine-r002")]
    jobs.round(campaign, 2)
    jobs.round(campaign, 3)
    assert asked(path, home, instance) == [("small_report", "small/mine/report/3/converged#1", "mine")]
    jobs.report(campaign)
    assert asked(path, home, instance) == []


def test_the_sensor_leaves_a_campaign_that_the_command_line_drives_alone(
    tmp_path: Path, home: Home, instance: dg.DagsterInstance
) -> None:
    path = declare(tmp_path, {"labels": NO_OWNER})
    campaign = begin(path, home, driver="cli")
    assert asked(path, home, instance) == []
    change_state(campaign.state_path, driver="sensor")
    assert len(asked(path, home, instance)) == 1


@pytest.fixture
def at_work() -> Iterator[Lease]:
    """The lease of another process of this host, which lives."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield Lease(socket.gethostname(), process.pid, psutil.Process(process.pid).create_time())
    process.communicate(b"\n")


def test_the_sensor_does_not_ask_again_while_the_process_of_a_run_that_counts_as_canceled_works_on(
    tmp_path: Path, home: Home, instance: dg.DagsterInstance, at_work: Lease
) -> None:
    path = declare(tmp_path, {"labels": NO_OWNER})
    campaign = begin(path, home, campaign="mine", driver="sensor")
    run = instance.create_run_for_job(
        wired(path, home).resolve_job_def("small_round"), tags={"drysweep/round": "small/mine-r001"}
    )
    instance.report_run_canceled(run)
    change_state(campaign.state_path, lease=replace(at_work, holder=run.run_id))
    assert asked(path, home, instance) == []
    change_state(campaign.state_path, lease=replace(at_work, holder=run.run_id, started=0.0))
    assert asked(path, home, instance) == [("small_round", "small/mine-r001#2", "mine-r001")]


def test_a_report_that_takes_long_is_not_taken_for_one_whose_process_is_gone(
    tmp_path: Path, home: Home, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = declare(tmp_path, {"labels": NO_OWNER})
    campaign = begin(path, home, campaign="mine", driver="sensor")
    held: list[str | None] = []
    written = orchestrated.write_report

    def slow(*given: Any) -> Any:
        state = read_state(campaign.state_path)
        held.append(state.lease.holder if state and state.lease else None)
        return written(*given)

    monkeypatch.setattr(orchestrated, "write_report", slow)
    InProcess(read_declaration(path), home, instance).report(campaign)
    [run] = instance.get_runs()
    assert held == [run.run_id]


def test_rounds_run_again_through_the_job_in_any_order_change_nothing(
    tmp_path: Path, home: Home, instance: dg.DagsterInstance
) -> None:
    path = declare(tmp_path, {"labels": NO_OWNER})
    campaign = begin(path, home)
    jobs = InProcess(read_declaration(path), home, instance)
    while (due := standing(campaign).due) is not None:
        jobs.round(campaign, due)
    before, state = ledger_rows(campaign), read_state(campaign.state_path)
    for round in (3, 1, 2):
        jobs.round(campaign, round)
    assert ledger_rows(campaign) == before
    after = read_state(campaign.state_path)
    assert state is not None
    assert after is not None
    assert (after.outcome, after.rounds, after.next) == (state.outcome, state.rounds, state.next)


def test_the_start_job_records_a_campaign_for_the_sensor_and_the_decide_job_answers_it(
    tmp_path: Path, home: Home, instance: dg.DagsterInstance
) -> None:
    path = declare(tmp_path, {"labels": NO_OWNER}, turns="manual")
    definitions = wired(path, home)
    config = {"ops": {"small_start_campaign": {"config": {"campaign": "mine", "as_of": "2026-01-01T06:00:00+00:00"}}}}
    assert definitions.resolve_job_def("small_start").execute_in_process(config, instance=instance).success
    assert asked(path, home, instance) == [("small_round", "small/mine-r001#1", "mine-r001")]
    InProcess(read_declaration(path), home, instance).round(load(home, "small", "mine"), 1)
    decision = {"campaign": "mine", "choice": "go", "by": "operator"}
    config = {"ops": {"small_record_decision": {"config": decision}}}
    assert definitions.resolve_job_def("small_decide").execute_in_process(config, instance=instance).success
    assert asked(path, home, instance) == [("small_round", "small/mine-r002#1", "mine-r002")]


def wired(path: Path, home: Home) -> dg.Definitions:
    resources = dg.Definitions(resources={"home": HomeResource(root=str(home.root))})
    return dg.Definitions.merge(build_definitions(read_declaration(path)), resources)


def asked(path: Path, home: Home, instance: dg.DagsterInstance) -> list[tuple[str | None, str | None, str | None]]:
    """What the sensor asks for at a tick."""
    sensor = wired(path, home).resolve_sensor_def("small_next_round")
    result = sensor(dg.build_sensor_context(instance=instance, resources={"home": home}))
    if isinstance(result, dg.SkipReason):
        return []
    assert isinstance(result, dg.SensorResult)
    return [(request.job_name, request.run_key, request.partition_key) for request in result.run_requests or []]


def checks(instance: dg.DagsterInstance) -> dict[str, bool]:
    """The check results of the only run, by asset and name."""
    run = instance.get_runs()[0]
    found = {}
    for entry in instance.all_logs(run.run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION):
        assert entry.dagster_event is not None
        check = entry.dagster_event.asset_check_evaluation_data
        found[f"{'/'.join(check.asset_key.path[1:])} {check.check_name}"] = check.passed
    return found


def metadata(instance: dg.DagsterInstance, asset: str) -> dict[str, Any]:
    event = instance.get_latest_materialization_event(dg.AssetKey(["small", asset]))
    assert event is not None
    assert event.asset_materialization is not None
    return {name: value.value for name, value in event.asset_materialization.metadata.items()}


def test_a_process_that_loads_the_declared_sweeps_logs_no_warning_for_each_of_their_jobs() -> None:
    load = "from assets.definitions import defs; print(len(list(defs().resolve_all_job_defs())))"
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", load], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 2
    assert "Warning" not in done.stderr

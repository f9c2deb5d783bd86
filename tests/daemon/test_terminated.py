"""What becomes of a campaign whose runs somebody terminates in Dagster's pages."""

import contextlib
import json
from pathlib import Path

import dagster as dg
import duckdb
import psutil
import pytest

from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.journal import budget_of
from drysweep_pipeline.engine.state import State, read_state
from drysweep_pipeline.home import Home
from tests.daemon.processes import LOCATION, WORKSPACE, Daemon, wait_for
from tests.daemon.test_daemon import COMPARED
from tests.sweeps import NO_OWNER, begin, declare, registry, run_to_its_end

# Waits for as long as the file it is given says so, with a process of its own that would wait longer.
WAITS = """
import json, pathlib, subprocess, sys, time
gate = pathlib.Path(sys.argv[1])
if gate.read_text() == "shut":
    subprocess.Popen(["sleep", "600"])
while gate.read_text() == "shut":
    time.sleep(0.05)
print(json.dumps({"service": "api", "failure_mode": "waited"}))
print(json.dumps({"drysweep": "end", "count": 1}))
"""

pytestmark = pytest.mark.daemon


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose sweep has a strategy that waits for as long as its gate is shut."""
    folder = tmp_path / "project"
    registry(folder / "sweep" / "registry", {"api": None, "web": "team"})
    waits = {"name": "waits", "kind": "command", "argv": ["python3", "waits.py", "gates/one"], "reads": ["gates"]}
    declared = declare(folder / "sweep", {"labels": NO_OWNER})
    sweep = json.loads(declared.read_text())
    sweep["attributes"]["strategies"].append({**waits, "timeout_s": 500})
    (folder / "sweep" / "defs.yaml").write_text(json.dumps(sweep))
    (folder / "sweep" / "waits.py").write_text(WAITS)
    (folder / "sweep" / "gates").mkdir()
    (folder / "sweep" / "gates" / "one").write_text("shut")
    (folder / "workspace.yaml").write_text(WORKSPACE)
    (folder / "location.py").write_text(LOCATION)
    return folder


def test_runs_that_are_terminated_in_the_pages_leave_nothing_behind_and_the_campaign_ends_as_an_undisturbed_one(
    project: Path, daemon: Daemon, tmp_path: Path
) -> None:
    campaign = begin(project / "sweep" / "defs.yaml", Home(daemon.home), campaign="mine", driver="sensor")
    daemon.start()
    for at_once in (False, True):
        wait_for("a wave waits", lambda: bool(_waiting(campaign)), seconds=240)
        run, left = _holder(campaign), _waiting(campaign)
        _terminate(run, at_once=at_once)
        wait_for("all that the run had started is gone", lambda left=left: not _alive(left), seconds=60)
        wait_for("the run is canceled", lambda run=run: _status(run) == dg.DagsterRunStatus.CANCELED, seconds=60)
    (project / "sweep" / "gates" / "one").write_text("open")
    wait_for("an outcome and a report", lambda: _state(campaign).reported, seconds=360)
    daemon.kill()

    undisturbed = run_to_its_end(
        begin(project / "sweep" / "defs.yaml", Home(tmp_path / "undisturbed"), campaign="mine")
    )
    for what, query in COMPARED.items():
        assert _rows(campaign, query) == _rows(undisturbed, query), what
    assert budget_of(campaign, 1).used.calls >= 6, "what the terminated waves had asked is not spent"


def _terminate(run: str, *, at_once: bool) -> None:
    """Do what the pages do: ask the run to end, and where it is to be marked at once, mark it meanwhile."""
    with dg.DagsterInstance.get() as instance:
        assert instance.run_coordinator.cancel_run(run)
        found = instance.get_run_by_id(run)
        assert found is not None
        if at_once and not found.is_finished:
            instance.report_run_canceled(found)


def _status(run: str) -> dg.DagsterRunStatus | None:
    with dg.DagsterInstance.get() as instance:
        found = instance.get_run_by_id(run)
    return found.status if found is not None else None


def _state(campaign: Campaign) -> State:
    state = read_state(campaign.state_path)
    assert state is not None
    return state


def _holder(campaign: Campaign) -> str:
    lease = _state(campaign).lease
    assert lease is not None
    assert lease.holder is not None
    return lease.holder


def _waiting(campaign: Campaign) -> list[psutil.Process]:
    """The process of the campaign's run and all that it started, once the strategy that waits is among them."""
    lease = _state(campaign).lease
    if lease is None or not lease.alive:
        return []
    try:
        run = psutil.Process(lease.pid)
        found = [run, *run.children(recursive=True)]
        return found if any("sleep" in each.cmdline() for each in found) else []
    except psutil.Error:
        return []


def _alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Those that still run; one that nobody has reaped yet runs no more."""
    found = []
    for each in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            if each.is_running() and each.status() != psutil.STATUS_ZOMBIE:
                found.append(each)
    return found


def _rows(campaign: Campaign, query: str) -> list[tuple]:
    with duckdb.connect(str(campaign.home.ledger), read_only=True) as connection:
        connection.execute("set TimeZone = 'UTC'")
        return connection.execute(query).fetchall()

"""The real daemon takes a campaign from the schedule to its outcome, and power cuts on the way change nothing."""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from drysweep_pipeline.declaration import read_declaration
from drysweep_pipeline.demo.registry import generate
from drysweep_pipeline.engine.journal import standing
from drysweep_pipeline.engine.starting import start
from drysweep_pipeline.engine.state import State, read_states
from drysweep_pipeline.home import Home
from drysweep_pipeline.orchestration.inprocess import in_process
from tests.daemon.processes import LOCATION, WORKSPACE, Daemon, wait_for

TEMPLATE = Path(__file__).parents[2] / "drysweep_pipeline" / "templates" / "config_registry"
SWEEP = "config_registry"
# Takes a second or two and finds nothing, so that a wave lasts long enough to be cut.
SLOW = """
    select 'x' as service, 'x' as field, 'x' as failure_mode
    where (select count(*) from range(60000) a, range(9000) b where (a.range * b.range) % 7 = 8) > 0
"""
# What two ledgers must agree on: everything but times, and the calls that a power cut wasted.
COMPARED = {
    "seen": "select fp, round from seen order by all",
    "sightings": "select fp, strategy, campaign, round, hits from sightings order by all",
    "verdicts": "select fp, campaign, round, judge, verdict, reason from verdicts order by all",
    "rounds": """
        select round, snapshot, complete, rows, distinct_findings, fresh, reopened, quiet, repeat, outcome, reason
        from rounds order by round
    """,
    "runs": "select round, strategy, attempt, status, angle, rows from strategy_runs order by all",
    "campaigns": "select campaign, as_of, rule, k, declaration, outcome, reason, rounds, quiet from campaigns",
    "events": "select name, round, fp, actor from events where name <> 'calls_lost' order by seq",
}

pytestmark = pytest.mark.daemon


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with the demo's registry, its sweep due in three minutes or so, and one slow strategy beside it."""
    folder = tmp_path / "project"
    generate(folder / "registry")
    shutil.copytree(TEMPLATE, folder / "sweep")
    declared = (folder / "sweep" / "defs.yaml").read_text()
    declared = declared.replace("../../../examples/registry", "../registry").replace('"0 6 * * *"', _soon())
    slow = "  strategies:\n    - {name: slow, kind: sql, query: {file: strategies/slow.sql}}\n"
    (folder / "sweep" / "defs.yaml").write_text(declared.replace("  strategies:\n", slow))
    (folder / "sweep" / "strategies" / "slow.sql").write_text(SLOW)
    (folder / "workspace.yaml").write_text(WORKSPACE)
    (folder / "location.py").write_text(LOCATION)
    return folder


def test_a_scheduled_campaign_survives_power_cuts_with_the_ledger_of_an_undisturbed_run(
    project: Path, daemon: Daemon, tmp_path: Path
) -> None:
    home = Home(daemon.home)
    daemon.start()
    wait_for("the schedule started a campaign", lambda: bool(_states(home)), seconds=600)
    campaign = _states(home)[0].campaign
    landing = home.sweep(SWEEP).landing(campaign)

    wait_for("round 1 was decided", lambda: _first(home).rounds >= 1, seconds=600)
    wait_for("the second wave was under way", lambda: _mid_wave(landing / "r002"), seconds=600, every=0.002)
    assert daemon.kill() >= 2
    assert not (landing / "r002" / "manifest.json").exists(), "the cut came after the wave"

    daemon.start()
    wait_for("round 3 landed", lambda: (landing / "r003" / "manifest.json").exists(), seconds=600, every=0.002)
    assert daemon.kill() >= 2
    assert not (landing / "r003" / "decision.json").exists(), "the cut came after intake"
    landed = (landing / "r003" / "manifest.json").read_bytes()

    daemon.start()
    wait_for("an outcome and a report", lambda: _first(home).reported, seconds=900)
    before = {what: _rows(home, query) for what, query in COMPARED.items()}
    daemon.backfill(f"{SWEEP}_round", [f"{campaign}-r{round:03d}" for round in (3, 1, 5)])
    wait_for("three rounds were run again", lambda: daemon.finished(f"{SWEEP}_round", campaign) >= 5 + 3, seconds=900)
    daemon.kill()
    assert {what: _rows(home, query) for what, query in COMPARED.items()} == before, "a round that ran again changed it"

    assert (landing / "r003" / "manifest.json").read_bytes() == landed, "a landed wave was run again"
    assert _first(home).outcome == "converged"
    undisturbed = _undisturbed(project, Home(tmp_path / "undisturbed"), _first(home))
    for what, query in COMPARED.items():
        assert _rows(home, query) == _rows(undisturbed, query), what
    [(lost,)] = _rows(home, "select reason from events where name = 'calls_lost'")
    assert lost.startswith(("5 calls", "6 calls")), "the cut wave's calls are counted and listed"


def _soon() -> str:
    """Return a cron line for one minute of today, far enough ahead for the daemon to be up."""
    due = datetime.now(UTC) + timedelta(seconds=210)
    return f'"{due.minute} {due.hour} * * *"'


def _states(home: Home) -> list[State]:
    return read_states(home.sweep(SWEEP).root / "state")


def _first(home: Home) -> State:
    return _states(home)[0]


def _mid_wave(round: Path) -> bool:
    """Some strategies have landed their file, and the wave is not whole."""
    return bool(list(round.glob("*.a1.parquet"))) and not (round / "manifest.json").exists()


def _undisturbed(project: Path, home: Home, state: State) -> Home:
    declaration = read_declaration(project / "sweep" / "defs.yaml")
    as_of = datetime.fromisoformat(state.as_of)
    campaign = start(home, declaration, as_of=as_of, driver="cli", campaign=state.campaign)
    with in_process(declaration, home, ephemeral=True) as jobs:
        while (due := standing(campaign).due) is not None:
            jobs.round(campaign, due)
    return home


def _rows(home: Home, query: str) -> list[tuple]:
    with duckdb.connect(str(home.sweep(SWEEP).ledger), read_only=True) as connection:
        connection.execute("set TimeZone = 'UTC'")
        return connection.execute(query).fetchall()

"""A process that is killed in the middle of a round: the next one goes on, with what an undisturbed run would have."""

import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from drysweep_pipeline.engine import rounds
from drysweep_pipeline.engine.campaign import load
from drysweep_pipeline.engine.journal import standing
from drysweep_pipeline.engine.planning import plan
from drysweep_pipeline.engine.repair import repair
from drysweep_pipeline.engine.wave import wave
from drysweep_pipeline.home import Home
from drysweep_pipeline.ledger import open_ledger
from tests.sweeps import NO_OWNER, begin, declare, registry

ROOT = Path(__file__).parents[2]

# Kills its own process, as a power cut would, before the nth call of the named function, or after the -nth.
KILLED = """
import importlib, os, signal, sys

module, name, count, driver = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
target = importlib.import_module(module)
real, calls = getattr(target, name), 0

def dies(*args, **kwargs):
    global calls
    calls += 1
    if calls == count:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*args, **kwargs)

def dies_after(*args, **kwargs):
    global calls
    calls += 1
    done = real(*args, **kwargs)
    if calls == -count:
        os.kill(os.getpid(), signal.SIGKILL)
    return done

setattr(target, name, dies if count > 0 else dies_after)
if driver == "command":
    from drysweep_pipeline.cli import main

    sys.exit(main(sys.argv[5:]))
from pathlib import Path
from tests.integration.test_killed import swept

swept(Path(sys.argv[5]), sys.argv[6])
"""
POINTS = [
    ("drysweep_pipeline.landing", "write_manifest", 2),
    ("drysweep_pipeline.ledger.intake", "fresh_of", 1),
    ("drysweep_pipeline.engine.journal", "write_landed", 2),
    ("drysweep_pipeline.ledger.lives", "record_verdicts", 1),
    ("drysweep_pipeline.engine.journal", "write_decision", 1),
    ("drysweep_pipeline.engine.journal", "write_decision", -1),
    ("drysweep_pipeline.engine.journal", "write_decision", -3),
    ("drysweep_pipeline.engine.standing", "publish_history", 2),
    ("drysweep_pipeline.engine.standing", "write_state", 2),
]
# The others are as good, and soak tests: through Dagster a kill and what goes on after it take some ten seconds.
ALWAYS = {("fresh_of", 1), ("write_decision", 1), ("write_state", 2)}
BY_COMMAND = ("drysweep_pipeline.engine.journal", "write_decision", 1)
PARAMETERS = [
    pytest.param(*point, id=f"{point[1]}-{point[2]}", marks=() if point[1:] in ALWAYS else pytest.mark.soak)
    for point in POINTS
]
COMPARED = {
    "seen": "select * from seen order by all",
    "sightings": "select * from sightings order by all",
    "verdicts": "select fp, campaign, round, judge, verdict, reason from verdicts order by all",
    "rounds": "select round, complete, fresh, quiet, repeat, outcome, quiet_in_a_row from rounds order by round",
    "campaigns": "select campaign, outcome, rounds, quiet, repeats from campaigns",
    "events": "select name, round from events where name <> 'calls_lost' order by seq",
}


def run(place: Path, home: str) -> list[str]:
    return ["run", str(place / "sweep.yaml"), "--home", str(place / home), "--campaign", "c", "--as-of", "2026-01-01"]


def ledger(place: Path, home: str) -> dict[str, list[tuple]]:
    path = place / home / "sweeps" / "small" / "ledger.duckdb"
    with duckdb.connect(str(path), read_only=True) as connection:
        return {what: connection.execute(query).fetchall() for what, query in COMPARED.items()}


def swept(place: Path, home: str) -> None:
    """Do what the command does, round by round and without Dagster; begin, or go on where somebody else ended."""
    there = Home(place / home)
    if there.sweep("small").landing("c").exists():
        campaign = load(there, "small", "c")
    else:
        campaign = begin(place / "sweep.yaml", there, campaign="c")
    with open_ledger(campaign.home.ledger) as opened:
        repair(opened, campaign)
    while (due := standing(campaign).due) is not None:
        # Each step opens and closes the ledger, as those of the job do.
        plan(campaign, due)
        list(wave(campaign, due))
        rounds.take_in(campaign, due)
        rounds.judge(campaign, due)
        rounds.decide(campaign, due)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep, and the home of an undisturbed run of it."""
    folder = tmp_path_factory.mktemp("killed")
    registry(folder / "registry", {"api": None, "web": "team", "db": None})
    (folder / "judge.sql").write_text("select fp, 'confirmed' as verdict, 'seen' as reason from findings")
    declare(folder, {"labels": NO_OWNER, "again": NO_OWNER}, judge={"kind": "sql", "query": {"file": "judge.sql"}})
    swept(folder, "undisturbed")
    return folder


def killed(*command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, *command], cwd=ROOT, capture_output=True, timeout=240, check=False
    )
    assert done.returncode == -9, done.stderr.decode()[-1000:]


@pytest.mark.parametrize(("module", "name", "count"), PARAMETERS)
def test_a_campaign_killed_anywhere_goes_on_to_the_ledger_of_an_undisturbed_one(
    place: Path, module: str, name: str, count: int
) -> None:
    home = f"{name}-{count}"
    killed(module, name, str(count), "engine", str(place), home)
    swept(place, home)
    assert ledger(place, home) == ledger(place, "undisturbed")


@pytest.mark.parametrize(
    ("module", "name", "count"),
    [
        pytest.param(*point, id=f"{point[1]}-{point[2]}", marks=() if point == BY_COMMAND else pytest.mark.soak)
        for point in POINTS
    ],
)
def test_a_run_killed_anywhere_goes_on_to_the_ledger_of_an_undisturbed_one(
    place: Path, module: str, name: str, count: int
) -> None:
    home = f"run-{name}-{count}"
    killed(module, name, str(count), "command", *run(place, home))
    # In a process of its own: a run that hears no signal must not take the tests with it.
    again = [sys.executable, "-m", "drysweep_pipeline.cli", *run(place, home)]
    done = subprocess.run(again, capture_output=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr.decode()[-1000:]
    assert ledger(place, home) == ledger(place, "undisturbed")

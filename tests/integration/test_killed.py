"""A process that is killed in the middle of a round: the next one goes on, with what an undisturbed run would have."""

import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from drysweep_pipeline.cli import main
from tests.sweeps import NO_OWNER, declare, registry

# Kills its own process, as a power cut would, before the nth call of the named function, or after the -nth.
KILLED = """
import importlib, os, signal, sys
from drysweep_pipeline.cli import main

module, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
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
sys.exit(main(sys.argv[4:]))
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
# The others are as good and take as long: some twenty seconds each.
ALWAYS = {("fresh_of", 1), ("record_verdicts", 1), ("write_decision", 1), ("write_state", 2)}
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


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep, and the home of an undisturbed run of it."""
    folder = tmp_path_factory.mktemp("killed")
    registry(folder / "registry", {"api": None, "web": "team", "db": None})
    (folder / "judge.sql").write_text("select fp, 'confirmed' as verdict, 'seen' as reason from findings")
    declare(folder, {"labels": NO_OWNER, "again": NO_OWNER}, judge={"kind": "sql", "query": {"file": "judge.sql"}})
    assert main(run(folder, "undisturbed")) == 0
    return folder


@pytest.mark.parametrize(("module", "name", "count"), PARAMETERS)
def test_a_run_killed_anywhere_goes_on_to_the_ledger_of_an_undisturbed_one(
    place: Path, module: str, name: str, count: int
) -> None:
    home = f"{name}-{count}"
    command = [sys.executable, "-c", KILLED, module, name, str(count), *run(place, home)]
    killed = subprocess.run(command, env=dict(os.environ), capture_output=True, timeout=120, check=False)
    assert killed.returncode == -9, killed.stderr.decode()[-1000:]
    # In a process of its own: a run that hears no signal must not take the tests with it.
    again = [sys.executable, "-m", "drysweep_pipeline.cli", *run(place, home)]
    done = subprocess.run(again, env=dict(os.environ), capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr.decode()[-1000:]
    assert ledger(place, home) == ledger(place, "undisturbed")

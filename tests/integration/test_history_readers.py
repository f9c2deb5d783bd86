"""Publishing beside readers, beside other sweeps and through kills: nobody waits, nothing is lost, nothing is half."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest

from drysweep_pipeline.history import history
from drysweep_pipeline.history.publish import publish
from drysweep_pipeline.home import Home
from drysweep_pipeline.values import Outcome
from tests.publishing import MARCH, Sweeping, ask

ROOT = Path(__file__).parents[2]
SHELL = Path(sys.prefix) / "bin" / "duckdb"
SIGHTINGS = "select count(*) from sightings"

# Sweeps and publishes rounds of its own sweep, as a process of its own.
SWEEPS = """
import sys
from pathlib import Path
from drysweep_pipeline.home import Home
from tests.publishing import Sweeping

sweeping = Sweeping(Home(Path(sys.argv[1])), sys.argv[2])
sweeping.start("c1")
for round in range(1, int(sys.argv[3]) + 1):
    sweeping.round("c1", round, {"one": [f"service{round}/old"]})
"""

# Publishes what a ledger holds, and dies at a call of the named function of a module, before it or half through it.
DIES = """
import importlib, os, signal, sys
from pathlib import Path
from drysweep_pipeline.history.publish import publish
from drysweep_pipeline.home import Home
from tests.publishing import Sweeping

def dies(*given, **named):
    if sys.argv[3] == "copyfile":
        Path(given[1]).write_bytes(Path(given[0]).read_bytes()[:100_000])
    os.kill(os.getpid(), signal.SIGKILL)

module = importlib.import_module(sys.argv[2])
assert hasattr(module, sys.argv[3])
setattr(module, sys.argv[3], dies)
sweeping = Sweeping(Home(Path(sys.argv[1])))
with sweeping.ledger() as ledger:
    publish(sweeping.home, sweeping.name, ledger)
"""


@contextmanager
def shell(file: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Have DuckDB's own shell hold a file open; it has answered once."""
    command = [SHELL, *arguments, "-csv", "-noheader", file]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert said(process, "select 'ready';") == "ready"
        yield process
        process.communicate()


def said(process: subprocess.Popen[str], sql: str) -> str:
    assert process.stdin
    assert process.stdout
    process.stdin.write(sql + "\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


def child(code: str, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", code, *arguments], cwd=ROOT)


def counted(file: Path, sql: str) -> str:
    done = subprocess.run([SHELL, "-readonly", "-csv", "-noheader", file, sql], capture_output=True, check=True)
    return done.stdout.decode().strip()


@pytest.mark.parametrize("arguments", [("-readonly",), ()], ids=["for reading", "for writing"])
def test_a_shell_that_holds_the_history_keeps_the_old_one_and_holds_nobody_up(
    swept: Sweeping, arguments: tuple[str, ...]
) -> None:
    with shell(swept.home.history, *arguments) as holder:
        assert said(holder, f"{SIGHTINGS};") == "5"
        swept.start("c2", MARCH)
        swept.round("c2", 1, {"one": ["db/open"]})
        assert said(holder, f"{SIGHTINGS};") == "5"
        assert counted(swept.home.history, SIGHTINGS) == "6"


def test_what_a_shell_writes_into_the_history_is_forgotten_and_locks_nobody_out_of_the_next(swept: Sweeping) -> None:
    with shell(swept.home.history) as writer:
        assert said(writer, f"create table mine as {SIGHTINGS}; from mine;") == "5"
        swept.start("c2", MARCH)
        swept.round("c2", 1, {"one": ["db/open"]})
        assert counted(swept.home.history, "select count(*) from duckdb_tables() where table_name = 'mine'") == "0"
    assert counted(swept.home.history, SIGHTINGS) == "6"
    assert ask(swept, SIGHTINGS) == [(6,)]


def test_a_history_that_a_shell_holds_for_writing_is_read_all_the_same(swept: Sweeping) -> None:
    with shell(swept.home.history):
        assert ask(swept, SIGHTINGS) == [(5,)]


def test_sweeps_that_publish_at_once_lose_nothing(tmp_path: Path) -> None:
    rounds = 5
    running = [child(SWEEPS, str(tmp_path), name, str(rounds)) for name in ("one", "two")]
    assert [process.wait(120) for process in running] == [0, 0]
    for name in ("one", "two"):
        sql = f"select list(round order by round), count(distinct fp) from sightings where sweep = '{name}'"
        assert ask(Sweeping(Home(tmp_path)), sql) == [(list(range(1, rounds + 1)), rounds)]


@pytest.mark.parametrize(
    ("module", "function"),
    [
        ("shutil", "copyfile"),
        ("drysweep_pipeline.history.parquet", "write_json"),
        ("drysweep_pipeline.durable", "sync"),
    ],
)
def test_a_publication_that_is_killed_leaves_the_old_history_and_the_next_makes_up_for_it(
    swept: Sweeping, module: str, function: str
) -> None:
    swept.start("c2", MARCH)
    swept.published = False
    swept.round("c2", 1, {"one": ["db/open"]}, Outcome.CONVERGED)
    assert child(DIES, str(swept.home.root), module, function).wait(120) == -signal.SIGKILL
    with history(swept.home) as connection:
        assert connection.execute(SIGHTINGS).fetchall() == [(5,)]
    with swept.ledger() as ledger:
        publish(swept.home, swept.name, ledger)
    assert ask(swept, SIGHTINGS) == [(6,)]
    assert pl.read_parquet(swept.home.parquet / "sightings" / "**" / "*.parquet").height == 6
    assert sorted(path.name for path in swept.home.history.parent.iterdir()) == [
        "history.duckdb",
        "history.lock",
        "parquet",
    ]
    assert not list(swept.home.parquet.rglob(".*"))

"""The ledger made anew from its landing says what it said, whatever happened to the sweep."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import pytest

from drysweep_pipeline.cli import main
from drysweep_pipeline.engine import actions, deeds, journal, rounds
from drysweep_pipeline.engine.planning import plan
from drysweep_pipeline.engine.state import read_state
from drysweep_pipeline.engine.wave import wave
from drysweep_pipeline.errors import Busy, IntegrityError, NotFound, Refused
from drysweep_pipeline.history import history
from drysweep_pipeline.home import Home
from drysweep_pipeline.keeping.rebuilding import rebuild
from drysweep_pipeline.keeping.verifying import verify
from drysweep_pipeline.ledger import open_ledger
from drysweep_pipeline.ledger.comparing import differences
from drysweep_pipeline.lifecycle import Act, Deed
from drysweep_pipeline.replay.pipeline import sweep_name
from drysweep_pipeline.replay.scenario import read_scenario
from drysweep_pipeline.values import Severity
from tests.scenarios import OWN
from tests.story import replayed
from tests.sweeps import AS_OF, NO_OWNER, begin, declare, registry, run_to_its_end

VIEWS = ("campaigns", "rounds", "strategy_runs", "all_findings", "sightings", "verdicts", "open_findings")
# A backfill with deeds, a person who overrules, rows that were refused; the others take as long, and are soak tests.
ALWAYS = {
    "backfill_between_two",
    "confirm_what_is_undecided",
    "not_run_keeps_valid_rows",
}
PARAMETERS = [pytest.param(path, id=path.stem, marks=() if path.stem in ALWAYS else pytest.mark.soak) for path in OWN]


def published(home: Home) -> dict[str, list[tuple]]:
    with history(home) as connection:
        said = {view: connection.execute(f"from {view} order by all").fetchall() for view in VIEWS}
        # In which order campaigns that went on side by side did things makes no difference.
        events = connection.execute("select * exclude (seq) from events order by all").fetchall()
    return {**said, "events": events}


def test_there_is_a_scenario_for_each_name() -> None:
    assert {path.stem for path in OWN} >= ALWAYS


@pytest.mark.parametrize("path", PARAMETERS)
def test_a_rebuilt_ledger_is_the_one_that_was_there_whatever_the_campaigns_went_through(
    tmp_path: Path, path: Path
) -> None:
    scenario, home = read_scenario(path), Home(tmp_path)
    with contextlib.suppress(Refused):  # some scenarios are about what is refused at their end
        replayed(scenario, home)
    sweep = sweep_name(scenario)
    before, ledger = published(home), home.sweep(sweep).ledger
    shutil.copy(ledger, tmp_path / "before.duckdb")
    ledger.unlink()
    done = rebuild(home, sweep)
    assert (done.differs, done.kept) == (None, None)
    assert differences(tmp_path / "before.duckdb", ledger) == []
    assert published(home) == before
    assert list(verify(home, sweep)) == []


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two campaigns, with a risk that lapses, one that runs out, a fix that does not hold and a file that went bad."""
    place = tmp_path_factory.mktemp("rebuild")
    home, material = Home(place / "home"), place / "registry"
    registry(material, {"api": None, "web": None, "db": None, "ok": "team"})
    (place / "judge.sql").write_text("select fp, 'confirmed' as verdict, 'seen' as reason from findings")
    path = declare(
        place, {"labels": NO_OWNER, "again": NO_OWNER}, judge={"kind": "sql", "query": {"file": "judge.sql"}}
    )
    first = run_to_its_end(begin(path, home, campaign="c1"))
    asked = [
        deeds.Asked("api/no_owner", Deed(Act.ACCEPT_RISK, "ann", reason="for now")),
        deeds.Asked("web/no_owner", Deed(Act.ACCEPT_RISK, "ann", expires=date(2026, 1, 2))),
        deeds.Asked("db/no_owner", Deed(Act.FIX, "bob", reason="done")),
    ]
    deeds.act(first, asked)
    (material / "services" / "api.yaml").write_text(json.dumps({"name": "api", "labels": {"tier": "two"}}))
    second = begin(path, home, campaign="c2", as_of=AS_OF.replace(day=10))
    plan(second, 1)
    list(wave(second, 1))
    bad = second.folder(1) / "again.a1.parquet"
    bad.write_bytes(bad.read_bytes()[:-1] + b"x")
    rounds.take_in(second, 1)
    rounds.judge(second, 1)
    rounds.decide(second, 1)
    run_to_its_end(second)
    return place


@pytest.fixture
def home(swept: Path, tmp_path: Path) -> Home:
    shutil.copytree(swept / "home", tmp_path / "home")
    return Home(tmp_path / "home")


def test_what_a_snapshot_or_a_bad_file_once_told_was_landed_and_neither_is_needed_to_rebuild(home: Home) -> None:
    names = {row[0] for row in events(home)}
    assert {"acceptance_lapsed", "acceptance_expired", "finding_reopened", "finder_not_run"} <= names
    before, place = published(home), home.sweep("small")
    shutil.rmtree(place.snapshots)
    shutil.copy(place.ledger, place.root / "ledger.before-copy.duckdb")
    place.ledger.unlink()
    rebuild(home, "small")
    assert differences(place.root / "ledger.before-copy.duckdb", place.ledger) == []
    assert published(home) == before


def events(home: Home) -> list[tuple]:
    with history(home) as connection:
        return connection.execute("select name from events").fetchall()


# Rules once a person has spoken, which a file says.
SLOW_JUDGE = """
import os, time
while not os.path.exists(SPOKEN):
    time.sleep(0.05)
print('{"verdict": "rejected", "reason": "no"}')
"""


def test_what_a_person_said_while_the_judge_was_asked_stands_in_the_rebuilt_ledger_too(tmp_path: Path) -> None:
    registry(tmp_path / "registry", {"api": None})
    spoken = tmp_path / "spoken"
    (tmp_path / "judge.py").write_text(f"SPOKEN = {str(spoken)!r}\n{SLOW_JUDGE}")
    judge = {"kind": "command", "argv": [sys.executable, "judge.py"], "timeout_s": 240}
    home = Home(tmp_path / "home")
    campaign = begin(declare(tmp_path, {"labels": NO_OWNER}, judge=judge), home, campaign="c1")
    plan(campaign, 1)
    list(wave(campaign, 1))
    rounds.take_in(campaign, 1)
    asked = threading.Thread(target=rounds.judge, args=(campaign, 1))
    asked.start()
    said = Deed(Act.CONFIRM, "ann", reason="I know")
    landed = journal.read_landed(campaign, 1)
    assert landed is not None
    with open_ledger(home.sweep("small").ledger) as ledger:
        confirmed = actions.deed_of(UUID(landed.fresh[0]), Severity.MAJOR, said)
        actions.land(ledger, campaign, actions.done([confirmed], 0, frozen=1))
    spoken.touch()
    asked.join()
    rounds.decide(campaign, 1)
    with history(home) as connection:
        assert connection.execute("select judge, verdict from verdicts").fetchall() == [("person:ann", "confirmed")]
    done = rebuild(home, "small")
    assert done.differs == ()


def test_a_ledger_that_said_otherwise_is_kept_beside_the_new_one_and_the_difference_told(
    home: Home, capsys: Any
) -> None:
    with duckdb.connect(str(home.sweep("small").ledger)) as connection:
        connection.execute("delete from sightings where campaign = 'c1' and round = 3")
    assert main(["rebuild", "small", "--home", str(home.root), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(each["table"], each["too_many"], each["missing"]) for each in told["differs"]] == [("sightings", 0, 6)]
    with duckdb.connect(told["kept"], read_only=True) as connection:
        assert connection.execute("select count(*) from sightings where campaign = 'c1'").fetchall() == [(12,)]
    assert [fault for fault in verify(home, "small") if not fault.note] == []
    assert main(["rebuild", "small", "--home", str(home.root)]) == 0
    assert "it says what the one before it said" in capsys.readouterr().out


@pytest.mark.parametrize("held", [b"", b"no database", None])
def test_a_ledger_that_cannot_be_read_makes_way_and_is_kept(home: Home, held: bytes | None) -> None:
    place, before = home.sweep("small"), published(home)
    whole = place.ledger.read_bytes()
    place.ledger.write_bytes(whole[: len(whole) // 2] if held is None else held)
    done = rebuild(home, "small")
    assert done.kept is not None
    assert done.kept.exists()
    assert published(home) == before


def test_damaged_landing_is_refused_by_name_and_the_ledger_is_left_as_it_is(home: Home, capsys: Any) -> None:
    path = home.sweep("small").landing("c1") / "r001" / "labels.a1.parquet"
    path.write_bytes(b"x")
    before = home.sweep("small").ledger.read_bytes()
    with pytest.raises(IntegrityError, match=r"labels\.a1\.parquet"):
        rebuild(home, "small")
    assert main(["rebuild", "small", "--home", str(home.root)]) == 7
    assert home.sweep("small").ledger.read_bytes() == before
    assert list(home.sweep("small").root.glob(".rebuilding*")) == []


@pytest.fixture
def somebody() -> Iterator[subprocess.Popen]:
    """Another process that lives."""
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield process
    process.kill()
    process.wait()


def test_a_campaign_that_a_process_works_on_keeps_its_ledger(home: Home, somebody: subprocess.Popen) -> None:
    import socket

    import psutil

    from drysweep_pipeline.engine.state import Lease, change_state

    started = psutil.Process(somebody.pid).create_time()
    path = home.sweep("small").state("c2")
    change_state(path, lease=Lease(socket.gethostname(), somebody.pid, started))
    with pytest.raises(Busy, match=f"process {somebody.pid}"):
        rebuild(home, "small")


def test_state_files_that_are_gone_or_damaged_are_written_anew(home: Home) -> None:
    place = home.sweep("small")
    was = read_state(place.state("c2"))
    place.state("c1").unlink()
    place.state("c2").write_text("{")
    rebuild(home, "small")
    now = read_state(place.state("c2"))
    assert was is not None
    assert now is not None
    assert (now.outcome, now.rounds, now.next) == (was.outcome, was.rounds, was.next)
    assert [fault for fault in verify(home, "small") if not fault.note] == []


def test_a_sweep_that_landed_nothing_has_nothing_to_be_rebuilt_from(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        rebuild(Home(tmp_path), "small")


# Kills its own process, as a power cut would, before or after a step of the rebuilding.
KILLED = """
import os, signal, sys
from pathlib import Path
from drysweep_pipeline.home import Home
from drysweep_pipeline.keeping import rebuilding

point = sys.argv[2]
real = getattr(rebuilding, point)
def dies(*args, **kwargs):
    if point == "sync":
        real(*args, **kwargs)
    os.kill(os.getpid(), signal.SIGKILL)
setattr(rebuilding, point, dies)
rebuilding.rebuild(Home(Path(sys.argv[1])), "small")
"""


@pytest.mark.parametrize(
    "point", ["sync", "publish", *(pytest.param(each, marks=pytest.mark.soak) for each in ("_put", "_write_state"))]
)
def test_a_rebuild_that_is_killed_leaves_a_ledger_and_is_done_by_the_next(home: Home, point: str) -> None:
    before, ledger = published(home), home.sweep("small").ledger
    shutil.copy(ledger, ledger.with_name("ledger.before-copy.duckdb"))
    command = [sys.executable, "-c", KILLED, str(home.root), point]
    killed = subprocess.run(command, env=dict(os.environ), capture_output=True, timeout=240, check=False)
    assert killed.returncode == -9, killed.stderr.decode()[-1000:]
    assert differences(ledger.with_name("ledger.before-copy.duckdb"), ledger) == []
    rebuild(home, "small")
    assert published(home) == before
    assert [fault for fault in verify(home, "small") if not fault.note] == []

"""What `doctor` finds: each row plants a fault in a home that is well; it is named, with where it is and what helps."""

import json
import os
import resource
import subprocess
import sys
import time
from collections import namedtuple
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from drysweep_pipeline.cli import main
from drysweep_pipeline.engine.campaign import Overrides
from drysweep_pipeline.home import Home
from drysweep_pipeline.ledger import open_ledger
from drysweep_pipeline.orchestration.instance import prepare
from tests.sweeps import NO_OWNER, begin, declare, registry, run_to_its_end

Partition = namedtuple("Partition", "mountpoint fstype")


class Place:
    """A project with a sweep that ran, its home, and what a row has to undo."""

    def __init__(self, root: Path, patch: pytest.MonkeyPatch, undo: ExitStack) -> None:
        self.root, self.patch, self.undo = root, patch, undo
        self.home = Home(root / ".drysweep")
        self.sweep = self.home.sweep("small")
        self.declared = root / "assets" / "sweeps" / "small" / "defs.yaml"

    def versions(self, **found: str | None) -> None:
        """Have packages be of other versions than they are."""
        from drysweep_pipeline.cli import versions

        real, said = versions.version_of, {name.replace("_", "-"): version for name, version in found.items()}
        answered = lambda name: said.get(name, real(name)) if name in said else real(name)  # noqa: E731
        self.patch.setattr("drysweep_pipeline.cli.health.machine.version_of", answered)

    def rewrite(self, path: Path, old: str, new: str) -> None:
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    def older(self, path: Path, seconds: float) -> None:
        os.utime(path, (time.time() - seconds,) * 2)

    def serves(self, *words: str) -> None:
        """Start a process that looks as if it served Dagster's pages for this home."""
        command = [sys.executable, "-c", "print(flush=True); import time; time.sleep(600)", "dagster-webserver", *words]
        environment = {**os.environ, "DAGSTER_HOME": str(self.home.dagster)}
        process = self.undo.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, env=environment))
        self.undo.callback(process.kill)
        assert process.stdout is not None
        process.stdout.readline()


@pytest.fixture(scope="module")
def well(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose sweep has run once, with a Dagster home."""
    root = tmp_path_factory.mktemp("doctor")
    (root / "pyproject.toml").touch()
    folder = root / "assets" / "sweeps" / "small"
    registry(folder / "registry", {"api": None, "web": "team"})
    path = declare(folder, {"labels": NO_OWNER}).rename(folder / "defs.yaml")
    home = Home(root / ".drysweep")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DAGSTER_HOME", "")
        prepare(home)
    run_to_its_end(begin(path, home, campaign="mine", overrides=Overrides(rounds=1)))
    return root


@pytest.fixture
def place(well: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A copy of that project, to plant a fault in."""
    root = tmp_path / "project"
    subprocess.run(["cp", "-a", str(well), str(root)], check=True)
    monkeypatch.chdir(root)
    for name in ("DRYSWEEP_HOME", "DAGSTER_HOME"):
        monkeypatch.delenv(name, raising=False)
    with ExitStack() as undo:
        yield Place(root, monkeypatch, undo)


def told(capsys: pytest.CaptureFixture[str]) -> tuple[int, list[dict[str, Any]]]:
    code = main(["doctor", "--json"])
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    return code, json.loads(out)["checks"]


def held(place: Place) -> None:
    """Have another process hold the ledger."""
    code = (
        "import sys, time; from pathlib import Path; from drysweep_pipeline.ledger import open_ledger\n"
        "with open_ledger(Path(sys.argv[1])): print(flush=True); time.sleep(600)"
    )
    command = [sys.executable, "-c", code, str(place.sweep.ledger)]
    process = place.undo.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE))
    place.undo.callback(process.kill)
    assert process.stdout is not None
    process.stdout.readline()


def few_files(place: Place) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    place.undo.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))


def dead(place: Place) -> None:
    """Leave the lease of a process that is gone in a campaign that goes on."""
    leased(place, outcome="running", next=2)


def leased(place: Place, **more: object) -> None:
    """Leave the lease of a process that is gone."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    lease = {"host": os.uname().nodename, "pid": process.pid, "started": 1.0, "holder": None}
    state = place.sweep.state("mine")
    state.write_text(json.dumps({**json.loads(state.read_text()), "lease": lease, **more}))


def older_views(place: Place) -> None:
    with duckdb.connect(str(place.home.history)) as connection:
        connection.execute("update published.edition set views = 'of another version'")


def to_come(place: Place) -> None:
    path = place.sweep.landing("mine") / "campaign.json"
    later = (datetime.now(UTC) + timedelta(days=400)).isoformat()
    path.write_text(json.dumps({**json.loads(path.read_text()), "as_of": later}))


def left_behind(place: Place) -> None:
    part = place.sweep.landing("mine") / "r001" / ".labels.a1.parquet.1.part"
    part.touch()
    place.older(part, 9000)


def orphan(place: Place) -> None:
    place.sweep.state("theirs").write_text(place.sweep.state("mine").read_text())


def settings(place: Place) -> Path:
    return place.home.dagster / "dagster.yaml"


# What is planted, the check that names it, a word of what it says, and the file that it points at.
Fault = tuple[Callable[[Place], Any], str, str, Callable[[Place], Path] | None]
FAULTS: dict[str, Fault] = {
    "an old duckdb": (lambda p: p.versions(duckdb="1.4.0"), "duckdb", "1.4.0", None),
    "a duckdb of tomorrow": (lambda p: p.versions(duckdb="3.0.1"), "duckdb", "3.0.1", None),
    "no webserver": (lambda p: p.versions(dagster_webserver=None), "dagster-webserver", "not installed", None),
    "packages of two releases": (
        *(lambda p: p.versions(dagster_graphql="1.13.20"), "dagster packages", "dagster-graphql 1.13.20", None),
    ),
    "few open files": (few_files, "open files", "may open 200", None),
    "a bad isolation": (lambda p: p.patch.setenv("DRYSWEEP_ISOLATION", "nome"), "isolation", "nome", None),
    "a full disk": (
        lambda p: p.patch.setattr("drysweep_pipeline.cli.health.files.ENOUGH_BYTES", 1 << 60),
        *("disk", "MB free", lambda p: p.home.root),
    ),
    "a home over a network": (
        lambda p: p.patch.setattr("psutil.disk_partitions", lambda all: [Partition("/", "nfs4")]),
        *("file system", "nfs4", lambda p: p.home.root),
    ),
    "a home for all to write": (
        *(lambda p: p.home.root.chmod(0o777), "modes", "others may write", lambda p: p.home.root),
    ),
    "snapshots for all to read": (
        *(lambda p: p.sweep.snapshots.chmod(0o755), "private", "is 755", lambda p: p.sweep.snapshots),
    ),
    "sweeps for all to read": (
        *(lambda p: (p.home.root / "sweeps").chmod(0o755), "private", "is 755", lambda p: p.home.root / "sweeps"),
    ),
    "an unfinished file": (left_behind, "left behind", "1 unfinished", None),
    "a ledger that is held": (held, "ledger small", "", lambda p: p.sweep.ledger),
    "a ledger that is none": (
        *(lambda p: p.sweep.ledger.write_bytes(b"none" * 4096), "ledger small", "", lambda p: p.sweep.ledger),
    ),
    "a ledger that is gone": (
        *(lambda p: p.sweep.ledger.unlink(), "ledger small", "not there", lambda p: p.sweep.ledger),
    ),
    "a history that is none": (
        *(lambda p: p.home.history.write_bytes(b"none" * 4096), "history", "", lambda p: p.home.history),
    ),
    "a history that is gone": (
        *(lambda p: p.home.history.unlink(), "history", "nothing is published", lambda p: p.home.history),
    ),
    "views of another version": (older_views, "history", "another version", lambda p: p.home.history),
    "a torn state": (
        lambda p: p.sweep.state("mine").write_text('{"sweep": "sm'),
        *("state small/mine", "", lambda p: p.sweep.state("mine")),
    ),
    "a state of nothing": (orphan, "state small/theirs", "no campaign", lambda p: p.sweep.state("theirs")),
    "a process that died": (dead, "state small/mine", "is dead", lambda p: p.sweep.state("mine")),
    "a clock that was ahead": (
        lambda p: p.older(p.sweep.state("mine"), -7200),
        *("state small/mine", "minutes from now", lambda p: p.sweep.state("mine")),
    ),
    "a list of what was pruned that is none": (
        *(lambda p: (p.sweep.root / "pruned.json").write_text("{"), "pruned small", "not readable"),
        lambda p: p.sweep.root / "pruned.json",
    ),
    "a campaign without state": (
        lambda p: p.sweep.state("mine").unlink(),
        *("campaign small/mine", "has no state", lambda p: p.sweep.landing("mine") / "campaign.json"),
    ),
    "a campaign that is none": (
        lambda p: (p.sweep.landing("mine") / "campaign.json").write_text("none"),
        *("campaign small/mine", "cannot be read", lambda p: p.sweep.landing("mine") / "campaign.json"),
    ),
    "no monitoring": (
        lambda p: p.rewrite(settings(p), "run_monitoring:\n  enabled: true", "run_monitoring:\n  enabled: false"),
        *("dagster.yaml max_runtime_seconds", "off", settings),
    ),
    "no limit on a campaign": (
        lambda p: p.rewrite(settings(p), "limit: 1,", "limit: 4,"),
        *("dagster.yaml drysweep/campaign", "no limit", settings),
    ),
    "telemetry": (
        lambda p: p.rewrite(settings(p), "telemetry: {enabled: false}", "telemetry: {enabled: true}"),
        *("dagster.yaml telemetry", "on", settings),
    ),
    "settings that are none": (
        *(lambda p: settings(p).write_text("a: [b"), "dagster.yaml", "cannot be read", settings),
    ),
    "another Dagster home": (
        *(lambda p: p.patch.setenv("DAGSTER_HOME", str(p.root)), "DAGSTER_HOME", "", lambda p: p.root),
    ),
    "pages for everybody": (lambda p: p.serves("-h", "0.0.0.0", "-p", "1"), "webserver", "0.0.0.0", None),
    "a schedule and no daemon": (
        lambda p: p.rewrite(p.declared, '"name": "small"', '"name": "small", "schedule": {"cron": "0 6 * * *"}'),
        *("schedules", "no daemon runs, and small", None),
    ),
    "a sweep that cannot be read": (
        lambda p: p.rewrite(p.declared, '"budget"', '"bugdet"'),
        *("sweep small", "bugdet", lambda p: p.declared),
    ),
    "a variable that is not set": (
        lambda p: p.rewrite(p.declared, '"path": "registry"', '"path": "{env.NOT_SET_HERE}"'),
        *("variables of small", "NOT_SET_HERE", lambda p: p.declared),
    ),
}


def test_a_campaign_of_tomorrow_is_told_and_no_fault(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    to_come(place)
    _, checks = told(capsys)
    [found] = [check for check in checks if check["name"] == "campaign small/mine"]
    assert found["ok"]
    assert "still to come" in found["found"]
    assert "places in the order" in found["help"] or "place before it" in found["help"]


def test_a_project_that_is_well_is_said_to_be(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    code, checks = told(capsys)
    assert [check for check in checks if not check["ok"]] == []
    assert code == 0
    assert {"python", "duckdb", "home", "disk", "file system", "open files", "ledger small", "history"} <= {
        check["name"] for check in checks
    }
    assert main(["doctor"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"all {len(checks)} checks are well"


@pytest.mark.parametrize("planted", FAULTS)
def test_a_planted_fault_is_named_with_where_it_is_and_what_helps(
    planted: str, place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    plant, name, said, where = FAULTS[planted]
    plant(place)
    code, checks = told(capsys)
    wrong = [check for check in checks if not check["ok"] and check["name"].startswith(name)]
    assert code == 1
    assert len(wrong) == 1, checks
    assert said in wrong[0]["found"]
    assert wrong[0]["help"]
    assert where is None or wrong[0]["file"] == str(where(place))


def test_what_is_wrong_is_shown_with_its_file_and_help_below_it(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    orphan(place)
    assert main(["doctor"]) == 1
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("BAD state small/theirs: there is no campaign of that name")
    assert lines[at + 1 : at + 3] == [f"      --> {place.sweep.state('theirs')}", "      help: remove it"]
    assert lines[-1].startswith("1 of ")


def test_a_campaign_that_ended_and_whose_process_has_ended_since_is_well(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    leased(place)
    code, checks = told(capsys)
    assert [check for check in checks if not check["ok"]] == []
    assert code == 0


def test_looking_changes_nothing(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    def there() -> dict[Path, bytes]:
        # Dagster's own databases keep books of who reads them.
        files = [path for path in place.root.rglob("*") if path.is_file() and place.home.dagster not in path.parents]
        return {path: path.read_bytes() for path in files}

    before = there()
    told(capsys)
    assert there() == before
    with open_ledger(place.sweep.ledger):
        pass


def test_pages_for_this_machine_only_and_other_peoples_pages_are_no_fault(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.serves("-h", "127.0.0.1", "--read-only")
    code, checks = told(capsys)
    [served] = [check for check in checks if check["name"].startswith("webserver")]
    assert (code, served["ok"], served["found"]) == (0, True, "listens on 127.0.0.1, read-only")
    place.patch.setenv("DRYSWEEP_HOME", str(place.root / "elsewhere"))
    assert not [check for check in told(capsys)[1] if check["name"].startswith("webserver")]


def test_a_home_that_is_a_file_is_no_home(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["doctor", "--home", str(tmp_path / "file"), "--json"]) == 1
    [home] = [check for check in json.loads(capsys.readouterr().out)["checks"] if check["name"] == "home"]
    assert (home["ok"], home["file"]) == (False, str(tmp_path / "file"))


def test_a_home_that_nobody_can_look_into_is_a_fault_like_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # To root nothing is forbidden; a name that is too long is, to everybody.
    home = tmp_path / ("x" * 300)
    assert main(["doctor", "--home", str(home), "--json"]) == 1
    *_, last = json.loads(capsys.readouterr().out)["checks"]
    assert (last["name"], last["ok"], last["file"]) == ("home", False, str(home))
    assert last["found"] == f"{home}: File name too long"

"""Strategies in child processes: what they are told, the copy that they search, and that none outlives its wave."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from drysweep_pipeline.children.program import environment
from drysweep_pipeline.engine.journal import budget_of
from drysweep_pipeline.engine.planning import read_plan
from drysweep_pipeline.home import Home
from drysweep_pipeline.landing import read_manifest
from drysweep_pipeline.material.copy import Copy
from tests.finders import command, declared, function, rows, waved
from tests.sweeps import begin, steps

pytestmark = pytest.mark.usefixtures("three_services")

FIELDS = {"fields": ["service", "failure_mode"]}


def test_who_hangs_is_ended_with_all_that_it_started_and_what_it_said_is_kept(tmp_path: Path) -> None:
    marker = f"{time.time_ns() % 10**9}"
    stubborn = (
        f"import signal; signal.signal(15, signal.SIG_IGN); say(); os.system('sleep 6{marker} &'); time.sleep(600)"
    )
    hangs = "yield {'service': 'api', 'failure_mode': 'm'}\ntime.sleep(600)"
    strategies = [
        command(tmp_path, "stubborn", stubborn, timeout_s=6),
        function(tmp_path, "hangs", hangs, timeout_s=6),
    ]
    campaign, runs = waved(tmp_path, strategies)
    for run in runs.values():
        assert [attempt.status for attempt in run.attempts] == ["timeout", "timeout"]
        assert "still running after 6 s" in (run.reason or "")
        assert len(rows(campaign, run)) == 1
    left = [each for each in psutil.process_iter(["cmdline"]) if f"6{marker}" in (each.info["cmdline"] or [])]
    assert left == []


def test_a_second_attempt_adds_to_what_the_first_had_found_before_it_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So that it may leave a note about its first attempt.
    monkeypatch.setenv("DRYSWEEP_ISOLATION", "none")
    gone = tmp_path / "was_here"
    says = f"""
if not os.path.exists({str(gone)!r}):
    open({str(gone)!r}, "w").close()
    say('api'); say('db'); print('torn'); sys.exit(1)
say('db'); say('web'); end(2)
"""
    campaign, runs = waved(tmp_path, [command(tmp_path, "one", says)])
    assert (runs["one"].status, [attempt.status for attempt in runs["one"].attempts]) == ("ok", ["failed", "ok"])
    assert [row["subject"] for row in rows(campaign, runs["one"])] == ["api", "db", "web"]


def test_a_program_is_told_its_task_by_all_three_ways_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "not yours")
    monkeypatch.setenv("TOKEN", "yours")
    monkeypatch.setenv("DRYSWEEP_HOME", str(tmp_path / "home"))
    says = """
known = {k: v for k, v in os.environ.items() if k.startswith(("DRYSWEEP_", "DAGSTER_")) or k in ("SECRET", "TOKEN")}
say(told=json.load(sys.stdin), known=known, argv=sys.argv, cwd=os.getcwd(), home=os.environ["HOME"])
end(1, usage={"calls": 2, "tokens": 30, "cost_usd": 0.25})
"""
    angle = {"k": "a b", "n": 1.5, "flag": True, "rules": "rules.toml"}
    mine = command(tmp_path, "mine", says, env=["TOKEN"], angles=[angle])
    (tmp_path / "rules.toml").touch()
    mine["argv"] += ["{material}/x", "{angle.k}", "{angle.n}{angle.flag}", "{seed}", "{campaign}/{round}", "{}"]
    mine["argv"] += ["rules.toml", "--config={angle.rules}", "registry", "registry/services"]
    campaign, runs = waved(tmp_path, [mine])
    [row] = rows(campaign, runs["mine"])
    said = row["attributes"]
    told, seed = said["told"], runs["mine"].seed
    copy = told.pop("material")
    assert told == {
        "sweep": "small",
        "campaign": campaign.id,
        "round": 1,
        "strategy": "mine",
        "angle": angle,
        "seed": seed,
    }
    assert said["known"] == {
        "DRYSWEEP_SWEEP": "small",
        "DRYSWEEP_CAMPAIGN": campaign.id,
        "DRYSWEEP_ROUND": "1",
        "DRYSWEEP_STRATEGY": "mine",
        "DRYSWEEP_ANGLE": json.dumps(angle),
        "DRYSWEEP_SEED": str(seed),
        "DRYSWEEP_MATERIAL": copy,
        "TOKEN": "yours",
    }
    beside = str(tmp_path / "rules.toml")
    assert said["argv"][1:] == [
        f"{copy}/x",
        "a b",
        "1.5true",
        str(seed),
        f"{campaign.id}/1",
        "{}",
        beside,
        f"--config={beside}",
        "registry",
        str(tmp_path / "registry" / "services"),
    ]
    assert said["cwd"] == said["home"] != str(tmp_path)
    assert not Path(copy).exists()
    assert not Path(said["cwd"]).exists()
    spent = runs["mine"].usage
    assert (spent.calls, spent.tokens, spent.cost_usd) == (2, 30, 0.25)


def test_no_child_is_handed_a_way_to_the_ledger(tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    look = f"home = {home!r}\nhow = repr((dict(os.environ), os.getcwd(), sys.argv, "
    strategies = [
        command(tmp_path, "program", f"{look} json.load(sys.stdin)))\nsay(leaks=home in how)\nend(1)"),
        function(
            tmp_path,
            "call",
            f"{look} vars(material), str(material.path), angle))\n"
            "at = '/proc/self/fd/'\n"
            "files = [os.readlink(at + n) for n in os.listdir(at) if os.path.exists(at + n)]\n"
            "yield {'service': 'api', 'failure_mode': 'm', 'leaks': home in how or home in repr(files)}",
        ),
    ]
    campaign, runs = waved(tmp_path, strategies)
    assert [rows(campaign, run)[0]["attributes"]["leaks"] for run in runs.values()] == [False, False]


def test_the_copy_of_the_material_is_the_snapshot_and_not_what_lies_there_now(tmp_path: Path) -> None:
    (tmp_path / "registry" / "picture.bin").write_bytes(b"\0\xff")
    (tmp_path / "registry" / "ends.txt").write_bytes("é\r\nb".encode())
    looks = """
root = sys.argv[1]
found = sorted(os.path.relpath(os.path.join(at, name), root) for at, _, names in os.walk(root) for name in names)
text = open(os.path.join(root, "ends.txt"), "rb").read().decode()
say(path=os.path.join(root, "ends.txt"), found=found, text=text, mode=oct(os.stat(root).st_mode)[-3:])
end(1)
"""
    mine = command(tmp_path, "mine", looks)
    mine["argv"].append("{material}")
    body = "yield {'service': 'api', 'failure_mode': 'm', 'text': (material.path / 'ends.txt').read_bytes().decode()}"
    path = declared(tmp_path, [mine, function(tmp_path, "call", body)], fingerprint=FIELDS)
    campaign = begin(path, Home(tmp_path / "home"))
    steps(campaign, 1)
    (tmp_path / "registry" / "ends.txt").write_text("moved on")
    (tmp_path / "registry" / "new.txt").write_text("new")
    steps(campaign, 2)
    manifest = read_manifest(campaign.folder(2))
    assert manifest is not None
    runs = {run.strategy: run for run in manifest.runs}
    [row] = rows(campaign, runs["mine"], 2)
    said = row["attributes"]
    assert said["found"] == ["ends.txt", "services/api.yaml", "services/db.yaml", "services/web.yaml"]
    assert (said["text"], said["mode"], row["path"]) == ("é\r\nb", "500", "ends.txt")
    [row] = rows(campaign, runs["call"], 2)
    assert row["attributes"]["text"] == "é\r\nb"


def test_who_changes_the_copy_of_the_material_did_not_search_it(tmp_path: Path) -> None:
    says = """
os.chmod(sys.argv[1], 0o700)
open(os.path.join(sys.argv[1], "planted.py"), "w").close()
say(); end(1)
"""
    mine = command(tmp_path, "mine", says)
    mine["argv"].append("{material}")
    table = (
        "path = material._database\nos.chmod(path, 0o600)\nopen(path, 'ab').write(b'x')\n"
        "yield {'service': 'api', 'failure_mode': 'm'}"
    )
    _, runs = waved(tmp_path, [mine, function(tmp_path, "call", table)])
    for run in runs.values():
        assert (run.status, run.file) == ("not_run", None)
        assert "was changed while it was searched" in (run.reason or "")


def test_a_copy_is_made_once_and_anew_after_it_was_changed(tmp_path: Path) -> None:
    campaign, _ = waved(tmp_path, [command(tmp_path, "one", "end(0)")])
    planned = read_plan(campaign, 1)
    assert planned is not None
    with Copy(campaign.home.snapshots / planned.snapshot) as copy:
        first = copy.files()
        assert first is not None
        assert copy.files() == first
        copy.check(first)
        (first / "services" / "api.yaml").chmod(0o600)
        with pytest.raises(Exception, match="was changed"):
            copy.check(first)
        second = copy.files()
        assert second is not None
        assert second != first
        copy.check(second)
    assert not first.exists()
    assert not second.exists()


def test_a_strategy_that_needs_a_binary_file_is_not_run_rather_than_blind_to_it(tmp_path: Path) -> None:
    (tmp_path / "registry" / "logo.png").write_bytes(b"\0\xff")
    strategies = [
        command(tmp_path, "needs", "end(0)", needs=["*.png"]),
        command(tmp_path, "does_not", "end(0)", needs=["services/*"]),
    ]
    _, runs = waved(tmp_path, strategies)
    assert runs["needs"].reason == "needs logo.png, which is binary: only text is in the copy of the material"
    assert runs["does_not"].status == "ok"


def test_the_seed_of_a_function_is_that_of_its_place_in_the_order(tmp_path: Path) -> None:
    body = "import random\nyield {'service': 'api', 'failure_mode': 'm', 'n': [rng.random(), random.random()]}"
    campaign, runs = waved(tmp_path, [function(tmp_path, "one", body), function(tmp_path, "two", body)])
    for run in runs.values():
        expected = random.Random(run.seed).random()
        assert rows(campaign, run)[0]["attributes"]["n"] == [expected, expected]


STEPS = """
import sys
from pathlib import Path
from drysweep_pipeline.engine.campaign import load
from drysweep_pipeline.home import Home
from drysweep_pipeline.replay.pipeline import steps
steps(load(Home(Path(sys.argv[1])), "small", sys.argv[2]), 1)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_wave_that_is_killed_or_interrupted_leaves_no_child(
    tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So that the children may say outside their own folder that they are there.
    monkeypatch.setenv("DRYSWEEP_ISOLATION", "none")
    started = tmp_path / "started"
    says = (
        f"import signal; signal.signal(15, signal.SIG_IGN); open({str(started)!r}, 'a').write('x\\n'); time.sleep(600)"
    )
    strategies = [command(tmp_path, "program", says), function(tmp_path, "call", says.replace("; ", "\n") + "\nyield")]
    home = Home(tmp_path / "home")
    campaign = begin(declared(tmp_path, strategies), home)
    argv = [sys.executable, "-c", STEPS, str(home.root), campaign.id]
    running = subprocess.Popen(argv, cwd=Path(__file__).parents[2], stderr=subprocess.DEVNULL)
    until = time.monotonic() + 120
    while (started.read_bytes().count(b"\n") if started.exists() else 0) < 2 and time.monotonic() < until:
        time.sleep(0.05)
    children = psutil.Process(running.pid).children(recursive=True)
    running.send_signal(number)
    assert running.wait(120) != 0
    psutil.wait_procs(children, timeout=60)
    assert len(children) >= 2
    assert [each for each in children if each.is_running() and each.status() != psutil.STATUS_ZOMBIE] == []
    assert not (campaign.folder(1) / "manifest.json").exists()
    assert budget_of(campaign, 1).used.calls == 2, "a call counts as spent that nobody would have made"


def test_a_child_is_given_no_variable_of_ours() -> None:
    assert not [name for name in environment(Path("/"), (), {}) if name.startswith(("DRYSWEEP_", "DAGSTER_"))]
    assert os.environ["PATH"] == environment(Path("/"), (), {})["PATH"]

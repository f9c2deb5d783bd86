"""Outputs that are far too much, read by a process of little memory: cut short, and never taken for silence."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from drysweep_pipeline.children.program import Program, environment
from drysweep_pipeline.home import Home
from drysweep_pipeline.landing import read_manifest
from tests.finders import command, declared
from tests.sweeps import begin, registry

ROOT = Path(__file__).parents[2]
# Engines reserve addresses a gigabyte at a time, whatever they use.
MEGABYTES = 3000
# Runs a wave in a process that has no more address space than that on top of what it begins with.
WAVE = """
import resource, sys
from pathlib import Path
from drysweep_pipeline.engine.campaign import load
from drysweep_pipeline.engine.wave import wave
from drysweep_pipeline.home import Home
from tests.integration.test_floods import of_ours
campaign = load(Home(Path(sys.argv[1])), "small", sys.argv[2])
most = of_ours("VmSize") + (int(sys.argv[3]) << 20)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
list(wave(campaign, 1))
print(of_ours("VmHWM") >> 20)
"""
# What each prints, and what is said of it.
FLOODS = {
    "bytes": ("big = 'x' * 20_000\nwhile True: say(title=big)", "more than 268435456 bytes"),
    "line": (
        "sys.stdout.write('{\"service\": \"')\nwhile True: sys.stdout.write('x' * 1_000_000)",
        "a line of more than 4194304 bytes",
    ),
    "rows": ("for number in range(10**7): say(str(number))", "more than 20000 rows"),
    "deep": ("print('{\"service\": ' + '[' * 100_000)", "more than 64 levels"),
    "closed": ("print('{\"service\": ' + '[' * 100_000 + ']' * 100_000 + '}')", "more than 64 levels"),
}


def of_ours(name: str) -> int:
    """Return a figure of this process, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{name}:"))


def waved_in_little(folder: Path, strategies: list[dict[str, Any]]) -> tuple[dict[str, Any], int]:
    """Run a wave in a process of little memory; return its runs by name, and the most memory that it had, in MB."""
    home = Home(folder / "home")
    campaign = begin(declared(folder, strategies), home)
    argv = [sys.executable, "-c", WAVE, str(home.root), campaign.id, str(MEGABYTES)]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    manifest = read_manifest(campaign.folder(1))
    assert manifest is not None
    for run in manifest.runs:
        if run.file:
            numbers = pq.read_table(campaign.folder(1) / run.file.name, columns=["row"])["row"].to_pylist()
            assert numbers == sorted(numbers), run.strategy
    return {run.strategy: run for run in manifest.runs}, int(done.stdout)


def test_a_process_of_little_memory_cuts_every_flood_short_and_keeps_what_came_before(tmp_path: Path) -> None:
    registry(tmp_path / "registry", {"api": None})
    # Caps are what ends them, on the busiest machine too.
    much = {"max_rows": 20_000, "timeout_s": 600}
    strategies = [command(tmp_path, name, says, **much) for name, (says, _) in FLOODS.items()]
    runs, most = waved_in_little(tmp_path, strategies)
    for name, (_, why) in FLOODS.items():
        assert (runs[name].status, len(runs[name].attempts)) == ("not_run", 1), runs[name].reason
        assert runs[name].attempts[0].status == "truncated"
        assert why in runs[name].reason
    assert runs["rows"].file.rows == 20_000
    assert runs["bytes"].file.rows > 13_000
    assert most < MEGABYTES / 2, most


@pytest.mark.soak
def test_a_gigabyte_of_small_rows_is_cut_short_in_little_memory_too(tmp_path: Path) -> None:
    registry(tmp_path / "registry", {"api": None})
    says = "row = json.dumps({'service': 'x', 'failure_mode': 'm', 'title': 'y' * 200}) + '\\n'\n"
    strategies = [command(tmp_path, "rows", f"{says}while True: sys.stdout.write(row * 1000)", timeout_s=600)]
    runs, most = waved_in_little(tmp_path, strategies)
    assert runs["rows"].attempts[0].status == "truncated"
    assert most < MEGABYTES / 2


def test_a_child_has_the_memory_that_is_declared_and_no_more(tmp_path: Path) -> None:
    registry(tmp_path / "registry", {"api": None})
    says = "held = 'x' * 200_000_000; say(); end(1)"
    strategies = [command(tmp_path, "little", says, memory_mb=100), command(tmp_path, "enough", says, memory_mb=400)]
    runs, _ = waved_in_little(tmp_path, strategies)
    assert "MemoryError" in runs["little"].reason
    assert runs["enough"].status == "ok"


def test_what_a_child_may_leave_behind_is_limited_whatever_it_sets_itself(tmp_path: Path) -> None:
    from tests.unit.test_child import said

    code = """
import json, os, resource
open("file", "w").close()
told = [oct(os.stat("file").st_mode & 0o777)]
told += [resource.getrlimit(what) for what in (resource.RLIMIT_CORE, resource.RLIMIT_FSIZE)]
with open("large", "wb") as large:
    try:
        os.posix_fallocate(large.fileno(), 0, (4 << 30) + 1)
    except OSError as error:
        told.append(error.strerror)
print(json.dumps(told))
"""
    ignoring = "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    [line] = said(Program((sys.executable, "-c", ignoring + code), tmp_path, environment(tmp_path, (), {})))
    assert json.loads(line) == ["0o600", [0, 0], [4 << 30, 4 << 30], "File too large"]

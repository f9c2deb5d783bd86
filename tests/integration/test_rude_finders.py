"""Finders that behave as nobody should: what they do to themselves is theirs, and reaches neither us nor the others."""

import json
import locale
import os
import time
from pathlib import Path

import pytest

from drysweep_pipeline.children.confinement import available
from drysweep_pipeline.engine.wave import wave
from drysweep_pipeline.home import Home
from drysweep_pipeline.reports import FORMATS
from tests.finders import command, declared, function, rows, waved
from tests.sweeps import begin, registry, steps


@pytest.fixture(autouse=True)
def _material(tmp_path: Path) -> None:
    registry(tmp_path / "registry", {"api": None})


CHANGES = """
import locale, os, time
os.chdir("/")
os.umask(0)
os.environ["PATH"] = "/nowhere"
os.environ["RUDE"] = "yes"
os.environ["TZ"] = "Asia/Tokyo"
time.tzset()
locale.setlocale(locale.LC_ALL, "C")
os.nice(1)
"""
LOOKS = """
mask = os.umask(0)
seen = [os.getcwd() == os.environ["TMPDIR"], oct(mask), os.environ.get("RUDE"), os.environ["PATH"], time.tzname[0]]
"""


def test_what_a_finder_does_to_its_own_process_reaches_neither_us_nor_the_others(tmp_path: Path) -> None:
    def ours() -> list[object]:
        mask = os.umask(0o022)
        os.umask(mask)
        return [Path.cwd(), mask, dict(os.environ), time.tzname, locale.setlocale(locale.LC_ALL), os.nice(0)]

    before = ours()
    strategies = [
        command(tmp_path, "rude", CHANGES + "say(); end(1)"),
        function(tmp_path, "rude_too", CHANGES + "time.sleep(0.5)\nyield {'service': 'api', 'failure_mode': 'm'}"),
        command(tmp_path, "other", f"time.sleep(0.5)\n{LOOKS}\nsay(evidence=json.dumps(seen)); end(1)"),
        function(
            tmp_path,
            "other_too",
            f"time.sleep(0.5)\n{LOOKS}\nyield {{'service': 'a', 'failure_mode': 'm', 'evidence': json.dumps(seen)}}",
        ),
    ]
    campaign, runs = waved(tmp_path, strategies)
    assert ours() == before
    assert {name: run.status for name, run in runs.items()} == dict.fromkeys(runs, "ok"), runs
    for name in ("other", "other_too"):
        [row] = rows(campaign, runs[name])
        assert json.loads(row["evidence"]) == [True, "0o77", None, os.environ["PATH"], time.tzname[0]], name


def test_output_on_both_pipes_at_once_while_stdin_is_full_is_no_deadlock(tmp_path: Path) -> None:
    says = """
import threading
def flood():
    for _ in range(3000):
        sys.stderr.write("x" * 1000)
thread = threading.Thread(target=flood)
thread.start()
for number in range(3000):
    say(title="y" * 1000)
asked = sys.stdin.read()
thread.join()
os.close(0)
say(title=str(len(asked) > 2))
end(3001)
"""
    campaign, runs = waved(tmp_path, [command(tmp_path, "both", says, timeout_s=240)])
    assert runs["both"].status == "ok", runs["both"].reason
    assert rows(campaign, runs["both"])[-1]["title"] == "True"


def test_a_finder_that_writes_to_a_pipe_that_it_closed_is_not_run(tmp_path: Path) -> None:
    says = "say(); os.close(1)\ntry:\n    end(1)\nfinally:\n    os._exit(0)"
    campaign, runs = waved(tmp_path, [command(tmp_path, "closed", says)])
    assert runs["closed"].status == "not_run"
    assert "without the mark" in (runs["closed"].reason or "")
    assert len(rows(campaign, runs["closed"])) == 1, "what it said before is kept"


def test_a_finder_that_uses_all_processors_is_ended_at_its_deadline_with_all_that_it_started(tmp_path: Path) -> None:
    says = "for _ in range(4):\n    if os.fork() == 0:\n        break\nwhile True: pass"
    began = time.monotonic()
    _, runs = waved(tmp_path, [command(tmp_path, "spins", says, timeout_s=0.5)])
    assert [attempt.status for attempt in runs["spins"].attempts] == ["timeout", "timeout"]
    assert time.monotonic() - began < 120
    from tests.unit.test_child import left_of

    assert left_of(str(tmp_path / "spins.py")) == []


def test_what_a_finder_says_to_the_terminal_when_it_dies_is_told_without_its_tricks(tmp_path: Path) -> None:
    says = r"sys.exit('\x1b[2Jcleared \x1b]8;;http://evil.example\x07link\x1b]8;;\x07 | <script>')"
    home = Home(tmp_path / "home")
    campaign = begin(declared(tmp_path, [command(tmp_path, "tricks", says)]), home)
    list(wave(campaign, 1))
    steps(campaign, 1)
    text = FORMATS["md"](home, "small", campaign.id)
    assert "cleared" in text
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "<script>" not in text


@pytest.mark.skipif(isinstance(available(), str), reason=f"no Landlock here: {available()}")
def test_who_was_refused_a_file_and_ended_well_all_the_same_is_named_where_a_person_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = tmp_path / "rules.txt"
    rules.write_text("x")
    goes_on = f"""
try:
    open({str(rules)!r}).read()
    say()
    end(1)
except OSError as error:
    print("no rules:", error, file=sys.stderr)
    end(0)
"""
    chatty = command(tmp_path, "chatty", "print('starting up', file=sys.stderr); end(0)")
    swallows = command(tmp_path, "swallows", goes_on)
    campaign = begin(declared(tmp_path, [swallows, chatty]), Home(tmp_path / "home"))
    steps(campaign, 1)
    runs = {run.strategy: run for run in wave(campaign, 1)}
    assert {name: run.status for name, run in runs.items()} == {"chatty": "ok", "swallows": "ok"}
    assert runs["chatty"].complaint == "starting up"
    report = FORMATS["md"](Home(tmp_path / "home"), "small", campaign.id)
    assert "**May not have searched:** swallows said in round 1: no rules:" in report
    assert "chatty said" not in report
    # Not confined, it reads its rules, and there is nothing to say.
    monkeypatch.setenv("DRYSWEEP_ISOLATION", "none")
    again = begin(declared(tmp_path, [swallows, chatty]), Home(tmp_path / "home"), campaign="again")
    steps(again, 1)
    assert "May not have searched" not in FORMATS["md"](Home(tmp_path / "home"), "small", "again")

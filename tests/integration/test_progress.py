"""Progress: a board on a real terminal, a line an event in a pipe, nothing where it is not wanted; JSON stays clean."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from drysweep_pipeline.cli import main
from drysweep_pipeline.cli.watching import Lines, watching
from drysweep_pipeline.engine.tidings import Decided, Judging, StrategyEnded, Teller, Tiding, listening
from drysweep_pipeline.home import Home
from drysweep_pipeline.redaction import Redactor, remember
from tests.sweeps import NO_OWNER, begin, declare, registry, run_to_its_end
from tests.terminals import written_to

# Whole campaigns in processes of their own take most of a minute where the machine has ten other things to do.
pytestmark = pytest.mark.timeout(900)
NOISY = "select cast('x' as integer) as service, 'k' as failure_mode"
SLOW = """
    select 'x' as service, 'k' as failure_mode
    where (select count(*) from range(9999999) a, range(9999999) b) < 0
"""
# What does not end by itself within so many seconds is killed, and has a return code of its own for that.
PATIENCE_SECONDS = 600
HIDE_CURSOR, SHOW_CURSOR = b"\x1b[?25l", b"\x1b[?25h"


@dataclass(frozen=True, slots=True)
class Session:
    """What a command wrote on a terminal of its own, how it ended, and whether the terminal was left as it was."""

    code: int
    written: bytes
    as_before: bool

    @property
    def text(self) -> str:
        return self.written.decode()

    @property
    def stays(self) -> list[str]:
        """The lines without what steers the terminal."""
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", self.text).splitlines()


def on_a_terminal(
    arguments: list[str],
    then: Callable[[bytes], bytes | None] | None = None,
    program: tuple[str, ...] = ("-m", "drysweep_pipeline.cli"),
) -> Session:
    """Run drysweep on a pseudo-terminal; ``then`` says what to type, once, in view of what was written so far."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    before = termios.tcgetattr(theirs)
    command = [sys.executable, *program, *arguments]
    written, typed = b"", False
    with subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm-256color"},
        start_new_session=True,
        # So that what is typed interrupts it, as in a terminal window.
        preexec_fn=lambda: fcntl.ioctl(theirs, termios.TIOCSCTTY, 0),
    ) as process:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            if select.select([ours], [], [], 0.1)[0]:
                written += os.read(ours, 65536)
            elif process.poll() is not None:
                break
            if not typed and then is not None and (keys := then(written)) is not None:
                os.write(ours, keys)
                typed = True
        process.kill()
    left = termios.tcgetattr(theirs) == before
    os.close(theirs)
    written += written_to(ours)
    os.close(ours)
    return Session(process.returncode, written, left)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small registry and a sweep over it."""
    folder = tmp_path_factory.mktemp("progress")
    registry(folder / "registry", {"api": None, "web": "team", "db": None})
    declare(folder, {"labels": NO_OWNER, "names": NO_OWNER})
    return folder


# Draws the board at everything that it hears, and not only now and then: a round may be over before it is drawn.
DRAWN_AT_ONCE = """
import sys
from drysweep_pipeline.cli import main
from drysweep_pipeline.cli.board import Board

real = Board.__call__
def drawn(self, tiding):
    real(self, tiding)
    self._live.refresh()
Board.__call__ = drawn
sys.exit(main())
"""


@pytest.fixture(scope="module")
def shown(place: Path) -> Session:
    """A campaign as it is shown on a terminal."""
    return on_a_terminal(
        ["run", str(place / "sweep.yaml"), "--home", str(place / "home")], program=("-c", DRAWN_AT_ONCE)
    )


def test_a_terminal_has_a_line_a_strategy_that_changes_in_place(shown: Session) -> None:
    assert shown.code == 0, shown.text[-2000:]
    assert shown.written.startswith(HIDE_CURSOR)
    for status in ("searches, 0:", "labels  ", "names   ", "ran, 2 rows, "):
        assert status in re.sub(r"\x1b\[[0-9;]*m", "", shown.text), status
    # The lines of the board are written over, not below each other.
    assert "\x1b[2K\x1b[1A" in shown.text


def test_decided_rounds_stay_above_the_board_and_the_verdict_is_last(shown: Session) -> None:
    rounds = [line for line in shown.stays if re.match(r"^.*round \d: \d+ fresh; 2 of 2 ran; ", line)]
    assert len(rounds) == 3
    assert "2 fresh; 2 of 2 ran; quiet 0 of 2, 2 of 200 calls" in rounds[0]
    assert "0 fresh; 2 of 2 ran; converged, quiet 2 of 2, 6 of 200 calls" in rounds[2]
    assert shown.stays[-1].startswith("CONVERGED after 3 rounds (K=2): 2 findings seen")


def test_the_terminal_is_left_as_it_was(shown: Session) -> None:
    assert shown.as_before
    assert shown.written.rindex(SHOW_CURSOR) > shown.written.rindex(HIDE_CURSOR)
    # Nothing of the board is left below the last thing that it showed.
    assert b"\x1b[?25" not in shown.written[shown.written.rindex(SHOW_CURSOR) + len(SHOW_CURSOR) :]


def test_what_is_typed_interrupts_a_campaign_and_it_says_how_it_goes_on(tmp_path: Path) -> None:
    registry(tmp_path / "registry", {"api": None})
    path = declare(tmp_path, {"labels": NO_OWNER, "slow": SLOW}, slow={"timeout_s": 1200})
    arguments = ["run", str(path), "--home", str(tmp_path / "home"), "--campaign", "mine"]
    session = on_a_terminal(arguments, lambda written: b"\x03" if b"running 0:" in written else None)
    # The query that was under way is not waited for, and not asked once more.
    assert session.code == 130, session.text[-2000:]
    assert session.as_before
    assert session.written.rindex(SHOW_CURSOR) > session.written.rindex(HIDE_CURSOR)
    help = f"`drysweep resume small/mine --home {tmp_path / 'home'}` goes on from the last whole round"
    assert session.stays[-1] == f"interrupted; {help}"
    assert "Traceback" not in session.text


# Has Dagster wait, once, until an interruption has come, which it holds back meanwhile.
UNTIL_TYPED = """
import functools, sys, time
from dagster._utils.interrupts import check_captured_interrupt
from drysweep_pipeline.cli import main

@functools.cache
def until_typed():
    while not check_captured_interrupt():
        time.sleep(0.05)
"""
# Says when Dagster starts a run, and has it take until somebody has typed.
SLOWLY_STARTED = f"""{UNTIL_TYPED}
from dagster._core.execution.context_creation_job import ExecutionContextManager

real = ExecutionContextManager.prepare_context
def slow(self):
    print("PREPARING", file=sys.stderr, flush=True)
    until_typed()
    yield from real(self)
ExecutionContextManager.prepare_context = slow
sys.exit(main())
"""


def test_what_is_typed_while_a_run_is_started_interrupts_before_anything_is_asked(place: Path) -> None:
    home = place / "started"
    arguments = ["run", str(place / "sweep.yaml"), "--home", str(home), "--campaign", "mine"]
    session = on_a_terminal(
        arguments, lambda written: b"\x03" if b"PREPARING" in written else None, ("-c", SLOWLY_STARTED)
    )
    assert session.code == 130, session.text[-2000:]
    # Dagster prepares twice for one run.
    assert session.text.count("PREPARING") <= 2
    assert "round 1: " not in session.text
    assert session.stays[-1].startswith("interrupted; `drysweep resume small/mine")
    assert list(Home(home).sweep("small").landing("mine").glob("r*/calls.jsonl")) == []


# Says when Dagster stores something, and has it take until somebody has typed where that is what a strategy found.
# The first thing that is stored of a round is its snapshot.
SLOWLY_STORED = f"""{UNTIL_TYPED}
from dagster._core.execution.plan import compute

real, stored = compute._validate_event, []
def slow(event, *arguments):
    print("STORING", file=sys.stderr, flush=True)
    stored.append(event)
    if len(stored) == 2:
        until_typed()
    return real(event, *arguments)
compute._validate_event = slow
sys.exit(main())
"""


def test_what_is_typed_while_an_answer_is_stored_ends_the_queries_that_are_under_way(tmp_path: Path) -> None:
    registry(tmp_path / "registry", {"api": None})
    path = declare(tmp_path, {"labels": NO_OWNER, "slow": SLOW}, slow={"timeout_s": 1200})
    arguments = ["run", str(path), "--home", str(tmp_path / "home"), "--campaign", "mine"]
    session = on_a_terminal(
        arguments, lambda written: b"\x03" if written.count(b"STORING") == 2 else None, ("-c", SLOWLY_STORED)
    )
    assert session.code == 130, session.text[-2000:]
    assert session.written.count(b"STORING") == 2
    assert session.stays[-1].startswith("interrupted; `drysweep resume small/mine")


def test_a_campaign_runs_to_its_outcome_where_nobody_can_be_told_anything(place: Path) -> None:
    home = place / "closed"
    command = [sys.executable, "-m", "drysweep_pipeline.cli", "run", str(place / "sweep.yaml"), "--home", str(home)]
    command += ["--rounds", "1"]
    closed = subprocess.run(
        ["sh", "-c", 'exec "$@" >&- 2>&- <&-', "sh", *command], check=False, timeout=PATIENCE_SECONDS
    )
    assert closed.returncode == 3
    assert (home / "reports" / "small").is_dir()
    # Nothing that was opened got the number of a closed stream, and with it what was meant for that.
    assert main(["verify", "--home", str(home)]) == 0


def test_a_pipe_has_a_line_an_event_with_its_time_and_stdout_is_json_alone(
    place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    home = str(place / "piped")
    given = ["run", str(place / "sweep.yaml"), "--home", home, "--campaign", "mine", "--rounds", "1", "--json"]
    assert main(given) == 3
    printed = capfd.readouterr()
    assert json.loads(printed.out)["outcome"] == "budget_exceeded"
    assert "\x1b" not in printed.err
    *lines, verdict = printed.err.splitlines()
    assert verdict.startswith("NOT CONVERGED")
    assert all(re.match(r"\d\d:\d\d:\d\dZ small/mine round \d: ", line) for line in lines), lines
    first = [line.partition(": ")[2] for line in lines if " round 1: " in line]
    assert first[:2] == ["reads the material", "2 strategies search: labels, names"]
    assert sorted(re.sub(r"[\d.]+ s", "T s", line) for line in first[2:4]) == [
        "labels ran, 2 rows, T s",
        "names ran, 2 rows, T s",
    ]
    decided = "decided: budget_exceeded (rounds), quiet 0 of 2, 2 of 200 calls"
    assert first[4:] == ["2 fresh, of 2 distinct findings", decided]


def test_who_wants_quiet_has_it(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    home = str(place / "quiet")
    # A ceiling of one round: what it comes to is not what this is about.
    assert main(["run", str(place / "sweep.yaml"), "--home", home, "--rounds", "1", "--json", "-q"]) == 3
    assert [line.split(",")[0] for line in capfd.readouterr().err.splitlines()] == ["NOT CONVERGED"]


@pytest.mark.parametrize("environment", [{"TERM": "dumb"}, {"NO_COLOR": "1"}])
def test_dumb_terminals_have_lines_and_who_wants_no_colour_has_none(
    place: Path, environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"TERM": "xterm-256color", **environment}.items():
        monkeypatch.setenv(name, value)
    ours, theirs = pty.openpty()
    # It is read meanwhile: a terminal that nobody reads takes so much and no more, and holds the writer up.
    with ThreadPoolExecutor(1) as reading, open(theirs, "w") as terminal:  # noqa: PTH123 - it has no path
        read = reading.submit(written_to, ours)
        monkeypatch.setattr("sys.stderr", terminal)
        with watching(quiet=False):
            run_to_its_end(begin(place / "sweep.yaml", Home(tmp_path)))
        monkeypatch.undo()
    written = read.result().decode()
    os.close(ours)
    if "TERM" in environment:
        assert "\x1b" not in written
        assert "2 strategies search: labels, names\r\n" in written
    else:
        assert re.search(r"\x1b\[[0-9;]*3[0-9]", written) is None
        assert HIDE_CURSOR.decode() in written


def told_of(path: Path, home: Path, listener: Callable[[Tiding], None]) -> Any:
    with listening(listener):
        return run_to_its_end(begin(path, Home(home)))


def test_whoever_listens_hears_of_failures_with_secrets_masked_and_nothing_steers_the_terminal(tmp_path: Path) -> None:
    registry(tmp_path / "registry", {"api": None})
    secret = "Zx81mQpR47LtUv93WnYc"
    remember("this test", Redactor([secret], mode="mask"))
    path = declare(tmp_path, {"labels": NO_OWNER, "noisy": NOISY})
    heard: list[Tiding] = []
    told_of(path, tmp_path / "home", heard.append)
    failed = [each for each in heard if isinstance(each, StrategyEnded) and not each.ran]
    assert {each.strategy for each in failed} == {"noisy"}
    assert all(each.reason for each in failed)
    assert [(each.outcome, each.reason) for each in heard if isinstance(each, Decided)][-1] == ("failed", "not_run")
    with (tmp_path / "log").open("w+") as log:
        Lines(log)(StrategyEnded("small/a", 1, "noisy", False, 0, 0.1, f"\x1b[2J{secret}\nnew line"))
        log.seek(0)
        [line] = log.read().splitlines()
    assert "\x1b" not in line
    assert secret not in line


def test_a_listener_that_fails_costs_the_search_nothing(tmp_path: Path) -> None:
    registry(tmp_path / "registry", {"api": None})
    heard: list[Tiding] = []

    def fails(tiding: Tiding) -> None:
        heard.append(tiding)
        raise OSError("the terminal is gone")

    campaign = told_of(declare(tmp_path, {"labels": NO_OWNER}), tmp_path / "home", fails)
    assert json.loads(campaign.state_path.read_text())["outcome"] == "converged"
    assert len(heard) == 1


def test_a_log_is_told_now_and_then_how_far_a_slow_judge_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 1.0, 2.0, 11.0, 12.0])
    monkeypatch.setattr("drysweep_pipeline.cli.watching.time.monotonic", lambda: next(clock))
    with (tmp_path / "log").open("w+") as log:
        lines = Lines(log)
        for answered in range(5):
            lines(Judging("small/a", 1, answered, 9))
        log.seek(0)
        assert [line.partition(": ")[2] for line in log.read().splitlines()] == [
            "the judge is asked 9 times",
            "the judge has answered 3 of 9",
        ]


def test_nobody_is_told_where_nobody_listens() -> None:
    # Were it made, it would be refused for lacking all that it is about.
    Teller("small/a", 1)(StrategyEnded)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

"""Real children that misbehave: whatever they do, they end in time, what they said is known, and nothing is left."""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from drysweep_pipeline.children import child as children
from drysweep_pipeline.children import leash
from drysweep_pipeline.children.child import Child, lines
from drysweep_pipeline.children.program import Program, environment
from drysweep_pipeline.children.underway import Children
from drysweep_pipeline.errors import FinderError

# Less than what sleeps here would take, and enough for what ends at once, however busy the machine is.
SOON = 45.0


def minute(name: str) -> str:
    """Return a minute and some, in seconds, that nothing else sleeps for, not even the same test in another process."""
    return f"61.{name}{os.getpid():07}"


def program(folder: Path, code: str, **caps: int) -> Program:
    return Program((sys.executable, "-c", code), folder, environment(folder, (), {}), **caps)


def shell(folder: Path, script: str) -> Program:
    return Program(("/bin/sh", "-c", script), folder, environment(folder, (), {}))


def said(asked: Program, given: bytes = b"", seconds: float = 200) -> list[bytes]:
    with Child(asked) as child:
        return list(lines(child, given, seconds))


@contextmanager
def quickly(seconds: float = SOON) -> Iterator[None]:
    began = time.monotonic()
    yield
    assert time.monotonic() - began < seconds


def left_of(marker: str) -> list[int]:
    """Return the processes whose command line holds a text, zombies not counted, once the killed had time to go."""
    until = time.monotonic() + SOON
    while (found := there_now(marker)) and time.monotonic() < until:
        time.sleep(0.05)
    return found


def there_now(marker: str) -> list[int]:
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        if marker in " ".join(process.info["cmdline"] or ()) and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process.pid)
    return found


def test_a_child_is_given_its_input_and_its_lines_are_read(tmp_path: Path) -> None:
    echo = program(tmp_path, "import sys; print(sys.stdin.read().upper()); print('end', end='')")
    assert said(echo, b"text") == [b"TEXT", b"end"]


def test_a_large_input_and_a_large_output_pass_each_other(tmp_path: Path) -> None:
    given = b"".join(b"%d\n" % number for number in range(400_000))
    assert said(shell(tmp_path, "cat"), given) == given.splitlines()


def test_a_child_that_reads_nothing_is_as_good_as_another(tmp_path: Path) -> None:
    assert said(shell(tmp_path, "echo yes"), b"x" * 10_000_000) == [b"yes"]


def test_arguments_are_passed_as_they_are_and_no_shell_reads_them(tmp_path: Path) -> None:
    argv = (sys.executable, "-c", "import sys, json; print(json.dumps(sys.argv[1:]))", "$HOME; *", "", "a b")
    [line] = said(Program(argv, tmp_path, environment(tmp_path, (), {})))
    assert json.loads(line) == ["$HOME; *", "", "a b"]


def test_a_child_knows_what_it_was_told_and_nothing_else_of_our_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANG", "C.UTF-8")
    for name in ("SECRET", "DRYSWEEP_HOME", "DAGSTER_HOME", "PYTHONPATH", "WANTED"):
        monkeypatch.setenv(name, "of ours")
    given = environment(tmp_path, ["WANTED", "NOT_SET"], {"DRYSWEEP_ROUND": "3"})
    asked = Program(
        (sys.executable, "-I", "-c", "import os, json; print(json.dumps(dict(os.environ)))"), tmp_path, given
    )
    [line] = said(asked)
    known = {name: value for name, value in json.loads(line).items() if not name.startswith("LC_")}
    known.pop("TZ", None)
    known.pop("LANGUAGE", None)
    scratch = str(tmp_path)
    assert known.pop("PATH") == os.environ["PATH"]
    assert known == {"LANG": "C.UTF-8", "HOME": scratch, "TMPDIR": scratch, "WANTED": "of ours", "DRYSWEEP_ROUND": "3"}


def test_a_child_inherits_no_file_that_we_have_open_and_no_ignored_signal(tmp_path: Path) -> None:
    with (tmp_path / "open").open("w") as held:
        os.set_inheritable(held.fileno(), True)
        out = b"\n".join(said(shell(tmp_path, "ls /proc/self/fd; grep SigIgn /proc/self/status"))).decode()
    handles, ignored = out.split("SigIgn:")
    assert set(handles.split()) <= {"0", "1", "2", "3"}, "three of its own, and the folder it lists"
    assert int(ignored.strip(), 16) & (1 << (signal.SIGPIPE - 1)) == 0


def test_a_child_that_sleeps_is_ended_at_its_deadline(tmp_path: Path) -> None:
    with quickly(), pytest.raises(FinderError, match=r"timeout: still running after 0.3 s") as raised:
        said(shell(tmp_path, f"sleep {minute('01')}"), seconds=0.3)
    assert raised.value.status == "timeout"
    assert left_of(f"sleep {minute('01')}") == []


def test_a_child_that_ignores_being_told_to_end_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "GRACE_SECONDS", 0.2)
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); print('deaf', flush=True); time.sleep(MINUTE)"
    deaf = program(tmp_path, code.replace("MINUTE", minute("02")))
    with quickly(), Child(deaf) as child:
        assert child.line(time.monotonic() + SOON, SOON) == b"deaf"
        child.close(0.2)
    assert left_of(minute("02")) == []


def test_a_child_that_is_told_to_end_may_clean_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "GRACE_SECONDS", 200.0)
    script = "trap 'echo gone > cleaned; exit 0' TERM; echo ready; while :; do sleep 0.05; done"
    with Child(shell(tmp_path, script)) as child:
        assert child.line(time.monotonic() + SOON, SOON) == b"ready"
    assert (tmp_path / "cleaned").read_text() == "gone\n"


def test_a_grandchild_that_holds_the_output_open_is_not_waited_for_and_does_not_stay(tmp_path: Path) -> None:
    with quickly():
        assert said(shell(tmp_path, f"sleep {minute('03')} & echo answer")) == [b"answer"]
    assert left_of(f"sleep {minute('03')}") == []


def test_a_grandchild_that_prints_for_ever_cannot_hold_us_up(tmp_path: Path) -> None:
    script = f"(while :; do echo noise {minute('04')}; sleep 0.01; done) & echo answer"
    with quickly():
        out = said(shell(tmp_path, script))
    assert b"answer" in out
    assert left_of(minute("04")) == []


def test_a_grandchild_that_left_the_session_cannot_hold_us_up_either(tmp_path: Path) -> None:
    code = "import os, time\nif os.fork() == 0:\n os.setsid(); time.sleep(600)\nelse:\n print('answer')"
    with quickly():
        assert said(program(tmp_path, code)) == [b"answer"]


def test_nothing_that_a_child_leaves_behind_lives_on_however_far_it_went(tmp_path: Path) -> None:
    away = "import os, sys, time\nif os.fork() == 0:\n os.setsid()\n if os.fork() == 0:\n"
    away += "  [os.close(n) for n in (0, 1, 2)]\n  os.execve('/bin/sleep', ['sleep', 'MINUTE'], {})\n os._exit(0)\n"
    first, second = (away.replace("MINUTE", minute(name)) for name in ("11", "12"))
    with quickly():
        assert said(program(tmp_path, first + "print('answer')")) == [b"answer"]
        assert there_now(minute("11")) == []
        with pytest.raises(FinderError, match="timeout"):
            said(program(tmp_path, second + "time.sleep(60)"), seconds=0.5)
    assert there_now(minute("12")) == []


def test_children_are_found_where_the_kernel_lists_none(tmp_path: Path) -> None:
    with Child(shell(tmp_path, "echo $PPID $$; exec sleep 61")) as child:
        told = child.line(time.monotonic() + SOON, SOON) or b""
        minding, own = map(int, told.split())
        assert (leash._parent_of(own), leash._parent_of(minding)) == (minding, os.getpid())
    assert leash._parent_of(own) == -1


def test_nothing_lives_on_whenever_a_child_is_killed(tmp_path: Path) -> None:
    script = "setsid sh -c 'setsid sleep T & sleep T' & sleep T & echo up; exec sleep T".replace("T", minute("15"))
    for number in range(12):
        with Child(shell(tmp_path, script)) as child:
            if number % 2:
                child.line(time.monotonic() + SOON, SOON)
            time.sleep(0.004 * number)
            child.close(0)
    assert there_now(minute("15")) == []


def minded_as(monkeypatch: pytest.MonkeyPatch, folder: Path, old: str, new: str) -> None:
    """Have children minded by a program that is the same but for one of its limits."""
    minding = Path(leash.__file__).read_text(encoding="utf-8")
    assert minding.count(old) == 1
    (folder / "leash.py").write_text(minding.replace(old, new))
    monkeypatch.setattr(children, "_LEASH", folder / "leash.py")


def test_a_machine_that_stands_still_while_a_child_is_killed_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # To who minds it, the time there is for that is over before it begins.
    minded_as(monkeypatch, tmp_path, "_KILLING_SECONDS = 5.0", "_KILLING_SECONDS = 0.0")
    script = "setsid sh -c 'echo up; exec sleep T' & exec sleep T".replace("T", minute("16"))
    with Child(shell(tmp_path, script)) as child:
        child.line(time.monotonic() + SOON, SOON)
        child.close(0)
    assert there_now(minute("16")) == []


def test_what_a_child_started_may_still_say_its_last_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Who minds it waits as long as the slowest machine may take.
    minded_as(monkeypatch, tmp_path, "_LINGER_SECONDS = 0.3", "_LINGER_SECONDS = 200.0")
    assert said(shell(tmp_path, "(sleep 0.05; echo last) & echo first")) == [b"first", b"last"]


def test_a_child_that_stops_who_minds_it_is_ended_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "_MINDED_SECONDS", 0.3)
    with quickly(), pytest.raises(FinderError, match="timeout"):
        said(shell(tmp_path, f"kill -STOP $PPID; exec sleep {minute('13')}"), seconds=0.3)
    assert left_of(f"sleep {minute('13')}") == []


def test_children_of_a_child_that_hangs_end_with_it(tmp_path: Path) -> None:
    with quickly(), pytest.raises(FinderError, match="timeout"):
        said(shell(tmp_path, f"sleep {minute('05')} & sleep {minute('05')} & wait"), seconds=0.3)
    assert left_of(f"sleep {minute('05')}") == []


def test_a_child_that_prints_without_end_is_cut_short(tmp_path: Path) -> None:
    endless = program(tmp_path, "while True: print('x' * 1000)", max_bytes=100_000)
    with quickly(), pytest.raises(FinderError, match="truncated: more than 100000 bytes") as raised:
        said(endless)
    assert raised.value.status == "truncated"


def test_a_line_without_end_is_cut_short(tmp_path: Path) -> None:
    endless = program(tmp_path, "while True: print('x' * 1000, end='')", max_line_bytes=50_000)
    with quickly(), pytest.raises(FinderError, match="truncated: a line of more than 50000 bytes"):
        said(endless)


def test_a_child_that_complains_without_end_costs_no_memory_and_is_quoted_by_its_end(tmp_path: Path) -> None:
    code = "import sys\nfor n in range(30_000): print('noise', n, file=sys.stderr)\nsys.exit('it broke')"
    with pytest.raises(FinderError, match=r"exited with 1: .*it broke") as raised:
        said(program(tmp_path, code))
    assert len(str(raised.value)) < 600


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo half; exit 3", "exited with 3"),
        ("echo why >&2; exit 3", "exited with 3: why"),
        ("kill -SEGV $$", "died of SIGSEGV"),
        ("kill -KILL $$", "died of SIGKILL"),
        ("kill -40 $$", "died of signal 40"),
    ],
)
def test_how_a_child_ended_is_told_after_its_lines(tmp_path: Path, script: str, reason: str) -> None:
    with pytest.raises(FinderError, match=reason) as raised:
        said(shell(tmp_path, script))
    assert raised.value.status == "failed"


def test_output_that_is_no_text_is_passed_on_as_it_is(tmp_path: Path) -> None:
    assert said(program(tmp_path, "import os; os.write(1, b'\\xff\\x00\\n')")) == [b"\xff\x00"]


def test_what_cannot_be_started_is_named(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no program")
    (tmp_path / "binary").write_bytes(b"\x7fELF nonsense")
    (tmp_path / "binary").chmod(0o700)
    known = environment(tmp_path, (), {})
    for name, why in [
        ("no-such-program", "No such file"),
        ("./text", "Permission denied"),
        ("./binary", "Exec format"),
    ]:
        with pytest.raises(FinderError, match=f"{name} cannot be started: {why}"):
            said(Program((name,), tmp_path, known))
    with pytest.raises(FinderError, match="cannot be started"):
        said(Program(("true",), tmp_path / "nowhere", known))
    with pytest.raises(FinderError, match="cannot be started"):
        said(Program(("true", "a\0b"), tmp_path, known))


def test_one_who_is_asked_again_and_again_answers_line_by_line(tmp_path: Path) -> None:
    code = "import sys\nfor line in sys.stdin: print(int(line) * 2, flush=True)"
    with Child(program(tmp_path, code)) as child:
        for number in (1, 21, 4):
            child.send(b"%d\n" % number)
            assert child.line(time.monotonic() + SOON, SOON) == b"%d" % (2 * number)
        child.leave()


def test_an_interruption_kills_the_child_at_once(tmp_path: Path) -> None:
    deaf = shell(tmp_path, f"trap '' TERM; echo deaf; sleep {minute('06')}")
    # A moment after it has spoken, when the next line is waited for.
    interrupted = threading.Timer(0.2, signal.pthread_kill, [threading.get_ident(), signal.SIGINT])

    def heard(child: Child) -> None:
        for _ in lines(child, b"", 200):
            interrupted.start()

    with quickly(), pytest.raises(KeyboardInterrupt), Child(deaf) as child:
        heard(child)
    assert left_of(minute("06")) == []


def test_leaving_children_kills_all_that_still_run_and_starts_no_more(tmp_path: Path) -> None:
    ended: list[str] = []
    up = threading.Barrier(4)

    def wait(group: Children) -> None:
        try:
            with group.started(shell(tmp_path, f"trap '' TERM; echo up; sleep {minute('07')}")) as child:
                for _ in lines(child, b"", 200):
                    up.wait()
        except FinderError as error:
            ended.append(str(error))

    with quickly():
        with Children() as group:
            threads = [threading.Thread(target=wait, args=(group,)) for _ in range(3)]
            for thread in threads:
                thread.start()
            up.wait(200)
        for thread in threads:
            thread.join()
    assert ended == ["died of SIGKILL"] * 3
    assert left_of(minute("07")) == []
    with pytest.raises(FinderError, match="interrupted"), group.started(shell(tmp_path, "true")):
        pass


def test_a_child_dies_with_the_process_that_started_it_and_so_does_what_it_started(tmp_path: Path) -> None:
    code = f"""
import os, sys, time
from pathlib import Path
from drysweep_pipeline.children.child import Child
from drysweep_pipeline.children.program import Program
script = "setsid sleep {minute("08")} & echo up; exec sleep {minute("08")}"
child = Child(Program(("/bin/sh", "-c", script), Path({str(tmp_path)!r}), {{}}))
child.line(time.monotonic() + {SOON}, {SOON})
os.kill(os.getpid(), 9)
"""
    with pytest.raises(FinderError, match="died of SIGKILL"):
        said(Program((sys.executable, "-c", code), Path.cwd(), {**environment(tmp_path, (), {}), "PYTHONPATH": "."}))
    assert left_of(minute("08")) == []


def test_many_children_leave_no_file_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for _ in range(10):
        said(shell(tmp_path, "echo x"))
    assert len(os.listdir("/proc/self/fd")) <= before  # noqa: PTH208

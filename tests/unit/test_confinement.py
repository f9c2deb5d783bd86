"""Confined children, singly: what each may reach, what is opened for it, and what is left out of that."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from drysweep_pipeline.children import confinement, installation
from drysweep_pipeline.children.child import Child, lines
from drysweep_pipeline.children.confinement import Confinement, around, available, isolation_of, places_of
from drysweep_pipeline.children.program import Program, environment, scratch_folder
from drysweep_pipeline.errors import FinderError, Refused
from drysweep_pipeline.finders import FINDERS
from drysweep_pipeline.programs import named
from drysweep_pipeline.values import Isolation

needs_landlock = pytest.mark.skipif(isinstance(available(), str), reason=f"no Landlock here: {available()}")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="root alone has what is given up here")
BEGIN = """
import json, os, sys
def may(act):
    try:
        act()
    except OSError as error:
        return error.strerror
    return "yes"
def tell(**what):
    print(json.dumps(what))
"""


def asked(scratch: Path, code: str, *words: str, **more: tuple[Path, ...]) -> dict[str, object]:
    """Run code in a confined child and return what it told."""
    places = Confinement((scratch,), more.get("given", ()), installation.interpreter_places())
    argv = (sys.executable, "-c", BEGIN + code, *words)
    with Child(Program(argv, scratch, environment(scratch, (), {}), confinement=places)) as child:
        [line] = lines(child, b"", 60)
    told: dict[str, object] = json.loads(line)
    return told


@needs_landlock
def test_a_child_writes_into_its_own_folder_and_reads_what_it_was_given_and_no_more(tmp_path: Path) -> None:
    own, given, other = tmp_path / "own", tmp_path / "given", tmp_path / "other"
    for folder in (own, given, other):
        folder.mkdir()
        (folder / "file").write_text("x")
    code = """
own, given, other = sys.argv[1:]
os.mkdir(own + "/deep")
os.rename(own + "/file", own + "/deep/file")
os.symlink(other + "/file", own + "/link")
os.symlink(given, own + "/way")
tell(
    own=may(lambda: open(own + "/deep/file", "a")),
    given=may(lambda: open(given + "/file")),
    by_a_link=may(lambda: open(own + "/way/file")),
    write_given=may(lambda: open(given + "/file", "a")),
    add_to_given=may(lambda: open(given + "/new", "w")),
    remove_given=may(lambda: os.unlink(given + "/file")),
    truncate_given=may(lambda: os.truncate(given + "/file", 0)),
    move_given=may(lambda: os.rename(given + "/file", own + "/file")),
    link_given=may(lambda: os.link(given + "/file", own + "/file")),
    read_other=may(lambda: open(other + "/file")),
    read_other_by_a_link=may(lambda: open(own + "/link")),
    list_other=may(lambda: os.listdir(other)),
    list_temporary=may(lambda: os.listdir("/tmp")),
    shared_memory=may(lambda: open("/dev/shm/drysweep", "w")),
    null=may(lambda: open("/dev/null", "w")),
)
"""
    told = asked(own, code, str(own), str(given), str(other), given=(given,))
    allowed = ("own", "given", "by_a_link", "null")
    assert {name: said for name, said in told.items() if name in allowed} == dict.fromkeys(allowed, "yes")
    refused = {name: said for name, said in told.items() if name not in allowed}
    assert refused.pop("link_given") in ("Permission denied", "Invalid cross-device link")
    assert set(refused.values()) <= {"Permission denied", "Invalid cross-device link"}, refused
    assert (given / "file").read_text() == "x"


@needs_landlock
def test_a_child_cannot_look_into_or_signal_who_started_it_nor_talk_to_it_unseen(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"\0drysweep-test-{os.getpid()}")
        listening.listen()
        code = """
import socket
us, leash = f"/proc/{sys.argv[2]}/", f"/proc/{os.getppid()}/"
talk = lambda: socket.socket(socket.AF_UNIX).connect(chr(0) + sys.argv[1])
tell(
    **{name: may(lambda: open(us + name, "rb").read(1)) for name in ("environ", "maps", "mem", "auxv")},
    fd=may(lambda: os.readlink(us + "fd/0")), cwd=may(lambda: os.listdir(us + "cwd")),
    root=may(lambda: os.listdir(us + "root/tmp")), signal=may(lambda: os.kill(int(sys.argv[2]), 0)), talk=may(talk),
    leash=may(lambda: open(leash + "environ", "rb").read(1)), stop=may(lambda: os.kill(os.getppid(), 0)),
    own=may(lambda: open("/proc/self/environ", "rb").read(1)), own_child=may(lambda: os.kill(os.getpid(), 0)),
)
"""
        told = asked(tmp_path, code, f"drysweep-test-{os.getpid()}", str(os.getpid()))
    assert (told.pop("own"), told.pop("own_child")) == ("yes", "yes")
    if int(available()) < 6:
        told.pop("signal"), told.pop("talk"), told.pop("stop")
    assert set(told.values()) <= {"Permission denied", "Operation not permitted"}, told


@needs_landlock
@as_root
def test_root_gives_up_what_confinement_is_no_wall_against(tmp_path: Path) -> None:
    code = """
status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
make = lambda: os.mknod("disk", 0o660 | 0o060000, os.makedev(1, 0))
bound, held = (int(status[name], 16) for name in ("CapBnd", "CapEff"))
tell(device=may(make), bound=bound, held=held, new=status["NoNewPrivs"].strip())
"""
    told = asked(tmp_path, code)
    assert told["device"] in ("Operation not permitted", "Permission denied")
    admin, trace, by_handle, monitor = 1 << 21, 1 << 19, 1 << 2, 1 << 38
    for held in (told["bound"], told["held"]):
        assert isinstance(held, int)
        assert held & (admin | trace | by_handle | monitor) == 0
    assert told["new"] == "1"


@needs_landlock
def test_the_rules_are_no_open_file_of_the_program(tmp_path: Path) -> None:
    told = asked(tmp_path, "tell(open=sorted(os.listdir('/proc/self/fd')))")
    assert told["open"] == ["0", "1", "2", "3"], "three of its own, and the folder it lists"


def test_who_cannot_take_its_rules_on_is_not_started(tmp_path: Path) -> None:
    leash = Path(confinement.__file__).with_name("leash.py")
    with (tmp_path / "no rules").open("w") as handle:
        argv = [sys.executable, "-I", "-S", str(leash), str(os.getpid()), str(handle.fileno()), "-1", "0"]
        argv += ["echo", "started"]
        done = subprocess.run(argv, capture_output=True, text=True, pass_fds=(handle.fileno(),))
    assert (done.returncode, done.stdout) == (127, "")
    assert "echo cannot be started: " in done.stderr


@needs_landlock
def test_a_confined_child_dies_with_the_process_that_started_it(tmp_path: Path) -> None:
    # A minute and some, for which nothing else sleeps.
    minute = f"61.09{os.getpid():07}"
    code = f"""
import os, sys, time
from pathlib import Path
from drysweep_pipeline.children.child import Child
from drysweep_pipeline.children.program import Program, environment
from drysweep_pipeline.children.confinement import Confinement
folder = Path({str(tmp_path)!r})
program = Program(("/bin/sh", "-c", "echo up; exec sleep {minute}"), folder, environment(folder, (), {{}}),
                  confinement=Confinement((folder,)))
child = Child(program)
child.line(time.monotonic() + 200, 200)
os.kill(os.getpid(), 9)
"""
    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2])
    until = time.monotonic() + 60
    marked = ["sleep", minute]
    while marked in [each.info["cmdline"] for each in psutil.process_iter(["cmdline"])] and time.monotonic() < until:
        time.sleep(0.05)
    assert marked not in [each.info["cmdline"] for each in psutil.process_iter(["cmdline"])]


@needs_landlock
def test_a_program_in_a_place_of_its_own_runs_with_what_it_is_installed_with(tmp_path: Path) -> None:
    tools, scratch, on_path = tmp_path / "tools", tmp_path / "scratch", tmp_path / "bin"
    for folder in (tools / "bin", tools / "lib", scratch, on_path):
        folder.mkdir(parents=True)
    (tools / "lib" / "data").write_text("of the installation\n")
    (tools / "bin" / "tool").write_text(f"#!/usr/bin/env -S sh\ncat {tools}/lib/data; cat {tmp_path}/secret || true\n")
    (tools / "bin" / "tool").chmod(0o700)
    (on_path / "tool").symlink_to("../tools/bin/tool")
    (tmp_path / "secret").write_text("not of the installation\n")
    known = {**environment(scratch, (), {}), "PATH": f"{on_path}:/usr/bin:/bin"}
    reads = installation.program_places("tool", known["PATH"])
    places = Confinement((scratch,), (), reads)
    with Child(Program(("tool",), scratch, known, confinement=places)) as child:
        assert list(lines(child, b"", 60)) == [b"of the installation"]


def test_an_installation_is_seen_from_links_prefix_first_line_and_base(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own"
    monkeypatch.setenv("HOME", str(own))
    base, venv = tmp_path / "versions" / "3", tmp_path / "venv"
    for folder in (base / "bin", base / "lib", venv / "bin", venv / "lib/python3.11/site-packages", own / ".local/bin"):
        folder.mkdir(parents=True)
    (own / ".local" / "lib").mkdir()
    (own / "node_modules" / "lint").mkdir(parents=True)
    (tmp_path / "shims").mkdir()
    (base / "bin" / "python").touch(0o700)
    (venv / "bin" / "python").symlink_to(base / "bin" / "python")
    (venv / "pyvenv.cfg").write_text(f"home = {base}/bin\nversion = 3\n")
    (venv / "lib/python3.11/site-packages/dev.pth").write_text(f"import x\n{tmp_path}/sources\n")
    (venv / "bin" / "tool").write_text(f"#!{venv}/bin/python\n")
    (own / ".local/bin" / "tool").symlink_to(venv / "bin" / "tool")
    (own / ".local/bin" / "single").touch(0o700)
    (own / "node_modules" / "lint" / "run.js").touch(0o700)
    (tmp_path / "shims" / "python").touch(0o700)
    (venv / "bin" / "tool").chmod(0o700)

    found = installation.program_places("tool", str(own / ".local/bin"))
    assert {own / ".local/bin/tool", venv, base, base / "bin" / "python", tmp_path / "sources"} <= set(found)
    assert own / ".local" not in found
    assert own not in found
    assert installation.program_places("single", str(own / ".local/bin")) == (
        own / ".local/bin/single",
        own / ".local/lib",
    )
    script = own / "node_modules" / "lint" / "run.js"
    assert installation.program_places(str(script), None) == (script, own / "node_modules")
    assert tmp_path in installation.program_places(str(tmp_path / "shims" / "python"), None)
    assert installation.program_places("no such", str(tmp_path)) == ()


def test_a_program_that_is_declared_to_be_read_brings_along_what_it_is_installed_with(tmp_path: Path) -> None:
    (tmp_path / "tools" / "bin").mkdir(parents=True)
    (tmp_path / "tools" / "lib").mkdir()
    (tmp_path / "tools" / "bin" / "tool").touch(0o700)
    (tmp_path / "notes").touch(0o600)
    found = installation.declared_places(["tools/bin/tool", "notes", "not there"], tmp_path)
    assert set(found) == {tmp_path / name for name in ("tools", "tools/bin/tool", "notes", "not there")}


def test_what_holds_the_home_is_opened_around_it(tmp_path: Path) -> None:
    for folder in ("a/b/home/sweeps", "a/c", "d"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").touch()
    (tmp_path / "a" / "link").symlink_to(tmp_path / "a" / "b" / "home")
    (tmp_path / "dots").symlink_to(tmp_path / "d")
    kept_out = places_of(tmp_path / "a" / "b" / "home")
    opened = sorted(around(tmp_path, kept_out))
    assert opened == [tmp_path / "a/b/file", tmp_path / "a/c", tmp_path / "d"]
    assert list(around(tmp_path / "d", kept_out)) == [tmp_path / "d"]
    assert list(around(tmp_path / "dots", kept_out)) == [tmp_path / "d"]
    for inside in ("a/b/home", "a/b/home/sweeps", "a/link", "a/link/sweeps"):
        assert list(around(tmp_path / inside, kept_out)) == []
    assert list(around(tmp_path / "nowhere", kept_out)) == [tmp_path / "nowhere"]


def test_the_scratch_of_others_is_left_out_of_a_folder_for_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "project").mkdir()
    with scratch_folder() as one, scratch_folder() as two:
        (one / "material").mkdir()
        assert list(around(tmp_path, ())) == [tmp_path / "project"]
        assert list(around(two, ())) == []
        assert list(around(tmp_path / "project", ())) == [tmp_path / "project"]


def test_a_home_is_kept_out_with_what_its_links_lead_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "big").mkdir()
    (tmp_path / "home").symlink_to(tmp_path / "real")
    (tmp_path / "real" / "sweeps").symlink_to(tmp_path / "big")
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "dagster"))
    assert set(places_of(tmp_path / "home")) == {tmp_path / name for name in ("real", "big", "dagster")}
    assert set(places_of(tmp_path / "not yet")) == {tmp_path / "not yet", tmp_path / "dagster"}


def test_paths_that_an_argv_names_are_those_written_in_full(tmp_path: Path) -> None:
    (tmp_path / "rules").touch()
    there = str(tmp_path / "rules")
    argv = (there, "rules", there, f"--config={there}", f"--{there}", "/no/such", "x" * 5000, "a\0b", "-c=/usr")
    assert named(argv) == (Path(there), Path(there), Path("/usr"))


def test_every_kind_of_finder_says_what_isolates_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRYSWEEP_ISOLATION", "none")
    assert {kind for kind in FINDERS if isolation_of(kind) == "none"} == {"command", "python"}
    assert isolation_of("a kind to come") == "none"


def test_the_page_on_isolation_has_every_word_of_it() -> None:
    page = (Path(__file__).parents[2] / "docs" / "isolation.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1].strip().strip("`") for line in page.splitlines() if line.startswith("| `")]
    assert {word for word in Isolation if not any(row.startswith(word) for row in rows)} == set()
    assert {str(path) for path in confinement.SYSTEM if path.count("/") == 1 and f"`{path}" not in page} <= {
        "/lib32",
        "/lib64",
        "/libx32",
    }


def test_the_variable_that_chooses_is_auto_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRYSWEEP_ISOLATION", "none")
    with confinement.walls(Confinement((tmp_path,))) as taken_on:
        assert taken_on == (-1, -1)
    monkeypatch.setenv("DRYSWEEP_ISOLATION", "strict")
    with pytest.raises(Refused, match="'strict'"), confinement.walls(Confinement((tmp_path,))):
        pass
    monkeypatch.setenv("DRYSWEEP_ISOLATION", "auto")
    expected = "none" if isinstance(available(), str) else f"landlock {available()}"
    assert isolation_of("python") == expected


def test_rules_that_the_kernel_does_not_take_keep_a_child_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As on a system where no file can be opened any more.
    monkeypatch.setattr(confinement, "available", lambda: 7)
    monkeypatch.setattr(confinement, "create_ruleset", _out_of_files)
    known = environment(tmp_path, (), {})
    with pytest.raises(FinderError, match=r"cannot be confined: .*Too many open files"):
        Child(Program(("true",), tmp_path, known, confinement=Confinement((tmp_path,))))


def _out_of_files(_: object) -> int:
    raise OSError(24, "Too many open files")

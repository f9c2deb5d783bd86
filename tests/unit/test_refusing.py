"""What every command says where it does not do what was asked: one form, one JSON object, and never a traceback."""

import io
import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from drysweep_pipeline import errors
from drysweep_pipeline.cli import app as commands
from drysweep_pipeline.cli import main, refusing, ui
from drysweep_pipeline.errors import DrysweepError
from drysweep_pipeline.redaction import Redactor, remember

KEYS = {"schema_version", "error", "file", "line", "key", "help", "code"}
SECRET = "sk-Zx81mQpR47LtUv93WnYc"


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DRYSWEEP_HOME", str(tmp_path / "home"))
    monkeypatch.delenv(refusing.TRACEBACK, raising=False)


def wrong(tmp_path: Path) -> Path:
    path = tmp_path / "wrong.yaml"
    path.write_text("type: drysweep_pipeline.Sweep\nattributes:\n  name: Wrong\n  stratgies: []\n")
    return path


def told(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    printed = capsys.readouterr()
    assert printed.out.count("\n") == 1, "stdout is exactly one JSON object"
    found: dict[str, Any] = json.loads(printed.out)
    return found


def fails(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Have ``drysweep doctor`` meet what nobody expected."""

    def raises(*_: object) -> None:
        raise error

    monkeypatch.setattr("drysweep_pipeline.cli.doctor.home_of", raises)


def kinds(above: type[DrysweepError] = DrysweepError) -> list[type[DrysweepError]]:
    return [above, *(each for kind in above.__subclasses__() for each in kinds(kind))]


def test_every_kind_of_error_has_a_code_of_its_own() -> None:
    shipped = [kind for kind in kinds() if kind.__module__.startswith("drysweep_pipeline") and kind.__name__[0] != "_"]
    assert len({kind.code for kind in shipped}) == len(shipped), "give the new class a `code` in its body"
    assert {kind.code for kind in shipped if kind.__module__ == errors.__name__} == {
        *("failed", "declaration", "material", "finder", "rows", "refused", "not_found", "round_gap", "integrity"),
        *("busy", "system"),
    }


def test_a_declaration_with_several_problems_shows_each_where_it_stands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = wrong(tmp_path)
    assert main(["run", str(path)]) == 2
    complained = capsys.readouterr().err.splitlines()
    assert [line for line in complained if line.startswith("error[")] == [
        "error[declaration]: 'Wrong' is not a name",
        "error[declaration]: unknown key 'stratgies'",
        "error[declaration]: 'material' is missing",
        "error[declaration]: 'fingerprint' is missing",
        "error[declaration]: 'budget' is missing",
    ]
    at = complained.index(f"  --> {path}:4, stratgies")
    assert complained[at + 1] == "  help: did you mean 'strategies'?"


def test_in_json_the_first_problem_is_told_and_all_are_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = wrong(tmp_path)
    assert main(["run", str(path), "--json"]) == 2
    error = told(capsys)
    assert set(error) == {*KEYS, "problems"}
    assert (error["code"], error["file"]) == ("declaration", str(path))
    assert [problem["key"] for problem in error["problems"]][:2] == ["name", "stratgies"]
    assert main(["validate", str(path)]) == 2
    assert f"  --> {path}:4, stratgies\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said", "key"),
    [
        (["rnu"], "Did you mean 'run'?", None),
        (["campaigns", "--hme", "x"], "--home", "--hme"),
        (["run"], "Missing argument 'SWEEP'", "sweep"),
        (["run", "a.yaml", "--k", "two"], "'--k'", "k"),
        (["campaigns", "a", "b"], "unexpected extra argument", None),
        ([], "drysweep needs a command", None),
        (["findings"], "drysweep findings needs a command", None),
    ],
)
def test_a_command_called_wrongly_says_so_as_one_json_object(
    arguments: list[str],
    said: str,
    key: str | None,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Whoever wants JSON says so to a command; here it is wanted of those that are none, too.
    monkeypatch.setattr(commands, "wants_json", lambda _: True)
    assert main(arguments) == 2
    error = told(capsys)
    assert set(error) == KEYS
    assert (error["code"], error["key"], said in error["error"]) == ("usage", key, True)
    assert error["help"].endswith("--help says what there is")


def test_a_command_called_wrongly_shows_how_it_is_called(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status"]) == 2
    assert capsys.readouterr().err == (
        "error[usage]: Missing argument 'CAMPAIGN'\n"
        "  usage: drysweep status [OPTIONS] {CAMPAIGN}\n"
        "  help: drysweep status --help says what there is\n"
    )


def test_what_nobody_expected_is_told_in_the_same_form_and_its_traceback_is_kept_in_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "other"
    home.mkdir()
    fails(monkeypatch, KeyError("gone"))
    assert main(["doctor", "--home", str(home)]) == 1
    complained = capsys.readouterr().err
    [kept] = (home / "tracebacks").iterdir()
    assert complained == (
        "error[unexpected]: KeyError: 'gone'\n"
        f"  help: this is a fault of drysweep; the traceback is in {kept}, DRYSWEEP_TRACEBACK=1 shows it\n"
    )
    assert "Traceback (most recent call last)" in kept.read_text()
    assert kept.stat().st_mode & 0o777 == 0o600


def test_the_traceback_is_shown_to_whoever_asks_for_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fails(monkeypatch, KeyError("gone"))
    monkeypatch.setenv(refusing.TRACEBACK, "1")
    assert main(["doctor", "--json"]) == 1
    printed = capsys.readouterr()
    assert "Traceback (most recent call last)" in printed.err
    assert json.loads(printed.out)["code"] == "unexpected"


def test_no_secret_is_in_what_nobody_expected_nor_in_its_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    remember("this test", Redactor([SECRET], mode="mask"))
    (tmp_path / "home").mkdir()
    fails(monkeypatch, ValueError(f"cannot use {SECRET}"))
    assert main(["doctor"]) == 1
    [kept] = (tmp_path / "home" / "tracebacks").iterdir()
    assert SECRET not in capsys.readouterr().err + kept.read_text()


def test_where_there_is_no_home_the_traceback_goes_where_temporary_files_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    fails(monkeypatch, KeyError("gone"))
    assert main(["doctor"]) == 1
    [kept] = tmp_path.glob("drysweep-*.txt")
    assert str(kept) in capsys.readouterr().err
    assert not (tmp_path / "home").exists()


def test_where_no_traceback_can_be_kept_the_error_is_told_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    fails(monkeypatch, KeyError("gone"))
    assert main(["doctor"]) == 1
    assert "error[unexpected]: KeyError: 'gone'" in capsys.readouterr().err


def test_an_interruption_is_one_json_object_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupts(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("drysweep_pipeline.cli.doctor.home_of", interrupts)
    assert main(["doctor", "--json"]) == 130
    assert told(capsys)["code"] == "interrupted"
    assert main(["doctor"]) == 130
    assert capsys.readouterr().err == "interrupted; `drysweep resume` goes on with a campaign that was under way\n"


def test_the_versions_are_told_without_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [
        *("drysweep", "dagster", "duckdb", "python")
    ]


@pytest.mark.parametrize("arguments", [["--version", "--json"], ["--json", "--version"]])
def test_the_versions_are_one_json_object_where_asked(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    assert list(told(capsys)) == ["schema_version", "drysweep", "dagster", "duckdb", "python"]


def test_json_before_a_command_is_refused_with_where_it_goes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--json", "doctor"]) == 2
    assert told(capsys)["error"] == "Invalid value for --json: it goes after the command"


def test_a_server_that_ends_before_it_answers_is_an_error_and_says_how_it_ended() -> None:
    process = subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])
    with pytest.raises(DrysweepError, match="ended with exit code 3"):
        ui._await_answer(process, 1)


@pytest.mark.parametrize("port", ["0", "70000", "taken"])
def test_a_port_that_cannot_be_had_is_refused_as_one_json_object(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        asked = str(taken.getsockname()[1]) if port == "taken" else port
        assert main(["ui", "--port", asked, "--json"]) == 2
    assert told(capsys)["key"] == "port"


@pytest.mark.parametrize("arguments", [["-h"], ["run", "-h"], ["findings", "-h"], ["findings", "list", "-h"]])
def test_help_has_a_short_form_everywhere(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    assert capsys.readouterr().out.startswith("Usage: drysweep")


@pytest.mark.parametrize("words", [["sql", "select 'x\udcff'"], ["campaigns", "x\udcff"], ["run", "--home", "\udcff"]])
def test_bytes_that_are_no_text_are_refused_as_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert capsys.readouterr().err.startswith("error[usage]: what was given is no UTF-8: ")
    assert main([*words, "--json"]) == 2
    found = told(capsys)
    assert (found["code"], "\\xff" in found["error"]) == ("usage", True)


@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])
def test_a_query_on_stdin_that_is_no_text_is_refused(
    errors: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"select '\xff'"), encoding="utf-8", errors=errors))
    assert main(["sql", "-"]) == 2
    assert capsys.readouterr().err.startswith("error[refused]: the query on stdin is no UTF-8")

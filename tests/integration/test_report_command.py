"""The command ``report``: where a report goes, and that it gets there whole or not at all."""

import io
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from drysweep_pipeline.cli import main
from drysweep_pipeline.reports import FORMATS
from tests.exports import Case, text


def report(capsys: pytest.CaptureFixture[str], case: Case, *arguments: str) -> tuple[int, str]:
    capsys.readouterr()
    code = main(["report", f"{case[1]}/{case[2]}", "--home", str(case[0].root), *arguments])
    return code, capsys.readouterr().out


# The page for a browser says when it was made.
@pytest.mark.parametrize("format", [name for name, each in FORMATS.items() if not each.binary and name != "html"])
def test_one_text_goes_to_the_terminal(settled: Case, format: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(capsys, settled, "--format", format) == (0, text(settled, format))


def test_several_formats_are_written_into_the_home_and_named(settled: Case, capsys: pytest.CaptureFixture[str]) -> None:
    code, shown = report(capsys, settled, "--format", "sarif, csv,parquet,sarif")
    folder = settled[0].root / "reports" / "small"
    assert (code, shown.splitlines()) == (
        0,
        [f"sarif: {folder}/c1.sarif", f"csv: {folder}/c1.csv", f"parquet: {folder}/c1.parquet"],
    )
    assert (folder / "c1.csv").read_bytes().decode() == text(settled, "csv")
    code, shown = report(capsys, settled, "--format", "csv,junit", "--json")
    assert (code, json.loads(shown)["written"]) == (0, {"csv": f"{folder}/c1.csv", "junit": f"{folder}/c1.junit.xml"})
    assert json.loads(shown)["outcome"] == "converged"


def test_reports_go_where_they_are_wanted_whole_or_not_at_all(
    settled: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _ = report(capsys, settled, "--format", "openmetrics", "--output", str(tmp_path / "a" / "x.prom"))
    assert (code, (tmp_path / "a" / "x.prom").read_text()) == (0, text(settled, "openmetrics"))
    assert report(capsys, settled, "--format", "csv,md", "--output", str(tmp_path / "b"))[0] == 0
    assert sorted(path.name for path in (tmp_path / "b").iterdir()) == ["c1.csv", "c1.md"]
    assert report(capsys, settled, "--format", "csv", "--output", str(tmp_path / "b"), "--rejected")[0] == 0
    assert "cron/no_owner" in (tmp_path / "b" / "c1.csv").read_text()
    assert report(capsys, settled, "--format", "csv,pdf", "--output", str(tmp_path / "c"))[0] == 2
    assert not (tmp_path / "c").exists()
    assert report(capsys, settled, "--format", "csv,md", "--output", str(tmp_path / "a" / "x.prom"))[0] == 2


def test_a_place_that_cannot_be_written_is_refused_by_name(
    settled: Case, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    capsys.readouterr()
    there = str(tmp_path / "file" / "x.csv")
    assert (
        main(["report", "small/c1", "--home", str(settled[0].root), "--format", "csv", "--output", there, "--json"])
        == 2
    )
    told = json.loads(capsys.readouterr().out)
    assert told["file"] == there
    assert told["error"].startswith("no report can be written there: ")


def test_help_names_every_format(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--help"]) == 0
    shown = capsys.readouterr().out.replace("\n", " ")
    assert [name for name in FORMATS if not re.search(rf"\b{name}\b", shown)] == []


def test_a_text_is_printed_in_utf_8_whatever_else_the_program_would_print_in(cut: Case) -> None:
    command = [sys.executable, "-m", "drysweep_pipeline.cli", "report", "small/cut", "--format", "csv"]
    command += ["--home", str(cut[0].root)]
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    printed = subprocess.run(command, env=ascii_only, capture_output=True, check=True).stdout.decode("utf-8")
    assert printed == text(cut, "csv")
    assert not printed.isascii()


def test_bytes_go_through_a_pipe_and_not_to_a_terminal(settled: Case) -> None:
    command = [sys.executable, "-m", "drysweep_pipeline.cli", "report", "small/c1", "--format", "parquet"]
    command += ["--home", str(settled[0].root)]
    piped = subprocess.run(command, capture_output=True, check=True)
    assert pq.read_table(io.BytesIO(piped.stdout)).num_rows == 4
    master, slave = pty.openpty()
    refused = subprocess.run(command, stdin=slave, stdout=slave, stderr=subprocess.PIPE, check=False)
    os.close(slave)
    os.close(master)
    assert refused.returncode == 2
    assert "--output" in refused.stderr.decode()

"""Where the program of a declaration is found."""

import sys
from pathlib import Path

import pytest

from drysweep_pipeline.programs import found


def executable(folder: Path, name: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_a_program_lies_beside_the_declaration_or_on_the_path_or_with_what_drysweep_is_installed_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = executable(tmp_path / "venv", "audit")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "venv" / "python"))
    monkeypatch.setenv("PATH", str(tmp_path / "system"))
    assert found("audit", tmp_path / "sweep") == str(installed)
    executable(tmp_path / "system", "audit")
    assert found("audit", tmp_path / "sweep") == "audit"
    beside = executable(tmp_path / "sweep", "audit")
    assert found("audit", tmp_path / "sweep") == str(beside)


def test_a_program_that_is_nowhere_keeps_its_name(tmp_path: Path) -> None:
    assert found("no-such-program", tmp_path) == "no-such-program"

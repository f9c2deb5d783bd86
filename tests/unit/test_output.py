"""What commands print: rows whole, as a table where it fits and as records where it does not."""

from pathlib import Path

import pytest

from drysweep_pipeline.cli import main
from drysweep_pipeline.cli.output import lines_of, program, put_table
from tests.sweeps import NO_OWNER, declare


def test_rows_that_fit_are_a_table_without_blanks_at_the_end() -> None:
    assert list(lines_of(["name", "found"], [["a", "43"], ["long_name", ""]], 20)) == [
        "name       found",
        "a          43",
        "long_name",
    ]


def test_rows_that_do_not_fit_are_records_and_nothing_is_cut() -> None:
    assert list(lines_of(["fp", "label"], [["x" * 30, "a"], ["y", ""]], 20)) == [
        "fp     " + "x" * 30,
        "label  a",
        "",
        "fp     y",
        "label",
    ]


def test_wide_characters_take_two_columns() -> None:
    assert list(lines_of(["a", "b"], [["漢字", "1"]], 20)) == ["a     b", "漢字  1"]


def test_a_query_without_rows_shows_its_columns() -> None:
    assert list(lines_of(["name", "found"], [], 3)) == ["name  found"]


def test_what_a_row_holds_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    put_table(["text"], [["\x1b[2J\nnew"], [None], [0]])
    assert capsys.readouterr().out == "text\n␛[2J␊new\n\n0\n"


@pytest.mark.parametrize(
    ("called", "shown"),
    [("/a b/drysweep", "'/a b/drysweep'"), (".venv/bin/drysweep", ".venv/bin/drysweep"), ("drysweep", "drysweep")],
)
def test_a_hint_calls_the_program_as_it_was_called(monkeypatch: pytest.MonkeyPatch, called: str, shown: str) -> None:
    monkeypatch.setattr("sys.argv", [called])
    assert program() == shown


def test_a_hint_names_the_program_where_a_module_was_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", [str(Path("/x/cli/__main__.py"))])
    assert program() == "drysweep"


def test_campaigns_of_a_sweep_that_nobody_knows_are_refused_with_those_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sweeps" / "small").mkdir(parents=True)
    assert main(["campaigns", "nope", "--home", str(tmp_path)]) == 2
    complained = capsys.readouterr().err
    assert "no sweep 'nope'" in complained
    assert "small" in complained
    assert main(["campaigns", "small", "--home", str(tmp_path)]) == 0


def test_a_run_names_the_file_that_declares_material_that_is_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = declare(tmp_path, {"labels": NO_OWNER})
    assert main(["run", str(path), "--home", str(tmp_path / "home")]) == 2
    assert f"material.path is declared in {path}" in capsys.readouterr().err

"""What commands print: rows whole, as a table where it fits and as records where it does not."""

from pathlib import Path

import pytest

from drysweep_pipeline.cli.output import lines_of, program, put_table


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

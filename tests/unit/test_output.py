"""What commands print: rows whole, as a table where it fits and as records where it does not."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from drysweep_pipeline.cli import main
from drysweep_pipeline.cli.campaigns import age
from drysweep_pipeline.cli.fitting import fitted, shortened
from drysweep_pipeline.cli.output import lines_of, note, program, put, put_json, put_table
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


def test_a_table_is_cut_to_its_width_where_it_may_be_and_says_where() -> None:
    rows = [["3f2a9c", "api/no_owner/" + "x" * 90, "services/api.yaml:3", "2"], ["99", "db", "", ""]]
    table = fitted(
        ["fp", "finding", "where", "not observed"], rows, 61, cut={"finding": 12, "where": 12}, spare=("where",)
    )
    assert table.left_out == []
    assert table.rows[0] == ["3f2a9c", "api/no_owner/xxxx…", "services/api.yaml:3", "2"]
    assert table.rows[1] == rows[1]
    assert max(map(len, lines_of(table.columns, table.rows, 61))) <= 61
    assert fitted(["finding"], [["short"]], 60, cut={"finding": 12}).rows == [["short"]]


def test_columns_that_have_no_room_are_left_out_in_their_order_and_named() -> None:
    rows = [["3f2a9c", "x" * 50, "y" * 50, "team:platform", "2"]]
    columns = ["fp", "finding", "where", "owner", "not observed"]
    table = fitted(columns, rows, 50, cut={"finding": 12, "where": 12}, spare=("not observed", "owner"))
    assert (table.columns, table.left_out) == (["fp", "finding", "where", "owner"], ["not observed"])
    narrow = fitted(columns, rows, 25, cut={"finding": 12, "where": 12}, spare=("not observed", "owner"))
    assert narrow.left_out == ["not observed", "owner"]


def test_wide_characters_are_cut_by_the_columns_that_they_take() -> None:
    assert shortened("漢字漢字", 6) == "漢字…"
    assert shortened("漢字", 4) == "漢字"


def test_wide_characters_take_two_columns() -> None:
    assert list(lines_of(["a", "b"], [["漢字", "1"]], 20)) == ["a     b", "漢字  1"]


def test_a_query_without_rows_shows_its_columns() -> None:
    assert list(lines_of(["name", "found"], [], 3)) == ["name  found"]


def test_what_a_row_holds_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    put_table(["text"], [["\x1b[2J\nnew"], [None], [0]])
    assert capsys.readouterr().out == "text\n␛[2J␊new\n\n0\n"


def test_no_line_can_steer_the_terminal_or_be_taken_for_two(capsys: pytest.CaptureFixture[str]) -> None:
    put("\x1b[2Ja\nb")
    note("\x1b]0;title\x07\nnew")
    note("\u202eround\r")
    put_table(["\x1b[31mname\nname"], [["x"]])
    captured = capsys.readouterr()
    assert captured.out == "␛[2Ja␊b\n␛[31mname␊name\nx\n"
    assert captured.err == "␛]0;title␇␊new\n<U+202E>round␍\n"


def test_no_line_is_a_command_to_what_runs_ci(capsys: pytest.CaptureFixture[str]) -> None:
    put("::error::pwned")
    note(" ##[error]pwned")
    put_table(["##[group]g", "b"], [[None, "::notice::a"], ["a::b", "# c"]])
    captured = capsys.readouterr()
    assert captured.out == "'::error::pwned\n'##[group]g  b\n             '::notice::a\na::b         # c\n"
    assert captured.err == "' ##[error]pwned\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["campaigns", "\x1b[2J\nCONVERGED", "--home"],
        ["campaigns", "--\x1b[2J\nCONVERGED", "--home"],
        ["\x1b[2J\nCONVERGED", "--home"],
    ],
)
def test_no_complaint_can_steer_the_terminal(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sweeps" / "small").mkdir(parents=True)
    assert main([*arguments, str(tmp_path)]) == 2
    complained = capsys.readouterr().err
    assert "\x1b" not in complained
    assert "\nCONVERGED" not in complained
    assert "CONVERGED" in complained


def test_json_keeps_texts_as_they_are_and_has_null_for_what_it_lacks(capsys: pytest.CaptureFixture[str]) -> None:
    put_json({"a": float("nan"), "b": [float("inf"), 1.5, (float("-inf"),)], "c": "\x1b\n"})
    assert capsys.readouterr().out == '{"a": null, "b": [null, 1.5, [null]], "c": "\\u001b\\n"}\n'


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


@pytest.mark.parametrize(
    ("ago", "shown"),
    [
        (timedelta(), "0 s"),
        (timedelta(seconds=59), "59 s"),
        (timedelta(minutes=61), "1 h"),
        (timedelta(hours=47), "1 d"),
        (timedelta(days=400), "400 d"),
        (timedelta(minutes=-5), "+5 min"),
    ],
)
def test_the_age_of_a_campaign_is_told_in_its_largest_unit(ago: timedelta, shown: str) -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert age(now - ago, now) == shown


def test_where_there_is_no_campaign_it_says_how_there_is_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["campaigns", "--home", str(tmp_path)]) == 0
    assert capsys.readouterr().err == "there is no campaign yet; `drysweep run SWEEP` starts one\n"


def test_a_run_names_the_file_that_declares_material_that_is_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = declare(tmp_path, {"labels": NO_OWNER})
    assert main(["run", str(path), "--home", str(tmp_path / "home")]) == 2
    assert f"material.path is declared in {path}" in capsys.readouterr().err

"""Lines that children print: what is a finding, what is refused with its place, and what is a complete output."""

import json
from typing import Any

import pytest

from drysweep_pipeline.candidates import Unfit
from drysweep_pipeline.errors import FinderError
from drysweep_pipeline.exact import MAX_DEPTH
from drysweep_pipeline.finders.jsonl import End, Lines
from drysweep_pipeline.values import Usage

END = b'{"drysweep": "end", "count": 1}'


def read(*lines: bytes, max_rows: int = 100, copy: str | None = None) -> tuple[list[Any], End | None]:
    printed = Lines(lines, max_rows, copy)
    return list(printed), printed.end


def refusal(line: bytes) -> str:
    [row], _ = read(line, END)
    assert isinstance(row, Unfit)
    return row.reason


def failure(*lines: bytes, **options: Any) -> FinderError:
    with pytest.raises(FinderError) as raised:
        read(*lines, **options)
    return raised.value


def test_a_line_is_a_finding_and_the_mark_says_what_it_took() -> None:
    usage = {"calls": 3, "tokens": 7, "cost_usd": 0.5}
    rows, end = read(b'{"a": 1}', b"", json.dumps({"drysweep": "end", "count": 1, "usage": usage}).encode())
    assert rows == [{"a": 1}]
    assert end == End(1, Usage(3, 7, 0.5))


def test_usage_is_one_call_where_it_is_not_said() -> None:
    assert read(b"{}", END)[1] == End(1, Usage(1))
    assert read(b"{}", b'{"drysweep": "end", "count": 1, "usage": {"tokens": 5}}')[1] == End(1, Usage(1, 5))


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b'{"a": 1', "line 1, column 8 (byte 8): not JSON"),
        ('{"é": x}'.encode(), "line 1, column 7 (byte 8): not JSON"),
        (b"<html>502 Bad Gateway</html>", "column 1 (byte 1): not JSON"),
        (b"Scanning 12 files ...", "not JSON"),
        (b'{"a": 1} {"a": 2}', "not JSON: Extra data"),
        (b'{"a": "\xff"}', "line 1, byte 8: not UTF-8"),
        ('{"a": 1}'.encode("utf-16"), "byte 1: not UTF-8"),
        (b'\xef\xbb\xbf{"a": 1}', "byte order mark"),
        (b'{"a": 1, "a": 2}', 'the key "a" is there twice'),
        (b'{"a": {"b": 1, "b": 1}}', 'the key "b" is there twice'),
        (b"[1]", "[1] is no JSON object"),
        (b"null", "no JSON object"),
        (b'"text"', "no JSON object"),
        (b'{"a": NaN}', "NaN is no number"),
        (b'{"a": -Infinity}', "-Infinity is no number"),
        (b'{"a": 1e999}', "larger than a number can be"),
        (b'{"a": 9007199254740993.0}', "9007199254740993.0 says more than a number can hold"),
        (b'{"a": 1e-400}', "1e-400 says more than a number can hold"),
        (b'{"a": 0.30000000000000001}', "says more than a number can hold"),
        (b'{"a": 0.' + b"3" * 5000 + b"}", "says more than a number can hold"),
        (b'{"a": ' + b"9" * 5000 + b"}", "line 1: Exceeds the limit"),
        (b'{"a": "\\ud800"}', "surrogate"),
        (b'{"a": ["x", {"\\uDC00": 1}]}', "surrogate"),
    ],
)
def test_what_is_no_finding_is_refused_with_its_place(line: bytes, why: str) -> None:
    assert why in refusal(line)


@pytest.mark.parametrize("digits", ["", ".1f", ".2f", ".17g", ".20f", ".25e", ".60f"])
@pytest.mark.parametrize("number", [0.0, -0.0, 0.1, 1 / 3, 12.5, 2.0**53, 1e22, -123456.789, 5e-324])
def test_a_number_is_taken_however_many_of_its_digits_are_written(number: float, digits: str) -> None:
    written = format(number, digits) if digits else repr(number)
    if float(written) == number:
        [row], _ = read(f'{{"a": {written}}}'.encode(), END)
        assert row == {"a": number}


def test_large_numbers_control_characters_and_pairs_of_surrogates_are_kept_as_they_are() -> None:
    [row], _ = read(
        b'{"a": 340282366920938463463374607431768211457, "b": "\\u0000\\u001b", "c": "\\ud83d\\ude00"}', END
    )
    assert row == {"a": 2**128 + 1, "b": "\0\x1b", "c": "\U0001f600"}


def test_the_types_of_values_are_kept_apart() -> None:
    [row], _ = read(b'{"a": 1, "b": 1.0, "c": true, "d": "1", "e": -0.0}', END)
    assert [repr(value) for value in row.values()] == ["1", "1.0", "True", "'1'", "-0.0"]


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([], "without the mark"),
        ([b"{}"], "without the mark"),
        ([b"{}", END, b"{}"], "line 3 follows the mark"),
        ([b"{}", END, END], "line 3 follows the mark"),
        ([b"{}", END, b"bye"], "line 3 follows the mark"),
        ([END], "counts 1 findings, and 0 were printed"),
        ([b"{}", b"{}", END], "counts 1 findings, and 2 were printed"),
        ([b'{"drysweep": "begin"}'], "no mark of the end"),
        ([b'{"drysweep": "end"}'], "counts null"),
        ([b'{"drysweep": "end", "count": true}'], "counts true"),
        ([b'{"drysweep": "end", "count": -1}'], "counts -1"),
        ([b'{"drysweep": "end", "count": 0.0}'], "counts 0.0"),
        ([b'{"drysweep": "end", "count": 0, "verdict": "ok"}'], "no mark of the end"),
    ],
)
def test_an_output_without_exactly_one_mark_that_agrees_is_not_complete(lines: list[bytes], why: str) -> None:
    error = failure(*lines)
    assert why in str(error)
    assert error.status == "failed"


@pytest.mark.parametrize(
    "usage",
    [
        "[]",
        "null",
        '{"call": 1}',
        '{"calls": 0}',
        '{"calls": -1}',
        '{"calls": true}',
        '{"calls": 1.5}',
        '{"calls": 1000001}',
        '{"calls": "1"}',
        '{"tokens": -1}',
        '{"tokens": 1e3}',
        '{"cost_usd": -0.01}',
        '{"cost_usd": 1e300}',
        '{"cost_usd": false}',
    ],
)
def test_usage_that_cannot_be_is_refused(usage: str) -> None:
    assert "usage" in str(failure(f'{{"drysweep": "end", "count": 0, "usage": {usage}}}'.encode()))


def test_a_mark_with_numbers_that_are_none_is_no_mark() -> None:
    assert "without the mark" in str(failure(b'{"drysweep": "end", "count": 0, "usage": {"cost_usd": NaN}}'))


def test_more_rows_than_allowed_are_truncated_and_never_silently_cut() -> None:
    error = failure(b"{}", b"{}", b"{}", END, max_rows=2)
    assert (error.status, "more than 2 rows" in str(error)) == ("truncated", True)


@pytest.mark.parametrize("deep", [MAX_DEPTH, 100_000])
def test_what_is_nested_too_deep_is_truncated(deep: int) -> None:
    error = failure(b'{"a": ' + b"[" * deep + b"]" * deep + b"}")
    assert error.status == "truncated"
    wide = b'{"a": [' + b",".join([b"[]"] * 200) + b"]}"
    assert len(read(wide, END)[0]) == 1


def test_values_that_begin_with_the_copy_of_the_material_are_relative_to_it() -> None:
    [row], _ = read(
        b'{"path": "/tmp/x/material/a/b.py", "title": "in /tmp/x/material/a", "n": 1}', END, copy="/tmp/x/material"
    )
    assert row == {"path": "a/b.py", "title": "in /tmp/x/material/a", "n": 1}

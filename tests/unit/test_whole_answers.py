"""An answer that is one JSON object: its findings are taken one by one, and only where it says that they are all."""

from typing import Any

import pytest

from drysweep_pipeline.candidates import Unfit
from drysweep_pipeline.errors import FinderError
from drysweep_pipeline.finders.whole import Whole
from drysweep_pipeline.values import Usage


def read(body: str | bytes, max_rows: int = 10) -> tuple[list[Any], Whole]:
    whole = Whole(body.encode() if isinstance(body, str) else body, max_rows)
    return list(whole), whole


@pytest.mark.parametrize("end", ["true", "2"])
def test_an_answer_with_its_mark_gives_its_findings_and_what_they_took(end: str) -> None:
    usage = '{"calls": 2, "tokens": 30, "cost_usd": 0.5}'
    rows, whole = read(f'{{"findings": [{{"a": 1}}, {{"b": [2]}}], "end": {end}, "usage": {usage}}}')
    assert rows == [{"a": 1}, {"b": [2]}]
    assert whole.end is not None
    assert whole.end.usage == Usage(2, 30, 0.5)
    assert read('{"end": true, "findings": []}')[1].end is not None


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("", "nothing at all"),
        (" \r\n", "nothing at all"),
        ("[]", "[], which is no JSON object"),
        ("null", "null, which is no JSON object"),
        ("<html>", "not JSON, at line 1, column 1"),
        ('{"findings": [], "end": true} x', "not JSON, at line 1, column 31"),
        ('{"findings": [{"a": 1}], "end": tru', "not JSON"),
        ('\ufeff{"findings": [], "end": true}', "not JSON"),
        (b'{"findings": [], "end": true, "x": "\xff"}', "not UTF-8, at byte 37"),
        ('{"findings": [], "findings": [], "end": true}', "is there twice"),
        ('{"findings": [{"a": NaN}], "end": true}', "not JSON"),
        ('{"findings": [{"a": 1e999}], "end": true}', "not JSON"),
        ('{"findings": [{"a": "\\ud800"}], "end": true}', "surrogate"),
        ('{"findings": [{"a": ' + "9" * 5000 + '}], "end": true}', "not JSON"),
        ('{"findings": [], "end": true, "more": "/page/2"}', 'the key "more" (it has findings, end, usage)'),
        ('{"end": true}', "findings are null, which is no list"),
        ('{"findings": {"a": 1}, "end": true}', "which is no list"),
        ('{"findings": []}', "without the mark"),
        ('{"findings": [], "end": false}', "without the mark"),
        ('{"findings": [], "end": null}', "without the mark"),
        ('{"findings": [], "end": "yes"}', 'counts "yes"'),
        ('{"findings": [], "end": -1}', "counts -1"),
        ('{"findings": [{}], "end": 2}', "counts 2 findings, and there are 1"),
        ('{"findings": [], "end": true, "usage": {"calls": 0}}', "the usage of 0 calls cannot be"),
        ('{"findings": [], "end": true, "usage": []}', "is not one"),
    ],
)
def test_what_is_no_whole_answer_is_a_failure(body: str | bytes, says: str) -> None:
    with pytest.raises(FinderError) as error:
        read(body)
    assert says in str(error.value)
    assert error.value.status == "failed"


@pytest.mark.parametrize(
    "body", ['{"findings": [1, 2, 3], "end": true}', '{"findings": ' + "[" * 70 + "]" * 70 + "}", "[" * 100_000]
)
def test_an_answer_over_a_cap_is_cut_off(body: str) -> None:
    with pytest.raises(FinderError) as error:
        read(body, max_rows=2)
    assert error.value.status == "truncated"


def test_a_finding_that_is_none_is_unfit_and_the_others_are_taken() -> None:
    rows, _ = read('{"findings": [{"a": 1}, 7, null, {"drysweep": "end", "count": 0}], "end": true}')
    assert rows[0] == {"a": 1}
    assert [row.reason for row in rows[1:] if isinstance(row, Unfit)] == [
        "finding 2: 7 is no JSON object",
        "finding 3: null is no JSON object",
        "finding 4: 'drysweep' is not accepted from a finder",
    ]


def test_what_came_before_a_missing_mark_was_given_all_the_same() -> None:
    rows = iter(Whole(b'{"findings": [{"a": 1}]}', 10))
    assert next(rows) == {"a": 1}
    with pytest.raises(FinderError, match="without the mark"):
        next(rows)

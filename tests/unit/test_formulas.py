"""No text in a CSV is computed by the spreadsheet that opens it."""

import pytest

from drysweep_pipeline.reports.formulas import guarded


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("=1+1", "'=1+1"),
        ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
        ("-2+3", "'-2+3"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t'=1"),
        ("\r\n=1", "'\r'\n'=1"),
        ("  =1", "'  =1"),
        ("\u200b\ufeff=1", "'\u200b\ufeff=1"),
        ("\uff1d1", "'\uff1d1"),
        ("a;=1", "a;'=1"),
        ('","=1', '","=1'),
        ("first line\n=HYPERLINK(A1)", "first line\n'=HYPERLINK(A1)"),
    ],
)
def test_what_a_spreadsheet_would_compute_is_kept_from_it(text: str, shown: str) -> None:
    assert guarded(text) == shown


@pytest.mark.parametrize("text", ["", "plain", "a=b", "a - b", "x; y", "-5", "+4.5e-3", "-.5", "2026-01-31", "'=1"])
def test_what_no_spreadsheet_would_compute_stays_as_it_is(text: str) -> None:
    assert guarded(text) == text

"""Numbers, long texts, angles and errors as sentences have them, and instants as everything tells them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from drysweep_pipeline.instants import of_microseconds, zulu, zulu_of
from drysweep_pipeline.redaction import brief
from drysweep_pipeline.wording import angle_text, count, cut, first_line


@pytest.mark.parametrize(("number", "told"), [(0, "0 rounds"), (1, "1 round"), (2, "2 rounds"), (1001, "1001 rounds")])
def test_only_one_is_counted_in_the_singular(number: int, told: str) -> None:
    assert count(number, "round") == told


def test_a_noun_with_a_plural_of_its_own_is_counted_by_that() -> None:
    assert [count(number, "strategy", "strategies") for number in (1, 2)] == ["1 strategy", "2 strategies"]


@pytest.mark.parametrize(("text", "shown"), [("", ""), ("12345", "12345"), ("123456", "1234…")])
def test_a_text_is_cut_only_where_it_is_too_long_and_never_longer_than_allowed(text: str, shown: str) -> None:
    assert cut(text, 5) == shown


def test_what_is_cut_short_is_masked_before_it_is_cut() -> None:
    key = "AKIAIOSFODNN7EXAMPLE"
    assert "AKIA" not in brief(f"the key is {key}", 20)


def test_the_same_angle_is_the_same_text_in_whatever_order_it_was_written() -> None:
    assert angle_text({"b": "ü", "a": 1}) == angle_text({"a": 1, "b": "ü"}) == '{"a": 1, "b": "ü"}'


def test_an_error_is_told_by_its_first_line_and_by_its_name_where_it_says_nothing() -> None:
    assert first_line(ValueError("\n what it is\n^ where\n")) == "what it is"
    assert first_line(ValueError()) == "ValueError"


def test_an_instant_is_told_in_utc_with_a_z_wherever_it_comes_from() -> None:
    at = datetime(2026, 1, 31, 7, 30, 0, 250_000, timezone(timedelta(hours=1)))
    assert zulu(at) == "2026-01-31T06:30:00.250000Z"
    microseconds = 1_769_841_000_250_000
    assert of_microseconds(microseconds) == at
    assert zulu_of(microseconds) == zulu(at.astimezone(UTC))
    assert zulu_of(None) is None

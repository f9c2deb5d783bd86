"""Ceilings hold however many calls are made side by side, and whatever dies between reserving and settling."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from drysweep_pipeline.budget import Budget, Ceilings, Spent, tripped_by
from drysweep_pipeline.errors import IntegrityError
from drysweep_pipeline.values import Usage

TEN = Ceilings(rounds=5, calls=10)


@pytest.mark.parametrize("times", range(5))
def test_forty_threads_make_ten_calls_under_a_ceiling_of_ten(times: int, tmp_path: Path) -> None:
    budget, together = Budget(TEN, Spent(), tmp_path / "calls.jsonl"), Barrier(40)

    def call(number: int) -> bool:
        together.wait()
        reservation = budget.reserve(1, f"call {number}")
        if reservation is not None:
            budget.settle(reservation, Usage(calls=1, tokens=3))
        return reservation is not None

    with ThreadPoolExecutor(40) as pool:
        made = list(pool.map(call, range(40)))
    assert sum(made) == 10
    assert (budget.used.calls, budget.used.tokens, budget.tripped) == (10, 30, "calls")
    assert Budget(TEN, Spent(), tmp_path / "calls.jsonl").used == budget.used


def test_what_was_spent_before_counts_and_what_is_under_way_does_too() -> None:
    budget = Budget(TEN, Spent(calls=7))
    first = budget.reserve(2, "a")
    assert first is not None
    assert budget.reserve(2, "b") is None
    assert budget.reserve(1, "c") is not None
    assert budget.used.calls == 3


def test_a_call_that_used_less_than_reserved_gives_the_rest_back_and_one_that_used_more_is_counted() -> None:
    budget = Budget(TEN, Spent())
    reservation = budget.reserve(10, "a")
    assert reservation is not None
    budget.settle(reservation, Usage(calls=2))
    second = budget.reserve(8, "b")
    assert second is not None
    budget.settle(second, Usage(calls=12))
    assert budget.used.calls == 14
    assert budget.reserve(1, "c") is None


def test_as_many_single_calls_are_granted_as_fit() -> None:
    budget = Budget(TEN, Spent(calls=6))
    reservation, granted = budget.reserve_up_to(9, "judge")
    assert (granted, budget.tripped) == (4, "calls")
    budget.settle(reservation, Usage(calls=granted))
    assert budget.reserve_up_to(1, "judge")[1] == 0


@pytest.mark.parametrize(
    ("spent", "asked", "unit", "granted", "tripped"),
    [(0, 12, 3, 9, "calls"), (1, 12, 3, 9, "calls"), (2, 9, 3, 6, "calls"), (1, 9, 3, 9, None), (9, 3, 3, 0, "calls")],
)
def test_calls_that_only_make_sense_together_are_granted_together(
    spent: int, asked: int, unit: int, granted: int, tripped: str | None
) -> None:
    budget = Budget(TEN, Spent(calls=spent))
    assert budget.reserve_up_to(asked, "judge", unit)[1] == granted
    assert budget.used.calls == granted
    assert budget.tripped == tripped


def test_nothing_trips_while_all_that_is_asked_for_fits() -> None:
    budget = Budget(TEN, Spent(calls=6))
    assert budget.reserve_up_to(4, "judge")[1] == 4
    assert budget.reserve_up_to(0, "judge")[1] == 0
    assert budget.tripped is None


def test_a_round_that_no_ceiling_stops_grants_everything() -> None:
    budget = Budget(None, Spent(calls=10**9))
    assert budget.reserve_up_to(500, "judge")[1] == 500
    assert budget.reserve(10**12, "a") is not None
    assert budget.tripped is None


def test_the_first_ceiling_that_tripped_is_the_one_that_is_named() -> None:
    budget = Budget(Ceilings(5, calls=2, tokens=4), Spent())
    reservation = budget.reserve(2, "a")
    assert budget.reserve(1, "b") is None
    assert reservation is not None
    budget.settle(reservation, Usage(calls=1, tokens=4))
    assert budget.reserve(1, "c") is None
    assert budget.tripped == "calls"


@pytest.mark.parametrize(
    ("spent", "calls", "name"),
    [
        (Spent(calls=9), 1, None),
        (Spent(calls=9), 2, "calls"),
        (Spent(tokens=100), 0, "tokens"),
        (Spent(tokens=99), 1, None),
        (Spent(cost_usd=1.5), 1, "cost_usd"),
        (Spent(minutes=60.0), 1, "minutes"),
        (Spent(calls=10, tokens=100, cost_usd=2.0), 1, "calls"),
    ],
)
def test_the_ceiling_that_more_calls_would_not_fit_under_is_named(spent: Spent, calls: int, name: str | None) -> None:
    assert tripped_by(Ceilings(5, 10, 100, 1.5, 60.0), spent, calls) == name


def test_a_round_adds_its_usage_and_its_minutes_to_what_was_spent() -> None:
    spent = Spent(1, 2, 0.5, 1.0).plus(Usage(3, 4, 0.25), seconds=90)
    assert spent == Spent(4, 6, 0.75, 2.5)


def test_ceilings_are_widened_one_by_one() -> None:
    assert TEN.widened(None, None) == TEN
    assert TEN.widened(9, None) == Ceilings(9, 10)
    assert TEN.widened(None, 99) == Ceilings(5, 99)


def test_a_call_whose_process_died_counts_as_spent(tmp_path: Path) -> None:
    journal = tmp_path / "calls.jsonl"
    died = Budget(TEN, Spent(), journal)
    settled = died.reserve(2, "a")
    assert settled is not None
    died.settle(settled, Usage(calls=2, tokens=7, cost_usd=0.5))
    died.reserve(3, "b")
    after = Budget(TEN, Spent(), journal)
    assert (after.used, after.lost) == (Usage(5, 7, 0.5), 3)
    assert after.reserve(6, "c") is None
    fits = after.reserve(5, "c")
    assert fits is not None
    after.settle(fits, Usage(calls=5))
    again = Budget(TEN, Spent(), journal)
    assert (again.used.calls, again.lost) == (10, 3)


@pytest.mark.parametrize("torn", ['{"reserve": 1, "ca', '{"reserve": 1, "calls": 4, "for": "b"}', "{"])
def test_a_torn_last_line_is_a_call_that_was_never_made(torn: str, tmp_path: Path) -> None:
    journal = tmp_path / "calls.jsonl"
    died = Budget(TEN, Spent(), journal)
    reservation = died.reserve(1, "a")
    assert reservation is not None
    died.settle(reservation, Usage(calls=1))
    whole = journal.read_text()
    journal.write_text(whole + torn)
    after = Budget(TEN, Spent(), journal)
    assert (after.used.calls, after.lost) == (1, 0)
    assert journal.read_text() == whole
    after.reserve(1, "b")
    assert [json.loads(line) for line in journal.read_text().splitlines()][-1]["for"] == "b"
    assert Budget(TEN, Spent(), journal).lost == 1


def test_a_settlement_that_was_cut_short_leaves_its_call_spent(tmp_path: Path) -> None:
    journal = tmp_path / "calls.jsonl"
    died = Budget(TEN, Spent(), journal)
    reservation = died.reserve(4, "a")
    assert reservation is not None
    died.settle(reservation, Usage(calls=4))
    journal.write_text(journal.read_text()[:-9])
    after = Budget(TEN, Spent(), journal)
    assert (after.used.calls, after.lost) == (4, 4)


def test_reservations_are_written_before_the_call_is_made(tmp_path: Path) -> None:
    journal = tmp_path / "calls.jsonl"
    Budget(TEN, Spent(), journal).reserve(2, "rules attempt 1")
    assert [json.loads(line) for line in journal.read_text().splitlines()] == [
        {"reserve": 0, "calls": 2, "for": "rules attempt 1"}
    ]


def test_a_journal_that_settles_what_nobody_reserved_is_refused(tmp_path: Path) -> None:
    journal = tmp_path / "calls.jsonl"
    journal.write_text('{"settle": 3, "calls": 1, "tokens": 0, "cost_usd": 0.0}\n')
    with pytest.raises(IntegrityError, match="nobody made"):
        Budget(TEN, Spent(), journal)


@pytest.mark.parametrize("spoiled", ["not json\n", '{"reserve": 0}\n', "[]\n", "\xff\n"])
def test_a_journal_that_cannot_be_read_is_refused_by_name(spoiled: str, tmp_path: Path) -> None:
    journal = tmp_path / "calls.jsonl"
    journal.write_bytes(spoiled.encode("latin-1"))
    with pytest.raises(IntegrityError, match=r"calls\.jsonl"):
        Budget(TEN, Spent(), journal)


def test_settling_twice_or_what_was_never_reserved_is_a_bug_that_shows() -> None:
    budget = Budget(TEN, Spent())
    reservation = budget.reserve(1, "a")
    assert reservation is not None
    budget.settle(reservation, Usage(calls=1))
    with pytest.raises(KeyError):
        budget.settle(reservation, Usage(calls=1))

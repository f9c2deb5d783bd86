"""Ceilings hold however many calls are made side by side, and whatever dies between reserving and settling."""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Barrier

import pytest

from drysweep_pipeline.budget import Budget, Ceilings, Meter, Spent, tripped_by
from drysweep_pipeline.errors import FinderError, IntegrityError
from drysweep_pipeline.values import ONE_CALL, Usage

TEN = Ceilings(rounds=5, calls=10)
DOLLAR = Ceilings(rounds=5, calls=100, cost_usd=1.0)


def calls(number: int) -> Usage:
    return Usage(calls=number)


def metered(budget: Budget, worst: Usage = ONE_CALL) -> Meter | None:
    reservation = budget.reserve(worst, "model attempt 1")
    return None if reservation is None else Meter(budget, worst, "model attempt 1", reservation)


@pytest.mark.parametrize("times", range(5))
def test_forty_threads_make_ten_calls_under_a_ceiling_of_ten(times: int, tmp_path: Path) -> None:
    budget, together = Budget(TEN, Spent(), tmp_path / "calls.jsonl"), Barrier(40)

    def call(number: int) -> bool:
        together.wait()
        reservation = budget.reserve(calls(1), f"call {number}")
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
    first = budget.reserve(calls(2), "a")
    assert first is not None
    assert budget.reserve(calls(2), "b") is None
    assert budget.reserve(calls(1), "c") is not None
    assert budget.used.calls == 3


def test_a_call_that_used_less_than_reserved_gives_the_rest_back_and_one_that_used_more_is_counted() -> None:
    budget = Budget(TEN, Spent())
    reservation = budget.reserve(calls(10), "a")
    assert reservation is not None
    budget.settle(reservation, Usage(calls=2))
    second = budget.reserve(calls(8), "b")
    assert second is not None
    budget.settle(second, Usage(calls=12))
    assert budget.used.calls == 14
    assert budget.reserve(calls(1), "c") is None


def test_as_many_single_calls_are_granted_as_fit() -> None:
    budget = Budget(TEN, Spent(calls=6))
    reservation, granted = budget.reserve_up_to(9, ONE_CALL, "judge")
    assert (granted, budget.tripped) == (4, "calls")
    budget.settle(reservation, Usage(calls=granted))
    assert budget.reserve_up_to(1, ONE_CALL, "judge")[1] == 0


@pytest.mark.parametrize(
    ("spent", "asked", "unit", "granted", "tripped"),
    [(0, 12, 3, 9, "calls"), (1, 12, 3, 9, "calls"), (2, 9, 3, 6, "calls"), (1, 9, 3, 9, None), (9, 3, 3, 0, "calls")],
)
def test_calls_that_only_make_sense_together_are_granted_together(
    spent: int, asked: int, unit: int, granted: int, tripped: str | None
) -> None:
    budget = Budget(TEN, Spent(calls=spent))
    assert budget.reserve_up_to(asked // unit, calls(unit), "judge")[1] == granted // unit
    assert budget.used.calls == granted
    assert budget.tripped == tripped


def test_nothing_trips_while_all_that_is_asked_for_fits() -> None:
    budget = Budget(TEN, Spent(calls=6))
    assert budget.reserve_up_to(4, ONE_CALL, "judge")[1] == 4
    assert budget.reserve_up_to(0, ONE_CALL, "judge")[1] == 0
    assert budget.tripped is None


def test_a_round_that_no_ceiling_stops_grants_everything() -> None:
    budget = Budget(None, Spent(calls=10**9))
    assert budget.reserve_up_to(500, ONE_CALL, "judge")[1] == 500
    assert budget.reserve(calls(10**12), "a") is not None
    assert budget.tripped is None


def test_the_first_ceiling_that_tripped_is_the_one_that_is_named() -> None:
    budget = Budget(Ceilings(5, calls=2, tokens=4), Spent())
    reservation = budget.reserve(calls(2), "a")
    assert budget.reserve(calls(1), "b") is None
    assert reservation is not None
    budget.settle(reservation, Usage(calls=1, tokens=4))
    assert budget.reserve(calls(1), "c") is None
    assert budget.tripped == "calls"


@pytest.mark.parametrize(
    ("spent", "more", "name"),
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
def test_the_ceiling_that_more_calls_would_not_fit_under_is_named(spent: Spent, more: int, name: str | None) -> None:
    assert tripped_by(Ceilings(5, 10, 100, 1.5, 60.0), spent, calls(more)) == name


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
    settled = died.reserve(calls(2), "a")
    assert settled is not None
    died.settle(settled, Usage(calls=2, tokens=7, cost_usd=0.5))
    died.reserve(calls(3), "b")
    after = Budget(TEN, Spent(), journal)
    assert (after.used, after.lost) == (Usage(5, 7, 0.5), calls(3))
    assert after.reserve(calls(6), "c") is None
    fits = after.reserve(calls(5), "c")
    assert fits is not None
    after.settle(fits, Usage(calls=5))
    again = Budget(TEN, Spent(), journal)
    assert (again.used.calls, again.lost.calls) == (10, 3)


@pytest.mark.parametrize("torn", ['{"reserve": 1, "ca', '{"reserve": 1, "calls": 4, "for": "b"}', "{"])
def test_a_torn_last_line_is_a_call_that_was_never_made(torn: str, tmp_path: Path) -> None:
    journal = tmp_path / "calls.jsonl"
    died = Budget(TEN, Spent(), journal)
    reservation = died.reserve(calls(1), "a")
    assert reservation is not None
    died.settle(reservation, Usage(calls=1))
    whole = journal.read_text()
    journal.write_text(whole + torn)
    after = Budget(TEN, Spent(), journal)
    assert (after.used.calls, after.lost.calls) == (1, 0)
    assert journal.read_text() == whole + torn, "who only looks cuts nothing off that another may be writing"
    after.reserve(calls(1), "b")
    assert journal.read_text().startswith(whole)
    assert [json.loads(line) for line in journal.read_text().splitlines()][-1]["for"] == "b"
    assert Budget(TEN, Spent(), journal).lost == ONE_CALL


def test_a_settlement_that_was_cut_short_leaves_its_call_spent(tmp_path: Path) -> None:
    journal = tmp_path / "calls.jsonl"
    died = Budget(TEN, Spent(), journal)
    reservation = died.reserve(calls(4), "a")
    assert reservation is not None
    died.settle(reservation, Usage(calls=4))
    journal.write_text(journal.read_text()[:-9])
    after = Budget(TEN, Spent(), journal)
    assert (after.used.calls, after.lost.calls) == (4, 4)


def test_reservations_are_written_before_the_call_is_made(tmp_path: Path) -> None:
    journal = tmp_path / "calls.jsonl"
    reservation = Budget(TEN, Spent(), journal).reserve(calls(2), "rules attempt 1")
    assert [json.loads(line) for line in journal.read_text().splitlines()] == [
        {"reserve": reservation, "calls": 2, "tokens": 0, "cost_usd": 0.0, "for": "rules attempt 1"}
    ]


@pytest.mark.parametrize(
    "said", [Usage(1, 10**20), Usage(1, 0, float("inf")), Usage(1, 0, float("nan")), Usage(10**9), Usage(1, -5), None]
)
def test_what_nobody_knows_or_cannot_be_counts_as_what_was_set_aside(said: Usage | None, tmp_path: Path) -> None:
    budget, worst = Budget(TEN, Spent(), tmp_path / "calls.jsonl"), Usage(1, 500, 0.5)
    meter = metered(budget, worst)
    assert meter is not None
    meter.more()
    assert meter.settle(said) == worst.times(2)
    assert budget.used == Budget(TEN, Spent(), tmp_path / "calls.jsonl").used == worst.times(2)


def test_two_processes_that_write_one_journal_never_make_it_unreadable(tmp_path: Path) -> None:
    journal = tmp_path / "calls.jsonl"
    one, other = Budget(TEN, Spent(), journal), Budget(TEN, Spent(), journal)
    mine, theirs = one.reserve(calls(2), "a"), other.reserve(calls(3), "b")
    assert mine is not None
    assert theirs is not None
    assert Budget(TEN, Spent(), journal).lost == calls(5)
    one.settle(mine, calls(1))
    other.settle(theirs, calls(3))
    assert Budget(TEN, Spent(), journal).used == calls(4)


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
    reservation = budget.reserve(calls(1), "a")
    assert reservation is not None
    budget.settle(reservation, Usage(calls=1))
    with pytest.raises(KeyError):
        budget.settle(reservation, Usage(calls=1))


@pytest.mark.parametrize("price", [0.1, 0.3, 1 / 3, 0.07])
def test_parallel_calls_never_cost_more_than_the_ceiling_at_their_worst(price: float, tmp_path: Path) -> None:
    budget, together = Budget(DOLLAR, Spent(), tmp_path / "calls.jsonl"), Barrier(40)
    worst = Usage(calls=1, tokens=1000, cost_usd=price)

    def call(number: int) -> Usage | None:
        together.wait()
        meter = metered(budget, worst)
        if meter is not None:
            meter.settle(worst)
        return None if meter is None else worst

    with ThreadPoolExecutor(40) as pool:
        made = [usage for usage in pool.map(call, range(40)) if usage]
    assert len(made) == round(1 / price - 0.499_999)
    assert budget.used.cost_usd <= 1.0 + 1e-9
    assert budget.tripped == "cost_usd"


def test_a_call_that_cost_less_than_its_worst_leaves_room_for_another() -> None:
    budget = Budget(DOLLAR, Spent())
    first = metered(budget, Usage(1, 10, 0.8))
    assert first is not None
    assert metered(budget, Usage(1, 10, 0.8)) is None
    first.settle(Usage(1, 2, 0.1))
    assert metered(budget, Usage(1, 10, 0.8)) is not None


def test_what_costs_nothing_goes_on_while_others_have_set_aside_all_there_is_and_not_once_it_is_spent() -> None:
    budget = Budget(DOLLAR, Spent())
    dear = metered(budget, Usage(1, 0, 1.0))
    assert dear is not None
    assert budget.reserve(ONE_CALL, "sql attempt 1") is not None
    dear.settle(Usage(1, 0, 1.0))
    assert budget.reserve(ONE_CALL, "sql attempt 1") is None
    assert budget.tripped == "cost_usd"


@pytest.mark.parametrize("times", range(3))
def test_retries_are_calls_so_that_forty_who_all_retry_make_ten_in_all(times: int, tmp_path: Path) -> None:
    budget, together = Budget(TEN, Spent(), tmp_path / "calls.jsonl"), Barrier(40)

    def call(number: int) -> int:
        together.wait()
        meter = metered(budget)
        if meter is None:
            return 0
        made = 1
        with suppress(FinderError):
            for _ in range(3):
                meter.more()
                made += 1
        meter.settle(calls(made))
        return made

    with ThreadPoolExecutor(40) as pool:
        assert sum(pool.map(call, range(40))) == 10
    assert budget.used.calls == 10
    assert Budget(TEN, Spent(), tmp_path / "calls.jsonl").used == budget.used


def test_a_retry_that_a_ceiling_forbids_names_the_ceiling() -> None:
    meter = metered(Budget(Ceilings(rounds=5, calls=1), Spent()))
    assert meter is not None
    with pytest.raises(FinderError, match="ceiling: calls") as refused:
        meter.more()
    assert refused.value.status == "ceiling"
    assert meter.reserved == ONE_CALL


def test_a_retry_whose_process_died_is_listed_beside_its_first_call(tmp_path: Path) -> None:
    journal = tmp_path / "calls.jsonl"
    died = metered(Budget(TEN, Spent(), journal), Usage(1, 50, 0.25))
    assert died is not None
    died.more()
    after = Budget(TEN, Spent(), journal)
    assert after.lost == after.used == Usage(2, 100, 0.5)
    assert after.lost_for == ("model attempt 1", "model attempt 1, once more")


def test_a_journal_of_before_tokens_were_set_aside_is_read_as_it_was_meant(tmp_path: Path) -> None:
    journal = tmp_path / "calls.jsonl"
    journal.write_text('{"reserve": 0, "calls": 2, "for": "a"}\n{"reserve": 1, "calls": 1, "for": "b"}\n')
    assert Budget(TEN, Spent(), journal).lost == calls(3)


def test_as_many_rulings_are_granted_as_the_scarcest_ceiling_allows() -> None:
    scarce = Ceilings(5, calls=100, tokens=1000, cost_usd=1.0)
    budget = Budget(scarce, Spent(tokens=100))
    assert budget.reserve_up_to(50, Usage(3, 90, 0.01), "judge")[1] == 10
    assert budget.tripped == "tokens"
    assert budget.used == Usage(30, 900, pytest.approx(0.1))

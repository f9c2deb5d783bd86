"""Times of planted files: like the material's, whatever those are like."""

import hashlib
from datetime import UTC, datetime, timedelta

from drysweep_pipeline.material.planted_times import times_like

START = datetime(2026, 3, 4, 5, 6, 7, 891_011, tzinfo=UTC)


def digests(count: int) -> dict[str, str]:
    return {f"{number}.yaml": hashlib.sha256(str(number).encode()).hexdigest() for number in range(count)}


def test_no_two_files_share_a_time_where_the_material_has_each_once() -> None:
    real = [START + timedelta(microseconds=1) * (number**3 + number) for number in range(40)]
    planted = times_like(real, digests(30))
    assert len({*real, *planted.values()}) == 70
    assert all(min(real) < time < max(real) for time in planted.values())


def test_times_are_as_fine_as_those_of_the_material() -> None:
    days = [datetime(2026, 1, 1, 23, tzinfo=UTC) + timedelta(days=3 * number) for number in range(20)]
    planted = times_like(days, digests(9)).values()
    assert {(time.hour, time.minute, time.second, time.microsecond) for time in planted} == {(23, 0, 0, 0)}
    assert len({*days, *planted}) == 29
    seconds = [START.replace(microsecond=0) + timedelta(seconds=7 * number) for number in range(20)]
    assert {time.microsecond for time in times_like(seconds, digests(9)).values()} == {0}


def test_a_time_that_many_files_share_is_shared_by_planted_ones_too() -> None:
    commits = [START.replace(microsecond=0) + timedelta(days=number) for number in range(4)]
    assert set(times_like([*commits, *commits, *commits], digests(20)).values()) <= set(commits)
    assert set(times_like([START, START], digests(3)).values()) == {START}


def test_the_same_content_has_the_same_time_and_one_without_room_has_one_of_the_materials() -> None:
    real = [START, START + timedelta(hours=1), START + timedelta(hours=2)]
    assert times_like(real, digests(5)) == times_like(list(reversed(real)), digests(5))
    close = [START, START + timedelta(microseconds=1)]
    assert set(times_like(close, digests(5)).values()) <= set(close)
    assert times_like([START], digests(1)) == {"0.yaml": START}
    assert times_like([], digests(2)) == {}
    one = [START, START + timedelta(microseconds=2)]
    assert START + timedelta(microseconds=1) in times_like(one, digests(2)).values()

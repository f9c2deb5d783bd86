"""What rounds add up to: the curve, what fewer passes would have missed, what silence cost."""

from typing import Any

from drysweep_pipeline.reports.figures import Passes, Shared, figures
from drysweep_pipeline.reports.shown import cut, decimal, number, percent, share


def rounds(*fresh: int, quiet: int = 0, **changes: Any) -> list[dict[str, Any]]:
    """Return so many decided rounds, of which the last ones were quiet."""
    spent = {"calls": 5, "seconds": 2.0, "tokens": 100, "cost_usd": 0.5}
    flags = {"complete": True, "repeat": False, "reopened": 0, **changes}
    return [
        {"round": at, "fresh": many, "quiet": at > len(fresh) - quiet, **flags, **spent}
        for at, many in enumerate(fresh, start=1)
    ]


def arrivals(*met: int, rejected: int = 0, blocking: int = 0) -> list[dict[str, int]]:
    """Return how many findings each round met first; rounds that met none have no row."""
    return [
        {"round": at, "findings": many, "rejected": rejected, "blocking": blocking}
        for at, many in enumerate(met, start=1)
        if many
    ]


def test_the_curve_adds_up_what_each_round_met_first() -> None:
    told = figures(rounds(61, 19, 4, 0, 0, quiet=2), arrivals(61, 19, 4), [])
    assert [point.by_then for point in told.curve] == [61, 80, 84, 84, 84]
    assert [point.fresh for point in told.curve] == [61, 19, 4, 0, 0]
    assert [point.quiet for point in told.curve] == [False, False, False, True, True]
    assert not any(point.known for point in told.curve)


def test_what_an_earlier_campaign_knew_is_apart_from_what_is_fresh() -> None:
    told = figures(rounds(2, 0), arrivals(10, 3), [])
    assert [(point.fresh, point.known, point.by_then) for point in told.curve] == [(2, 8, 10), (0, 3, 13)]


def test_a_backfill_since_then_makes_nothing_known_of_less_than_nothing() -> None:
    assert [point.known for point in figures(rounds(5), arrivals(4), []).curve] == [0]


def test_fewer_passes_are_counted_up_to_those_that_miss_nothing_that_is_known_of() -> None:
    told = figures(rounds(61, 19, 4, 0, 0), arrivals(61, 19, 4, rejected=1, blocking=2), [])
    assert told.passes == (Passes(1, 61, 23, 2, 4), Passes(2, 80, 4, 1, 2), Passes(3, 84, 0, 0, 0))


def test_a_campaign_that_met_nothing_would_have_missed_nothing() -> None:
    assert figures(rounds(0, 0), [], []).passes == (Passes(1, 0, 0, 0, 0),)
    assert figures([], [], []).passes == ()


def test_silence_costs_what_all_quiet_rounds_took() -> None:
    silence = figures(rounds(3, 0, 0, quiet=2), arrivals(3), []).silence
    assert (silence.rounds, silence.calls, silence.of_calls) == (2, 10, 15)
    assert (silence.seconds, silence.cost_usd, silence.of_cost_usd, silence.tokens) == (4.0, 1.0, 1.5, 200)


def test_sets_of_strategies_keep_their_order_and_become_json() -> None:
    told = figures(rounds(3), arrivals(3), [{"strategies": ["a", "b"], "findings": 2}])
    assert told.overlap == (Shared(("a", "b"), 2),)
    assert told.as_json["overlap"] == ({"strategies": ("a", "b"), "findings": 2},)


def test_a_text_is_cut_with_the_cut_said() -> None:
    assert cut("x" * 10, 10) == "x" * 10
    assert cut("x" * 1_000_000, 10) == "xxxxxxxxxx… (999,990 more characters)"


def test_shares_never_tell_a_few_as_none_nor_many_as_all() -> None:
    assert [percent(part, 1000) for part in (0, 1, 500, 999, 1000)] == ["0 %", "< 1 %", "50 %", "> 99 %", "100 %"]
    assert percent(0, 0) == "0 %"
    assert share(23, 84, "findings") == "23 of 84 findings (27 %)"
    assert (number(20000), decimal(1234.56)) == ("20,000", "1,234.6")

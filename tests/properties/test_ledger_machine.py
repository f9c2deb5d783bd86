"""Anything that can happen to a ledger, in any order, and sequences that are too rare to wait for."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from drysweep_pipeline.replay.pipeline import steps
from tests.ledger_machine import LedgerMachine
from tests.ledger_model import LENGTH

# No test is timed. One step is a quarter of a second, because it writes and syncs real files.
# The few sequences by default are the same ones each time; new ones are for the long tests.
_ANY = settings(deadline=None, suppress_health_check=list(HealthCheck))
QUICK = settings(_ANY, max_examples=2, stateful_step_count=14, derandomize=True)
LONG = settings(_ANY, max_examples=300, stateful_step_count=60)


class LongMachine(LedgerMachine):
    """The same, for a profile of its own."""


TestEverySequence = LedgerMachine.TestCase
TestEverySequence.settings = QUICK
TestEverySequenceForLong = pytest.mark.soak(LongMachine.TestCase)
TestEverySequenceForLong.settings = LONG


# --- sequences that are too rare to wait for ----------------------------------------------------------------------

FINDS: dict[str, Any] = {"a": [{"subject": "s1", "kind": "k", "severity": "major"}]}
NOTHING: dict[str, Any] = {"a": []}
OPEN_ENDED = {"rule": "dry", "k": 3, "ask": False, "manual": False, "rounds": LENGTH, "calls": None}


@contextmanager
def machine(*campaigns: list[dict[str, Any]], said: dict[str, str] | None = None, **policy: Any) -> Iterator[Any]:
    """Yield a machine with a campaign for each list of rounds, a day apart; what was not scripted brings nothing."""
    made = LedgerMachine()
    try:
        for day, played in enumerate(campaigns):
            script = [(finders, said or {}) for finders in [*played, *[NOTHING] * (LENGTH - len(played))]]
            made.a_campaign_starts(day, {**OPEN_ENDED, **policy}, script)
        yield made
        made.the_ledger_is_what_the_model_says()
        made.the_history_agrees_with_the_ledger()
        made.all_is_as_it_was_recorded()
    finally:
        made.teardown()


def deed(act: str) -> list[dict[str, Any]]:
    return [{"label": "s1/k", "act": act, "by": "ann", "evidence": "a.py:1", "lasts": None}]


def test_a_deed_that_was_landed_only_comes_before_what_is_done_in_another_campaign() -> None:
    with machine([FINDS], [FINDS]) as made:
        made.rounds_go_on(0, 4, False)
        made.rounds_go_on(1, 4, False)
        made.somebody_acts_on_findings(0, deed("fix"), True)
        made.the_ledger_is_what_the_model_says()
        made.somebody_acts_on_findings(1, deed("contest"), False)
        made.the_ledger_is_what_the_model_says()
        made.somebody_acts_on_findings(0, deed("confirm"), False)


def test_a_fix_that_was_landed_only_is_refuted_by_the_next_round() -> None:
    with machine([FINDS, FINDS], rule="clean") as made:
        made.rounds_go_on(0, 4, False)
        made.somebody_acts_on_findings(0, deed("fix"), True)
        made.rounds_go_on(0, 4, False)
        assert made.model.lives["s1/k"].state == "reopened"


def test_an_intake_done_again_does_not_reopen_what_a_person_settled_meanwhile() -> None:
    with machine([FINDS, FINDS], [FINDS], rule="clean") as made:
        made.rounds_go_on(0, 4, False)
        made.somebody_acts_on_findings(0, deed("fix"), False)
        made.rounds_go_on(0, 1, False)
        made.a_process_dies(0, 1)
        made.rounds_go_on(1, 4, False)
        made.somebody_acts_on_findings(1, deed("contest"), False)
        made.rounds_go_on(0, 4, False)
        assert made.model.lives["s1/k"].state == "contested"


def test_a_verdict_that_was_landed_only_does_not_overrule_a_person() -> None:
    with machine([FINDS], [FINDS], said={"s1/k": "rejected"}) as made:
        made.rounds_go_on(0, 2, False)
        made.a_process_dies(0, 1)
        made.rounds_go_on(1, 4, False)
        made.somebody_acts_on_findings(1, deed("confirm"), False)
        made.rounds_go_on(0, 2, False)
        assert made.model.lives["s1/k"].verdict == "confirmed"


def test_whoever_is_refused_after_a_power_cut_sees_where_the_campaign_stands() -> None:
    with machine([NOTHING], k=2) as made:
        made.rounds_go_on(0, 7, False)
        made.a_process_dies(0, 2)
        made.somebody_answers(0, "stop", 1, False, False)
        assert not made.stale


def test_an_old_round_run_again_after_a_power_cut_leaves_no_round_undecided() -> None:
    with machine([FINDS]) as made:
        made.rounds_go_on(0, 7, False)
        made.a_process_dies(0, 0)
        steps(made.real["c1"], 1)
        made.published(made.model.campaigns["c1"])


def test_a_file_that_went_bad_before_a_power_cut_is_named_all_the_same() -> None:
    with machine([FINDS]) as made:
        made.rounds_go_on(0, 3, False)
        made.a_landed_file_goes_bad(0, "a", True)
        made.dies_at_the_decision(*made.chosen(0), 1, 0)
        made.rounds_go_on(0, 4, False)


def test_a_campaign_that_was_stopped_before_its_first_round_is_as_it_was_landed() -> None:
    with machine([NOTHING]) as made:
        made.somebody_answers(0, "stop", 1, False, False)


def test_a_stop_that_was_landed_only_is_as_it_was_recorded() -> None:
    with machine([FINDS], [FINDS]) as made:
        made.somebody_answers(0, "stop", 1, False, True)
        made.rounds_go_on(1, 4, False)
        made.somebody_answers(1, "stop", 1, False, True)
        made.all_is_as_it_was_recorded()
        made.repairs(*made.chosen(0))
        made.repairs(*made.chosen(1))


def test_a_wider_ceiling_that_was_landed_only_is_as_it_was_recorded() -> None:
    with machine([NOTHING], calls=8) as made:
        made.somebody_answers(0, "resume", 1, True, True)

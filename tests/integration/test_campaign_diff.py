"""``campaign_diff(a, b)``: what became of findings between two campaigns, as far as anybody looked."""

import pytest

from drysweep_pipeline.errors import Refused
from drysweep_pipeline.history import query
from drysweep_pipeline.values import Outcome, State
from tests.publishing import JANUARY, MARCH, Sweeping, ask

CHANGES = "select label, change from campaign_diff('c1', 'c2') order by label"


def test_what_is_not_seen_is_not_gone_however_well_it_was_looked_for(swept: Sweeping) -> None:
    swept.start("c2", MARCH)
    swept.round("c2", 1, {"one": ["db/open"], "two": None}, Outcome.CONVERGED, snapshot="newer")
    sql = "select label, change, looked_for, sighted_in_a, sighted_in_b from campaign_diff('c1', 'c2') order by label"
    assert ask(swept, sql) == [
        ("api/no_owner", "not_observed", True, True, False),
        ("db/open", "fresh", None, False, True),
        # Its strategy did not run, so that its absence says nothing.
        ("web/no_owner", "not_observed", False, True, False),
    ]


def test_nothing_is_looked_for_on_material_that_it_was_sighted_on(swept: Sweeping) -> None:
    swept.start("c2", MARCH)
    swept.round("c2", 1, {"one": [], "two": []}, Outcome.CONVERGED)
    sql = "select label, looked_for from campaign_diff('c1', 'c2') order by label"
    assert ask(swept, sql) == [("api/no_owner", False), ("web/no_owner", False)]


def test_a_campaign_that_was_cut_short_looked_for_nothing_in_full(swept: Sweeping) -> None:
    swept.start("c2", MARCH)
    wave: dict[str, list[str] | None] = {"one": [], "two": ["web/no_owner"]}
    swept.round("c2", 1, wave, Outcome.BUDGET_EXCEEDED, "rounds", snapshot="newer")
    sql = "select label, change, looked_for, outcome_a, outcome_b from campaign_diff('c1', 'c2') order by label"
    assert ask(swept, sql) == [
        ("api/no_owner", "not_observed", False, "converged", "budget_exceeded"),
        ("web/no_owner", "still_there", None, "converged", "budget_exceeded"),
    ]


def test_what_was_fixed_and_not_seen_again_is_gone_and_what_is_seen_again_is_reopened(swept: Sweeping) -> None:
    swept.move("c1", 3, "api/no_owner", State.FIXED, "finding_fixed")
    swept.move("c1", 3, "web/no_owner", State.FIXED, "finding_fixed")
    swept.start("c2", MARCH)
    swept.round("c2", 1, {"one": [], "two": ["web/no_owner"]})
    swept.move("c2", 1, "web/no_owner", State.REOPENED, "finding_reopened")
    swept.round("c2", 2, {"one": [], "two": []}, Outcome.CONVERGED)
    assert ask(swept, CHANGES) == [("api/no_owner", "gone"), ("web/no_owner", "reopened")]


def test_what_is_settled_is_not_gone_only_because_it_was_not_seen(swept: Sweeping) -> None:
    swept.move("c1", 3, "api/no_owner", State.ACCEPTED_RISK, "risk_accepted")
    swept.start("c2", MARCH)
    swept.round("c2", 1, {"one": [], "two": []}, Outcome.CONVERGED)
    sql = "select label, change, status from campaign_diff('c1', 'c2') order by label"
    assert ask(swept, sql) == [
        ("api/no_owner", "settled", "accepted_risk"),
        ("web/no_owner", "not_observed", "open"),
    ]


def test_a_risk_that_expires_and_is_not_seen_is_open_and_not_observed(swept: Sweeping) -> None:
    swept.move("c1", 3, "api/no_owner", State.ACCEPTED_RISK, "risk_accepted")
    swept.start("c2", MARCH)
    swept.move("c2", 1, "api/no_owner", State.OPEN, "acceptance_expired")
    swept.round("c2", 1, {"one": [], "two": ["web/no_owner"]}, Outcome.CONVERGED)
    sql = "select label, change, open_again from campaign_diff('c1', 'c2') order by label"
    assert ask(swept, sql) == [("api/no_owner", "not_observed", None), ("web/no_owner", "still_there", None)]


def test_what_counts_again_although_it_was_settled_is_open_again(swept: Sweeping) -> None:
    swept.move("c1", 3, "api/no_owner", State.ACCEPTED_RISK, "risk_accepted")
    swept.move("c1", 3, "web/no_owner", State.CONTESTED, "finding_contested")
    swept.start("c2", MARCH)
    swept.move("c2", 1, "api/no_owner", State.OPEN, "acceptance_expired")
    swept.round("c2", 1, {"one": ["api/no_owner"], "two": ["web/no_owner"]}, Outcome.CONVERGED)
    sql = "select label, change, open_again from campaign_diff('c1', 'c2') order by label"
    held = ("web/no_owner", "still_there", None)
    assert ask(swept, sql) == [("api/no_owner", "still_there", "expired"), held]
    swept.move("c2", 1, "web/no_owner", State.OPEN, "contest_withdrawn")
    assert ask(swept, sql)[1] == ("web/no_owner", "still_there", "contested")


def test_what_stays_settled_or_was_open_all_along_is_not_open_again(swept: Sweeping) -> None:
    swept.start("between", JANUARY.replace(month=2))
    swept.round("between", 1, {"one": [], "two": []}, Outcome.CONVERGED)
    swept.start("c2", MARCH)
    swept.round("c2", 1, {"one": ["api/no_owner"], "two": ["web/no_owner"]}, Outcome.CONVERGED)
    sql = "select distinct change, open_again from campaign_diff('between', 'c2')"
    assert ask(swept, sql) == [("still_there", None)], "rotating angles miss what is open; that makes it no news"


def test_a_later_fix_does_not_change_how_two_earlier_campaigns_differ(swept: Sweeping) -> None:
    swept.start("c2", MARCH)
    swept.round("c2", 1, {"one": [], "two": []}, Outcome.CONVERGED)
    before = ask(swept, CHANGES)
    swept.start("c3", MARCH.replace(month=4))
    swept.round("c3", 1, {"one": [], "two": []}, Outcome.CONVERGED)
    swept.move("c3", 1, "api/no_owner", State.FIXED, "finding_fixed")
    assert ask(swept, CHANGES) == before
    sql = "select label, change from campaign_diff('c2', 'c3') order by label"
    assert ask(swept, sql) == [("api/no_owner", "gone"), ("web/no_owner", "not_observed")]


def test_what_evidence_closed_is_gone_once_and_not_again_in_the_next_campaign(swept: Sweeping) -> None:
    for campaign, month in (("c2", 3), ("c3", 4)):
        swept.start(campaign, MARCH.replace(month=month))
        swept.round(campaign, 1, {"one": [], "two": ["web/no_owner"]}, Outcome.CONVERGED)
        if campaign == "c2":
            swept.move("c2", 1, "api/no_owner", State.FIXED, "finding_fixed", actor="evidence")
    assert ask(swept, CHANGES) == [("api/no_owner", "gone"), ("web/no_owner", "still_there")]
    later = "select label, change from campaign_diff('c2', 'c3')"
    assert ask(swept, later) == [("web/no_owner", "still_there")]


def test_what_a_campaign_between_the_two_found_is_fresh_and_what_an_older_one_knew_is_not(swept: Sweeping) -> None:
    swept.start("between", JANUARY.replace(month=2))
    swept.round("between", 1, {"one": ["db/open"], "two": []}, Outcome.CONVERGED)
    swept.start("older", JANUARY.replace(year=2025))
    swept.round("older", 1, {"one": ["mail/open"], "two": []}, Outcome.CONVERGED)
    swept.start("c2", MARCH)
    swept.round("c2", 1, {"one": ["db/open", "mail/open", "api/no_owner"], "two": ["web/no_owner"]}, Outcome.CONVERGED)
    assert ask(swept, CHANGES) == [
        ("api/no_owner", "still_there"),
        ("db/open", "fresh"),
        ("mail/open", "still_there"),
        ("web/no_owner", "still_there"),
    ]


def test_two_campaigns_are_as_far_apart_as_what_they_look_at(swept: Sweeping) -> None:
    swept.start("c2", MARCH)
    swept.round("c2", 1, {"one": [], "two": []}, Outcome.CONVERGED)
    sql = "select distinct days_apart, date_diff('day', as_of_a, as_of_b) from campaign_diff('c1', 'c2')"
    assert ask(swept, sql) == [(59, 59)]


def test_campaigns_of_one_id_are_compared_within_each_sweep(swept: Sweeping) -> None:
    other = Sweeping(swept.home, "code")
    for sweep in (other, swept):
        if sweep is other:
            sweep.start("c1")
            sweep.round("c1", 1, {"one": ["api/no_owner"]}, Outcome.STOPPED)
        sweep.start("c2", MARCH)
        sweep.round("c2", 1, {"one": ["api/no_owner"], "two": []}, Outcome.CONVERGED)
    sql = "select sweep, label, change, outcome_a from campaign_diff('c1', 'c2') order by sweep, label"
    assert ask(swept, sql) == [
        ("code", "api/no_owner", "still_there", "stopped"),
        ("registry", "api/no_owner", "still_there", "converged"),
        ("registry", "web/no_owner", "not_observed", "converged"),
    ]


@pytest.mark.parametrize("pair", ["'c1', 'c9'", "'c9', 'c1'", "'c2', 'c1'", "'c1', 'c1'"])
def test_campaigns_that_cannot_be_compared_are_refused_rather_than_alike(swept: Sweeping, pair: str) -> None:
    swept.start("c2", MARCH)
    swept.round("c2", 1, {"one": ["api/no_owner"], "two": ["web/no_owner"]}, Outcome.CONVERGED)
    with pytest.raises(Refused, match=r"no sweep has a campaign c. and a later one c."):
        query(swept.home, f"select change from campaign_diff({pair})")

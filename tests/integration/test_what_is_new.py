"""What is new to a campaign, what people acted on, and what was looked for: one notion, told alike everywhere."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from drysweep_pipeline.engine.campaign import Overrides
from drysweep_pipeline.history import history, query
from drysweep_pipeline.history.campaign import Past
from drysweep_pipeline.home import Home
from drysweep_pipeline.reports import FORMATS
from drysweep_pipeline.reports.since import limits, lines
from drysweep_pipeline.reports.summary import summary
from drysweep_pipeline.reports.threshold import found, new_at
from drysweep_pipeline.values import Severity
from tests.story import tell
from tests.sweeps import begin, declare, registry, run_to_its_end

STORY = """\
why: What counts again although it did not, and what people acted on although it was rejected.
budget: {rounds: 4}
campaigns:
  - as_of: 2026-01-01
    rounds:
      - finders:
          a:
            - {subject: lapsed, kind: k, severity: blocker}
            - {subject: acted, kind: k, severity: blocker}
            - {subject: overruled, kind: k, severity: blocker}
            - {subject: junk, kind: k, severity: blocker}
            - {subject: stays, kind: k, severity: blocker}
        verdicts: {acted/k: rejected, overruled/k: rejected, junk/k: rejected}
      - finders: {a: []}
      - finders: {a: []}
        after:
          - accept_risk: {finding: lapsed/k, by: eve, expires: 2026-01-15}
          - escalate: acted/k
    expect: {}
  - as_of: 2026-02-01
    rounds:
      - finders:
          a:
            - {subject: lapsed, kind: k, severity: blocker}
            - {subject: acted, kind: k, severity: blocker}
            - {subject: overruled, kind: k, severity: blocker}
            - {subject: junk, kind: k, severity: blocker}
        after: [{confirm: {finding: overruled/k, by: ann}}]
      - finders: {a: []}
      - finders: {a: []}
    expect: {}
  - as_of: 2026-03-01
    rounds:
      - finders: {a: [{subject: stays, kind: k, severity: blocker}]}
      - finders: {a: []}
        after: [fix: stays/k]
    expect: {}
"""
ACTED = ["acted/k", "lapsed/k", "overruled/k"]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return tell(tmp_path_factory.mktemp("new"), "story", STORY)


def since(home: Home, campaign: str) -> dict[str, Any]:
    return dict(summary(home, "story", campaign)["since"])


def baseline(home: Home, campaign: str) -> dict[str, str]:
    results = json.loads(str(FORMATS["sarif"](home, "story", campaign)))["runs"][0]["results"]
    return {result["properties"]["label"]: result["baselineState"] for result in results}


def blockers(home: Home, campaign: str) -> list[str]:
    with history(home) as connection:
        return sorted(row["label"] for row in new_at(Past(connection, "story", campaign), Severity.BLOCKER))


def test_a_risk_that_ran_out_and_a_rejection_that_people_overruled_are_new_wherever_new_is_told(told: Home) -> None:
    said = since(told, "c2")
    assert (said["fresh"], said["reopened"], said["still_there"]) == (0, 0, 3)
    assert said["open_again"] == {"rejected": 2, "expired": 1}
    assert "3 still there (open again: 2 overruled rejections, 1 expired risk), 1 not observed" in said["sentence"]
    assert sorted(row["label"] for row in said["named"]) == ACTED
    assert "open again, expired risk: blocker lapsed/k" in lines(said)[1]
    assert found(told, "story", "c2", "new:blocker")
    assert blockers(told, "c2") == ACTED
    assert baseline(told, "c2") == dict.fromkeys(ACTED, "new")
    for format in ("md", "html"):
        assert "open again, overruled rejection" in str(FORMATS[format](told, "story", "c2"))


def test_what_has_been_open_since_an_earlier_campaign_is_not_new_because_the_one_before_did_not_see_it(
    told: Home,
) -> None:
    assert since(told, "c3")["still_there"] == 1
    assert not found(told, "story", "c3", "new:nit")
    assert blockers(told, "c3") == []
    assert baseline(told, "c3") == {"stays/k": "unchanged"}


def test_what_the_judge_rejected_and_a_person_escalated_is_shown_wherever_findings_are(told: Home) -> None:
    rows = query(told, "select label, status, verdict from findings order by label").to_pylist()
    assert {"label": "acted/k", "status": "escalated", "verdict": "rejected"} in rows
    assert "junk/k" not in [row["label"] for row in rows]
    assert "acted/k" in query(told, "select label from open_findings").to_pydict()["label"]
    for at in ("findings_as_of('2026-03-01')", "findings_known_at('2100-01-01')"):
        assert "acted/k" in query(told, f"select label from {at}").to_pydict()["label"]
    for format in ("md", "html", "sarif", "junit", "csv", "jsonl", "github"):
        report = str(FORMATS[format](told, "story", "c2"))
        listed = report if format != "html" else report[: report.index('id="provenance"')]
        assert "acted" in listed, format
        assert "junk" not in listed, format
    assert "1 rejected finding not listed here." in str(FORMATS["md"](told, "story", "c2"))
    assert query(told, "select rejected from campaigns where campaign = 'c2'").to_pydict() == {"rejected": [2]}


def test_a_fix_settles_nothing_for_any_threshold_and_is_not_open(told: Home) -> None:
    assert found(told, "story", "c3", "blocker")
    assert 'failures="1"' in str(FORMATS["junit"](told, "story", "c3"))
    metrics = str(FORMATS["openmetrics"](told, "story", "c3"))
    assert 'drysweep_findings_open{severity="blocker",sweep="story"} 0.0\n' in metrics
    assert 'drysweep_findings_unsettled{severity="blocker",sweep="story"} 1.0\n' in metrics
    assert query(told, "select label from open_findings where label = 'stays/k'").num_rows == 0


def test_the_newest_campaigns_are_as_many_as_were_asked_for_beside_their_findings(told: Home) -> None:
    sql = """
        with newest as (select campaign from campaigns where sweep = 'story' order by as_of desc limit 1)
        select
            (select count(*) from newest) as campaigns,
            (select count(*) from findings f join newest on newest.campaign = f.first_campaign) as findings
    """
    assert query(told, sql).to_pylist() == [{"campaigns": 1, "findings": 0}]


def test_reports_say_when_their_verdicts_and_states_were_known(told: Home) -> None:
    [at] = query(told, "select published_at from published()").to_pydict()["published_at"]
    stamp = at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")
    report = json.loads(str(FORMATS["json"](told, "story", "c1")))
    assert report["known_at"].startswith(stamp)
    assert f"| verdicts and states as known at | {report['known_at']} |" in str(FORMATS["md"](told, "story", "c1"))
    for format in ("html", "jsonl", "sarif", "junit"):
        assert report["known_at"] in str(FORMATS[format](told, "story", "c1")), format


def test_an_id_stays_as_it_is_written_where_a_sentence_begins_with_it() -> None:
    caveats = ["c1 was cut short (stopped): what is fresh here may have been there then", "this campaign goes on"]
    assert limits({"campaign": "c1", "caveats": caveats}) == f"{caveats[0]}. This campaign goes on."


WORSE = """\
why: What was known and open, and is reported as worse than it was.
budget: {rounds: 4}
campaigns:
  - as_of: 2026-01-01
    rounds:
      - finders:
          a:
            - {subject: grew, kind: k, severity: nit}
            - {subject: declined, kind: k, severity: nit}
            - {subject: contested, kind: k, severity: nit}
            - {subject: junk, kind: k, severity: nit}
            - {subject: fixed, kind: k, severity: nit}
            - {subject: always, kind: k, severity: major}
            - {subject: shrank, kind: k, severity: blocker}
            - {subject: disputed, kind: k, severity: blocker}
        verdicts: {junk/k: rejected}
      - finders: {a: [{subject: disputed, kind: k, severity: nit}]}
      - finders: {a: []}
        after:
          - decline: declined/k
          - contest: {finding: contested/k, by: ann, evidence: "https://a.example/why"}
          - fix: fixed/k
    expect: {}
  - as_of: 2026-02-01
    rounds:
      - finders:
          a:
            - {subject: grew, kind: k, severity: minor}
            - {subject: declined, kind: k, severity: major}
            - {subject: contested, kind: k, severity: blocker}
            - {subject: junk, kind: k, severity: blocker}
            - {subject: fixed, kind: k, severity: blocker}
            - {subject: always, kind: k, severity: major}
            - {subject: shrank, kind: k, severity: nit}
            - {subject: disputed, kind: k, severity: blocker}
      - finders: {a: [{subject: grew, kind: k, severity: blocker}]}
      - finders: {a: []}
    expect: {}
  - as_of: 2026-03-01
    rounds:
      - finders: {a: [{subject: grew, kind: k, severity: blocker}, {subject: always, kind: k, severity: blocker}]}
      - finders: {a: []}
    expect: {}
"""


@pytest.fixture(scope="module")
def worse(tmp_path_factory: pytest.TempPathFactory) -> Home:
    return tell(tmp_path_factory.mktemp("worse"), "story", WORSE)


def test_what_is_reported_as_worse_than_before_is_told_with_what_it_was(worse: Home) -> None:
    said = since(worse, "c2")
    assert said["raised"] == {"blocker": 1, "major": 1}
    assert "6 still there (raised: 1 to blocker, 1 to major), 1 reopened (1 blocker)" in said["sentence"]
    assert {row["label"]: row["raised_from"] for row in said["named"]} == {
        "grew/k": "nit",
        "declined/k": "nit",
        "fixed/k": "nit",
    }
    assert lines(said)[1] == (
        "  reopened, raised from nit: blocker fixed/k; raised from nit: blocker grew/k, major declined/k"
    )
    for format in ("md", "html"):
        assert "raised from nit" in str(FORMATS[format](worse, "story", "c2"))


def test_what_is_reported_as_worse_is_new_to_a_threshold_that_it_did_not_reach_before(worse: Home) -> None:
    assert blockers(worse, "c2") == ["fixed/k", "grew/k"]
    assert blockers(worse, "c3") == ["always/k"], "what had grown by the end of the one before is known"
    assert found(worse, "story", "c3", "new:blocker")
    assert not found(worse, "story", "c3", "new:major"), "it was major before"
    assert baseline(worse, "c3") == {"grew/k": "unchanged", "always/k": "updated"}


FINDS = """
    select s.service, 'no_owner' as failure_mode, s.path
    from services s
    where
        s.service = $name
        and not exists (select 1 from labels l where l.service = s.service and l.key = 'owner')
"""


def test_looked_for_is_what_was_asked_about_again_on_other_material_beyond_convergence_too(tmp_path: Path) -> None:
    home, services = Home(tmp_path / "home"), {"api": None, "x": "me", "y": "me", "z": "me"}
    registry(tmp_path / "registry", services)
    angles = [{"name": name} for name in services]
    path = declare(tmp_path, {"labels": FINDS}, labels={"angles": angles})

    def looked(day: int, past: int | None = None) -> dict[str, Any]:
        at = datetime(2026, 1, day, tzinfo=UTC)
        made = run_to_its_end(begin(path, home, campaign=f"d{day}", as_of=at, overrides=Overrides(past=past)))
        return dict(summary(home, "small", made.id)["since"] or {})

    looked(1)
    assert looked(2)["still_there"] == 1, "z and api were asked about"
    same = looked(3)
    assert (same["not_observed"], same["looked_for"]) == (1, 0)
    assert "what was seen then and not now is still there" in same["caveats"][0]
    registry(tmp_path / "registry", {**services, "api": "me"})
    again = looked(4)
    assert (again["not_observed"], again["looked_for"]) == (1, 1), "z and api once more, and the material is another"
    elsewhere = looked(5)
    assert (elsewhere["not_observed"], elsewhere["looked_for"]) == (1, 0), "the strategy ran, and not at that angle"
    looked(6)
    beyond = looked(7, past=2)
    assert (beyond["not_observed"], beyond["looked_for"]) == (1, 1), "x and y converged, z and api came after"

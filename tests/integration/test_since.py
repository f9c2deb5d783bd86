"""What a campaign tells of the one before it: what changed, what that is worth, and what a threshold makes of it."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from drysweep_pipeline.cli.app import main
from drysweep_pipeline.cli.backfilling import worst
from drysweep_pipeline.convergence import Answer
from drysweep_pipeline.declaration import read_declaration
from drysweep_pipeline.engine import people
from drysweep_pipeline.engine.campaign import Campaign, Overrides
from drysweep_pipeline.engine.looking_again import again
from drysweep_pipeline.engine.looking_again import begin as look_again
from drysweep_pipeline.home import Home
from drysweep_pipeline.notifications import record
from drysweep_pipeline.reports import markdown
from drysweep_pipeline.reports.contents import contents
from drysweep_pipeline.reports.since import lines
from drysweep_pipeline.reports.summary import summary
from drysweep_pipeline.reports.threshold import found
from tests.sweeps import begin, declare, registry, run_to_its_end, steps

# Finds every service without an owner; what it is called says how bad that is and whose it is.
FINDS = """
    select
        s.service, 'no_owner' as failure_mode, s.path,
        case when s.service like 'edge%' then 'blocker' when s.service like 'small%' then 'nit' else 'major' end
            as severity,
        case when s.service like 'edge%' then 'team:edge' when s.service like 'db%' then 'team:data' end as owner
    from services s
    where not exists (select 1 from labels l where l.service = s.service and l.key = 'owner')
"""
REJECTS = """
    select fp, case when service like 'known%' then 'rejected' else 'confirmed' end as verdict, 'r' as reason
    from findings
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "judge.sql").write_text(REJECTS)
    registry(tmp_path / "registry", {"api": None, "db": None, "edge1": "me", "known": None})
    declare(tmp_path, {"labels": FINDS}, judge={"kind": "sql", "query": {"file": "judge.sql"}})
    return tmp_path


def campaign(place: Path, day: int, to_its_end: bool = True, **options: Any) -> Campaign:
    begun = begin(place / "sweep.yaml", Home(place / "home"), as_of=datetime(2026, 1, day, 6, tzinfo=UTC), **options)
    return run_to_its_end(begun) if to_its_end else begun


def since(made: Campaign) -> dict[str, Any]:
    told = summary(made.home.home, "small", made.id)["since"]
    assert told is not None
    return dict(told)


def counts(told: dict[str, Any]) -> dict[str, int]:
    return {name: told[name] for name in ("fresh", "still_there", "gone", "reopened", "not_observed") if told[name]}


def test_the_first_campaign_says_that_there_is_none_before_it(place: Path) -> None:
    first = campaign(place, 1)
    told = summary(first.home.home, "small", first.id)
    assert told["since"] is None
    assert lines(None) == ["since: no campaign before it"]
    assert "**Since last time:** no campaign before it." in markdown.render(
        contents(first.home.home, "small", first.id)
    )


def test_one_look_tells_what_changed_since_the_campaign_before_and_whose_it_is(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign(place, 1)
    changed = {"api": "me", "edge1": None, "edge2": None, "small": None}
    registry(place / "registry", changed)
    now = campaign(place, 8)
    told = since(now)
    assert counts(told) == {"fresh": 3, "still_there": 1, "not_observed": 1}
    assert told["by_severity"]["fresh"] == {"blocker": 2, "nit": 1}
    assert told["by_owner"]["fresh"] == {"team:edge": 2, "": 1}
    assert (told["days"], told["outcome"], told["rejected_again"]) == (7.0, "converged", 1)
    before, counted = "since 20260101T060000Z (7 days, converged)", "1 still there, 1 not observed (1 looked for)"
    line = f"{before}: 3 fresh (2 blocker: team:edge, 1 nit), {counted}"
    edges = (f"blocker edge{number}/no_owner (team:edge)" for number in (1, 2))
    named = f"  fresh: {', '.join(edges)}, nit small/no_owner"
    assert lines(told) == [line, named]
    assert main(["status", now.id, "--home", str(place / "home")]) == 0
    shown = capsys.readouterr().out.splitlines()
    at = shown.index(line)
    assert shown[at - 1].startswith(f"small/{now.id}, as of "), "it comes first, after the name"
    assert shown[at + 1] == named
    assert shown[-1].startswith("CONVERGED"), "and the verdict last"
    report = markdown.render(contents(now.home.home, "small", now.id))
    assert report.index("CONVERGED") < report.index("**Since 20260101T060000Z (7 days") < report.index("| outcome |")
    assert "- fresh: blocker edge1/no\\_owner (team:edge)" in report or "- fresh: blocker edge1/no_owner" in report
    assert "known" not in report[: report.index("| outcome |")], "rejected findings are in no report"


def test_what_was_cut_short_is_said_to_prove_nothing(place: Path) -> None:
    cut = campaign(place, 1, overrides=Overrides(rounds=1))
    registry(place / "registry", {"edge1": None, "api": "me"})
    after = campaign(place, 2, overrides=Overrides(rounds=1))
    told = since(after)
    assert counts(told) == {"fresh": 1, "still_there": 1, "not_observed": 1}, "nothing is called gone"
    assert told["sentence"].startswith("since 20260101T060000Z (1 day, budget_exceeded (rounds)): ")
    said = lines(told)[-1]
    assert f"{cut.id} was cut short (budget_exceeded): what is fresh here may have been there then." in said
    assert "This campaign was cut short (budget_exceeded): counts are a lower bound" in said


def test_the_campaign_before_is_the_one_before_in_the_order_that_looked_at_all(place: Path) -> None:
    campaign(place, 1, campaign="first")
    stopped = campaign(place, 3, to_its_end=False, campaign="stopped")
    people.answer(stopped, Answer("stop", "ann"))
    open_ended = campaign(place, 5, to_its_end=False, campaign="open")
    last = campaign(place, 7, campaign="last")
    assert since(last)["campaign"] == "first", "neither stopped nor open has a decided round"
    steps(open_ended, 1)
    assert since(last)["campaign"] == "open"
    assert "open has not ended: it may yet find what is fresh here" in since(last)["caveats"]
    assert since(open_ended)["campaign"] == "first"
    between = campaign(place, 6, campaign="between")
    assert (since(last)["campaign"], since(between)["campaign"]) == ("between", "open"), "a backfill takes its place"


def test_who_looked_again_is_nobody_s_campaign_before(place: Path) -> None:
    first = campaign(place, 1)
    declaration = read_declaration(place / "sweep.yaml")
    stored = again(first.home.home, declaration, ["labels"], None, None)
    looked = run_to_its_end(look_again(first.home.home, stored, stored.stored[0]))
    last = campaign(place, 2)
    assert since(last)["campaign"] == first.id
    assert since(looked)["campaign"] == first.id
    assert "only labels looked, at a stored snapshot" in since(looked)["caveats"]


def test_what_a_round_counted_as_fresh_and_the_judge_rejected_is_said_beside_the_difference(place: Path) -> None:
    campaign(place, 1)
    registry(place / "registry", {"new": None, "known2": None, "known3": None})
    told = since(campaign(place, 2))
    assert told["fresh"] == 1, "of three that the round counted"
    assert told["caveats"] == ["what is rejected is left out, of which 2 were fresh in a round"]


def test_another_declaration_and_the_same_material_are_said(place: Path) -> None:
    campaign(place, 1)
    same = campaign(place, 2)
    assert since(same)["caveats"] == ["the material is the same as then"], "and nothing is fresh"
    registry(place / "registry", {"edge1": None})
    judge = {"kind": "sql", "query": {"file": "judge.sql"}}
    more = "select service, 'k' as failure_mode from services"
    declare(place, {"labels": FINDS + " ", "more": more}, judge=judge, description="who cares", convergence={"k": 3})
    told = since(campaign(place, 3))
    assert told["caveats"] == [
        "the sweep is declared otherwise than then: new strategies (more); strategies changed (labels); convergence",
        "what is rejected is left out, of which one was fresh in a round",
    ]
    declare(place, {"more": more}, judge=judge, description="nobody", convergence={"k": 3})
    assert "strategies left out (labels)" in since(campaign(place, 4))["caveats"][0]
    declare(place, {"more": more.replace("'k'", "'other'")}, judge=judge, convergence={"k": 3})
    missed = since(campaign(place, 5))["caveats"][-1]
    assert missed.startswith("the material is the same as then, so what is fresh was missed then")


def test_many_fresh_findings_are_named_as_far_as_twenty_and_counted_beyond(place: Path) -> None:
    campaign(place, 1)
    registry(place / "registry", {f"db{number}": None for number in range(25)})
    told = since(campaign(place, 2))
    assert (len(told["named"]), told["unnamed"]) == (20, 5)
    assert told["sentence"].startswith(
        "since 20260101T060000Z (1 day, converged): 25 fresh (25 major: team:data and others)"
    )
    assert lines(told)[1].endswith("; and 22 more")


def reopened(place: Path) -> Campaign:
    """A campaign that sees again what the one before it saw, and what was fixed in between."""
    first = campaign(place, 1)
    assert (
        main(
            [
                "findings",
                "fix",
                "db/no_owner",
                "--by",
                "ann",
                "--evidence",
                "services/db.yaml:1",
                "--home",
                str(place / "home"),
            ]
        )
        == 0
    )
    (place / "registry" / "services" / "db.yaml").write_text('{"name": "db", "labels": {"tier": "two"}}')
    assert first.id
    return campaign(place, 2)


def test_new_is_what_was_not_known_and_open_and_what_came_back(place: Path) -> None:
    home = Home(place / "home")
    second = reopened(place)
    assert counts(since(second)) == {"still_there": 1, "reopened": 1}
    assert found(home, "small", second.id, "new:major"), "it was fixed, and is there again"
    assert not found(home, "small", second.id, "new:blocker")
    third = campaign(place, 3)
    assert not found(home, "small", third.id, "new:major"), "the campaign before it has them all"
    registry(place / "registry", {"known2": None})
    fourth = campaign(place, 4)
    assert counts(since(fourth)) == {"still_there": 2}
    assert not found(home, "small", fourth.id, "new:nit"), "what was rejected does not count"


def test_what_is_known_and_open_is_not_new_because_the_campaign_before_did_not_come_to_it(place: Path) -> None:
    home = Home(place / "home")
    angled = {"angles": [{"name": "api"}, {"name": "db"}]}
    declare(place, {"labels": f"select * from ({FINDS}) where service = $name"}, labels=angled)
    whole = campaign(place, 1)
    assert found(home, "small", whole.id, "new:major"), "with none before it, all is new"
    cut = campaign(place, 2, overrides=Overrides(rounds=1))
    last = campaign(place, 3)
    assert counts(since(cut)) == {"still_there": 1, "not_observed": 1}
    assert not found(home, "small", last.id, "new:major"), "it has been open since the first one"
    assert found(home, "small", last.id, "major")
    assert since(last)["fresh"] == 0


def test_every_command_that_ends_campaigns_holds_them_against_the_threshold(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    at = ["--home", str(place / "home")]
    # Nobody listens there.
    told_to = {"kind": "webhook", "url": "http://127.0.0.1:1/", "retries": 0}
    judge = {"kind": "sql", "query": {"file": "judge.sql"}}
    declare(place, {"labels": FINDS}, judge=judge, notify=[told_to])
    sweep = str(place / "sweep.yaml")
    assert main(["run", sweep, "--as-of", "2026-01-01", "--rounds", "1", "--fail-on", "nit", *at]) == 3
    assert main(["resume", "20260101T000000Z", "--rounds", "9", "--by", "ann", "--fail-on", "major", *at]) == 6
    assert "not told: webhook (notify[0]): cannot be connected to" in capsys.readouterr().err
    dates = ["--from", "2026-01-02", "--to", "2026-01-02", "--every", "1"]
    assert main(["backfill", sweep, *dates, "--fail-on", "new:major", "--json", *at]) == 0
    filled = json.loads(capsys.readouterr().out)
    assert filled["since"]["campaign"] == "20260101T000000Z"
    assert record.read(Home(place / "home").sweep("small").landing("20260102T000000Z")).muted == "backfill"
    assert main(["backfill", sweep, *dates, "--fail-on", "major", *at]) == 6
    assert main(["backfill", sweep, "--strategies", "labels", "--fail-on", "major", *at]) == 2
    assert main(["resume", "20260101T000000Z", "--fail-on", "huge", *at]) == 2
    assert (worst([0, 6, 3]), worst([6, 0]), worst([0, 0]), worst([6, 5, 3])) == (3, 6, 0, 5)

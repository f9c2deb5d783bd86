"""Looking again at stored snapshots: since when a problem is there, and what such campaigns leave to others."""

import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from drysweep_pipeline.cli import main
from drysweep_pipeline.declaration import read_declaration
from drysweep_pipeline.engine.campaign import Campaign, Overrides, campaigns, load
from drysweep_pipeline.engine.deeds import Asked, act
from drysweep_pipeline.engine.journal import read_landed, standing
from drysweep_pipeline.engine.looking_again import Again, again
from drysweep_pipeline.engine.looking_again import begin as look_again
from drysweep_pipeline.engine.planning import plan, read_plan
from drysweep_pipeline.engine.state import read_state
from drysweep_pipeline.errors import DeclarationError, Refused
from drysweep_pipeline.history.looked_again import since
from drysweep_pipeline.history.reading import history
from drysweep_pipeline.home import Home
from drysweep_pipeline.keeping.gone import write_gone
from drysweep_pipeline.lifecycle import Act, Deed
from drysweep_pipeline.orchestration.checks import outcome_result
from drysweep_pipeline.queries import catalogue
from drysweep_pipeline.reports import FORMATS
from drysweep_pipeline.reports.summary import summary
from drysweep_pipeline.reports.threshold import found as over_threshold
from drysweep_pipeline.values import CAMPAIGN_ID, Rule
from tests.sweeps import NO_OWNER, begin, declare, registry, run_to_its_end

DOCUMENT = Path(__file__).parents[2] / "docs" / "looking_again.md"
DATES = [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2, 3)]
# What nobody looked for at first: a service without a tier.
NO_TIER = """
    select s.service, 'no_tier' as failure_mode, s.path
    from services s
    where not exists (select 1 from labels l where l.service = s.service and l.key = 'tier')
"""
FILES = {"kind": "files", "path": "registry"}
# Owners by date; whoever has an owner has no tier (see ``registry``).
OWNERS: list[dict[str, str | None]] = [
    {"api": None, "web": None, "db": None},
    {"api": None, "web": "team", "db": None},
    {"api": None, "web": "team", "db": "team"},
]


def swept(folder: Path) -> Path:
    """Three campaigns of a sweep that looks for owners only, over material that changes; return its file."""
    path = declare(folder, {"labels": NO_OWNER})
    for date, owners in zip(DATES, OWNERS, strict=True):
        registry(folder / "registry", owners)
        run_to_its_end(begin(path, Home(folder / "home"), as_of=date, campaign=f"c{date.day}"))
    return path


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("swept")
    swept(folder)
    return folder


@pytest.fixture
def place(once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a swept home, its own copy, and a sweep that has another strategy by now."""
    folder = tmp_path / "place"
    shutil.copytree(once, folder)
    declare(folder, {"labels": NO_OWNER, "tiers": NO_TIER})
    monkeypatch.chdir(folder)
    monkeypatch.setenv("DRYSWEEP_HOME", str(folder / "home"))
    return folder


@pytest.fixture(scope="module")
def after(once: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, and looked at again with the new strategy; to be read only."""
    folder = tmp_path_factory.mktemp("after") / "place"
    shutil.copytree(once, folder)
    declare(folder, {"labels": NO_OWNER, "tiers": NO_TIER})
    looked(folder)
    return folder


def looking(place: Path, names: tuple[str, ...] = ("tiers",), **between: Any) -> Again:
    return again(Home(place / "home"), read_declaration(place / "sweep.yaml"), names, **between)


def looked(place: Path, names: tuple[str, ...] = ("tiers",), **between: Any) -> list[Campaign]:
    """Look again with strategies, without Dagster; return the campaigns."""
    what = looking(place, names, **between)
    return [run_to_its_end(look_again(Home(place / "home"), what, stored)) for stored in what.stored]


def ask(place: Path, query: str, *given: Any) -> list[tuple[Any, ...]]:
    with history(Home(place / "home")) as connection:
        return connection.execute(query, list(given)).fetchall()


def first_seen(place: Path, label: str) -> tuple[str, int]:
    [row] = ask(
        place, "select first_campaign, day(first_as_of at time zone 'UTC') from all_findings where label = ?", label
    )
    return row[0], row[1]


def told(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    out = capsys.readouterr().out
    assert out.count("\n") == 1, "stdout is exactly one JSON object"
    found: dict[str, Any] = json.loads(out)
    return found


def test_a_new_strategy_is_told_since_when_as_the_document_shows(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    [(planned_words, planned), (words, shown)] = re.findall(
        r"^\$ drysweep (.+)\n((?:(?!```).*\n)*)", text, re.MULTILINE
    )
    [(name, sql)] = re.findall(r"`([^`\s]+\.sql)`:\n\n```sql\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    (place / name).write_text(sql)
    assert main(planned_words.split()) == 0
    assert nameless(capsys.readouterr().out) == nameless(planned)
    assert campaigns(Home(place / "home"), "small") == ["c1", "c2", "c3"], "a plan records nothing"
    shutil.rmtree(place / "registry")  # the material as it is now is none of its business
    what = looking(place, last=DATES[1])
    run_to_its_end(look_again(Home(place / "home"), what, what.stored[1]))  # one of the two is done already
    assert main(words.split()) == 0
    assert capsys.readouterr().out.endswith(shown)
    assert main([*words.split(), "--json"]) == 0
    done = told(capsys)
    assert [each["new"] for each in done["looked_at"]] == [[0, 0], [1, 0, 0]]
    assert [each["stands"] for each in done["campaigns"]] == ["converged", "converged"]
    assert [(each["label"], each["first_seen"], each["not_seen"]) for each in done["findings"]] == [
        ("web/no_tier", "2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z")
    ]
    assert "Partial: it looked again with tiers only, at the snapshot of c2." in done["looked_at"][1]["verdict"]
    assert done["looked_at"][1]["looked_again"] == {"at": "c2", "strategies": ["tiers"]}
    assert done["spent"]["calls"] == sum(each["calls"] for each in done["looked_at"]) == 5, "nothing is asked twice"
    assert done["at_most"] == {"calls": 0, "tokens": 0, "cost_usd": 0.0}


def nameless(text: str) -> str:
    """Return a text without digests, which stand for when files were written."""
    return re.sub(r"(?<=snapshot )[0-9a-f]{12}|(?<=\.look\.)[0-9a-f]{6}", "#", text)


def test_what_was_known_later_is_first_seen_earlier_and_later_rounds_stay_as_decided(place: Path) -> None:
    home = Home(place / "home")
    later = run_to_its_end(begin(place / "sweep.yaml", home, as_of=datetime(2026, 1, 9, tzinfo=UTC), campaign="c9"))
    assert first_seen(place, "web/no_tier") == ("c9", 9)
    decided = read_landed(later, 1)
    [(now,)] = ask(place, "select now()")
    known_then = "select label, first_campaign, sightings from findings_known_at(?) order by label"
    known = ask(place, known_then, now)
    looked(place)
    assert first_seen(place, "web/no_tier")[1] == 2
    assert ask(place, "select label from findings_as_of('2026-01-01') where label like '%no_tier'") == []
    assert ask(place, "select label from findings_as_of('2026-01-02') where label like '%no_tier'") == [
        ("web/no_tier",)
    ]
    assert read_landed(later, 1) == decided
    assert decided is not None
    assert len(decided.fresh) == 2
    assert ask(place, known_then, now) == known, "what was known then is what was known then"


def test_only_the_strategies_named_look_and_the_snapshot_is_the_stored_one(after: Path) -> None:
    home = Home(after / "home")
    for name in campaigns(home, "small")[3:]:
        mine, theirs = read_plan(load(home, "small", name), 1), read_plan(load(home, "small", name[:2]), 1)
        assert mine is not None
        assert theirs is not None
        assert (mine.snapshot, mine.place) == (theirs.snapshot, theirs.place)
        assert {look.strategy for look in mine.looks} == {"tiers"}
    assert ask(after, "select distinct strategy from strategy_runs where campaign like '%.look.%'") == [("tiers",)]
    assert ask(
        after, "select distinct looked_again, strategies from campaigns where looked_again is not null order by 1"
    ) == [(source, ["tiers"]) for source in ("c1", "c2", "c3")]


def test_a_strategy_that_changed_looks_again_under_another_id(place: Path) -> None:
    first = [stored.campaign for stored in looking(place).stored]
    assert [stored.campaign for stored in looking(place).stored] == first
    (place / "tiers.sql").write_text(NO_TIER + " and true")
    assert not set(first) & {stored.campaign for stored in looking(place).stored}


def test_a_program_that_changed_looks_again_under_another_id(place: Path) -> None:
    (place / "look.py").write_text("print('one')")
    listed = [{"name": "tiers", "kind": "command", "argv": [sys.executable, "look.py"]}]
    path = place / "sweep.yaml"
    data = json.loads(path.read_text())
    data["attributes"]["strategies"] = listed
    path.write_text(json.dumps(data))
    first = [stored.campaign for stored in looking(place).stored]
    (place / "look.py").write_text("print('two')")
    assert not set(first) & {stored.campaign for stored in looking(place).stored}


def test_an_id_is_never_longer_than_ids_may_be(place: Path) -> None:
    home = Home(place / "home")
    registry(place / "registry", {"new": None})
    plan(begin(place / "sweep.yaml", home, as_of=datetime(2026, 1, 4, tzinfo=UTC), campaign="x" * 63), 1)
    long = looking(place, first=datetime(2026, 1, 4, tzinfo=UTC)).stored[0].campaign
    assert len(long) == 63
    assert CAMPAIGN_ID.fullmatch(long)


def test_a_snapshot_that_is_gone_is_named_and_the_answer_is_not_0(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = Home(place / "home")
    gone = looking(place).stored[1].snapshot
    shutil.rmtree(home.sweep("small").snapshots / gone)
    assert main(["backfill", "sweep.yaml", "--strategies", "tiers", "--plan"]) == 0
    out = capsys.readouterr().out
    assert "2026-01-02" in out
    assert f"its snapshot {gone[:12]} is gone or broken" in out
    assert "at 2 stored snapshots" in out
    looked(place)  # all that is left is done, and still the answer lacks a date
    assert main(["backfill", "sweep.yaml", "--strategies", "tiers", "--json"]) == 3
    done = told(capsys)
    assert [each["at"] for each in done["left_out"] if each["lost"]] == ["c2"]
    assert "at 2 of 3 snapshots" in done["verdict"]
    assert "Out of reach: c2." in done["verdict"]
    assert "2026-01-03, and was not there on 2026-01-01" in done["verdict"]


def test_a_snapshot_that_was_pruned_is_told_as_that(place: Path) -> None:
    home = Home(place / "home").sweep("small")
    pruned = looking(place).stored[1].snapshot
    write_gone(home, pruned, "2026-02-03T04:05:06Z")
    shutil.rmtree(home.snapshots / pruned)
    [left] = looking(place).left_out
    assert (left.campaign, left.why, left.lost) == (
        "c2",
        f"its snapshot {pruned[:12]} was pruned on 2026-02-03",
        True,
    )


def test_a_snapshot_that_is_not_what_was_frozen_is_not_read(place: Path) -> None:
    spoilt = Home(place / "home").sweep("small").snapshots / looking(place).stored[0].snapshot / "files.parquet"
    spoilt.write_bytes(b"PAR1")
    assert [each.campaign for each in looking(place).left_out if each.lost] == ["c1"]


def test_one_snapshot_that_two_campaigns_read_is_looked_at_once(place: Path) -> None:
    run_to_its_end(
        begin(place / "sweep.yaml", Home(place / "home"), as_of=datetime(2026, 1, 4, tzinfo=UTC), campaign="c4")
    )
    what = looking(place)
    assert [stored.source.id for stored in what.stored] == ["c1", "c2", "c3"]
    assert [(each.campaign, each.why, each.lost) for each in what.left_out] == [
        ("c4", "it read the same snapshot as c3", False)
    ]


def test_material_that_was_changed_and_changed_back_is_looked_at_again_and_an_undone_fix_is_reopened(
    place: Path,
) -> None:
    home, web = Home(place / "home"), place / "registry" / "services" / "web.yaml"
    [before] = looked(place, first=DATES[2])
    fixed(load(home, "small", "c3"), "web/no_tier")
    then, when = web.read_text(), web.stat()
    for day in (4, 5, 6):
        if day == 5:
            web.write_text(then)
            os.utime(web, ns=(when.st_atime_ns, when.st_mtime_ns))
        elif day == 4:
            registry(place / "registry", {"web": None})
        plan(
            begin(place / "sweep.yaml", home, as_of=datetime(2026, 1, day, tzinfo=UTC), campaign=f"c{day}"),
            1,
        )
    what = looking(place, first=DATES[2])
    assert [(each.source.id, each.until.day) for each in what.stored] == [("c3", 3), ("c4", 4), ("c5", 6)]
    assert [(each.campaign, each.joined, each.lost) for each in what.left_out] == [("c6", True, False)]
    again_there = run_to_its_end(look_again(home, what, what.stored[2]))
    assert ask(place, "select state from all_findings where label = 'web/no_tier'") == [("reopened",)]
    with history(home) as connection:
        until = {before.id: what.stored[0].until, again_there.id: what.stored[2].until}
        told = {each["label"]: each for each in since(connection, "small", until)}
    assert told["web/no_tier"]["first_seen"] == "2026-01-03T00:00:00Z"
    assert told["web/no_tier"]["last_seen"] == "2026-01-06T00:00:00Z", "the last that read that snapshot"


def test_a_snapshot_that_canaries_cannot_be_planted_in_holds_no_other_up(place: Path) -> None:
    home = Home(place / "home")
    registry(place / "registry", {"mirror": None})
    plan(begin(place / "sweep.yaml", home, as_of=datetime(2026, 1, 4, tzinfo=UTC), campaign="c4"), 1)

    def planted(name: str) -> Again:
        put = place / "known" / "services" / f"{name}.yaml"
        put.parent.mkdir(parents=True, exist_ok=True)
        put.write_text('{"labels": {}}')
        expect = [{"name": "k", "finding": {"service": name, "failure_mode": "no_tier"}, "strategies": ["tiers"]}]
        declare(place, {"labels": NO_OWNER, "tiers": NO_TIER}, canaries={"path": "known", "expect": expect})
        return looking(place, first=DATES[2])

    clashes = planted("mirror")
    assert [each.source.id for each in clashes.stored] == ["c3"]
    [lost] = clashes.left_out
    assert (lost.campaign, lost.lost) == ("c4", True)
    assert "the canaries cannot be planted in its snapshot" in lost.why
    assert len(campaigns(home, "small")) == 4, "nothing is recorded that could never search"
    shutil.rmtree(place / "known")
    renamed = planted("another")
    assert [each.source.id for each in renamed.stored] == ["c3", "c4"]
    assert renamed.stored[0].campaign != clashes.stored[0].campaign, "another canary is another look"


def test_a_campaign_that_froze_nothing_and_material_of_another_kind_are_named(place: Path) -> None:
    begin(place / "sweep.yaml", Home(place / "home"), as_of=datetime(2026, 1, 4, tzinfo=UTC), campaign="c4")
    [nothing] = looking(place).left_out
    assert (nothing.campaign, nothing.lost) == ("c4", False), "nothing is missing that was ever there"
    assert "froze nothing" in nothing.why
    declare(place, {"tiers": "select path as service, 'm' as failure_mode from files"}, material=FILES)
    others = looking(place, last=DATES[2])
    assert [(each.campaign, each.lost) for each in others.left_out] == [("c1", True), ("c2", True), ("c3", True)]
    assert "of the kind registry, and is of the kind files now" in others.left_out[0].why


def test_dates_bound_which_snapshots_are_looked_at(place: Path) -> None:
    assert [each.source.id for each in looking(place, first=DATES[1]).stored] == ["c2", "c3"]
    assert [each.source.id for each in looking(place, last=DATES[0]).stored] == ["c1"]
    with pytest.raises(Refused, match="no campaign in that time"):
        looking(place, first=datetime(2027, 1, 1, tzinfo=UTC))


def test_a_strategy_that_is_not_declared_is_refused_with_the_nearest(place: Path) -> None:
    with pytest.raises(DeclarationError) as error:
        looking(place, ("tier",))
    assert "tiers" in str(error.value.help)
    assert main(["backfill", "sweep.yaml", "--strategies", "tiers", "--every", "1"]) == 2
    assert main(["backfill", "sweep.yaml"]) == 2
    assert main(["backfill", "sweep.yaml", "--from", "2026-01-01", "--to", "2026-01-02", "--rounds", "3"]) == 2


def test_findings_told_apart_by_other_fields_are_not_looked_for_again(place: Path) -> None:
    declare(place, {"tiers": NO_TIER}, fingerprint={"fields": ["service"]})
    with pytest.raises(Refused, match="tells findings apart by service, failure_mode, not by service"):
        looking(place)
    with pytest.raises(Refused, match="tells findings apart by service, failure_mode, not by service"):
        begin(place / "sweep.yaml", Home(place / "home"), campaign="other")


def test_the_next_campaign_takes_the_angles_that_it_would_have_taken(place: Path) -> None:
    angled = {"angles": [{"n": n} for n in range(5)]}
    declare(place, {"labels": NO_OWNER + " and $n is not null", "tiers": NO_TIER}, labels=angled)
    looked(place, last=DATES[0])
    campaign = begin(place / "sweep.yaml", Home(place / "home"), as_of=datetime(2026, 1, 5, tzinfo=UTC))
    ordinary = [load(campaign.home.home, "small", name) for name in ("c1", "c2", "c3")]
    assert campaign.offset == sum(standing(each).rounds for each in ordinary)


def test_a_campaign_that_looked_again_is_no_campaign_that_did_not_observe(once: Path, after: Path) -> None:
    counts = "select label, not_observed from all_findings order by label"
    before, now = dict(ask(once, counts)), dict(ask(after, counts))
    assert {label: now[label] for label in before} == before
    assert now["web/no_tier"] == 0
    assert ask(after, "select campaign, outcome from published()") == [("c3", "converged")]


def test_every_list_and_export_says_that_a_campaign_looked_again_and_with_which_strategies(
    after: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = Home(after / "home")
    [campaign] = [row[0] for row in ask(after, "select campaign from campaigns where looked_again = 'c1'")]
    assert main(["campaigns", "--home", str(home.root)]) == 0
    printed = capsys.readouterr().out
    assert f"small/{campaign} looked again with tiers only, at the snapshot of c1\n" in printed
    assert printed.count("converged (partial)") == 3
    row = next(csv.DictReader(io.StringIO(str(FORMATS["csv"](home, "small", campaign)))))
    assert (row["looked_again"], row["looked_with"]) == ("c1", "tiers")
    first = json.loads(str(FORMATS["jsonl"](home, "small", campaign)).splitlines()[0])
    assert (first["looked_again"], first["looked_with"]) == ("c1", ["tiers"])
    metrics = str(FORMATS["openmetrics"](home, "small", campaign))
    assert 'drysweep_looked_again{strategy="tiers",sweep="small"} 1.0' in metrics
    assert "drysweep_looked_again{" not in str(FORMATS["openmetrics"](home, "small", "c1"))


def test_beside_what_is_open_stands_the_outcome_of_the_newest_campaign_that_all_strategies_were_in(place: Path) -> None:
    registry(place / "registry", {"api": None, "new": None})
    fourth, short = datetime(2026, 1, 4, tzinfo=UTC), Overrides(rounds=1)
    run_to_its_end(begin(place / "sweep.yaml", Home(place / "home"), as_of=fourth, campaign="c4", overrides=short))
    [partial] = looked(place, first=fourth)
    assert standing(partial).outcome == "converged", "later at the same instant"
    rows = ask(place, catalogue()["open_by_owner"].sql.replace("$sweep", "'small'"))
    assert {row[-1] for row in rows} == {"budget_exceeded"}


def test_no_export_shows_that_some_strategies_went_quiet_as_a_sweep_that_did(after: Path) -> None:
    home = Home(after / "home")
    [campaign] = [row[0] for row in ask(after, "select campaign from campaigns where looked_again = 'c1'")]
    again = "looked again with tiers only, at the snapshot of c1"
    page = str(FORMATS["html"](home, "small", campaign))
    assert "<title>Converged for some strategies only: small" in page
    assert 'class="verdict calm converged"' in page, "and not as what is good"
    assert f"K = 2; {again}" in page, "beside all that could be taken for a total"
    assert f'name="campaign {campaign} converged, which {again}"' in str(FORMATS["junit"](home, "small", campaign))
    [run] = json.loads(str(FORMATS["sarif"](home, "small", campaign)))["runs"]
    assert run["invocations"][0]["exitCodeDescription"] == f"converged, {again}"
    notified = [each["descriptor"]["id"] for each in run["invocations"][0]["toolExecutionNotifications"]]
    assert "looked_again" in notified
    assert 'drysweep_converged{sweep="small"} 0.0' in str(FORMATS["openmetrics"](home, "small", campaign))
    assert f"Partial: it {again}." in str(outcome_result(summary(home, "small", campaign)).description)
    assert "<title>Converged: small c1" in str(FORMATS["html"](home, "small", "c1"))
    assert 'drysweep_converged{sweep="small"} 1.0' in str(FORMATS["openmetrics"](home, "small", "c1"))


def test_what_is_new_is_compared_with_the_campaign_before_and_not_with_who_looked_again(place: Path) -> None:
    home = Home(place / "home")
    looked(place, first=DATES[2])
    newest = run_to_its_end(begin(place / "sweep.yaml", home, as_of=datetime(2026, 1, 5, tzinfo=UTC), campaign="c5"))
    # Seen again at c3's snapshot, and by no campaign of the whole sweep: new to whoever compares campaigns.
    assert over_threshold(home, "small", newest.id, "new:major")
    assert not any(summary(home, "small", newest.id)["new"]), "and known to the ledger"


def test_who_looks_again_holds_no_schedule_up(place: Path) -> None:
    what = looking(place)
    campaign = look_again(Home(place / "home"), what, what.stored[0])
    state = read_state(campaign.state_path)
    assert state is not None
    assert state.looked_again
    run_to_its_end(campaign)
    state = read_state(campaign.state_path)
    assert state is not None
    assert state.looked_again, "still, once its rounds have written it anew"


def fixed(campaign: Campaign, label: str) -> None:
    act(campaign, [Asked(label, Deed(Act.FIX, "ann"))])


def test_a_fix_stands_where_only_a_snapshot_from_before_it_shows_the_finding(place: Path) -> None:
    home = Home(place / "home")
    fixed(load(home, "small", "c3"), "api/no_owner")  # after the snapshot of c3
    looked(place, ("labels",), first=DATES[2])
    assert ask(place, "select state from all_findings where label = 'api/no_owner'") == [("fixed",)]


def test_a_fix_that_a_stored_snapshot_from_after_it_refutes_is_reopened(place: Path) -> None:
    home = Home(place / "home")
    fixed(load(home, "small", "c1"), "web/no_owner")
    fixed(load(home, "small", "c2"), "api/no_owner")  # and the snapshot of c3 still has it
    looked(place, ("labels",), first=DATES[1])
    states = dict(ask(place, "select label, state from all_findings where label in ('api/no_owner', 'web/no_owner')"))
    assert states == {"api/no_owner": "reopened", "web/no_owner": "fixed"}


def test_evidence_closes_nothing_in_a_campaign_that_looks_again(once: Path, place: Path) -> None:
    # Where the material lay all along, which evidence asks for.
    path, home = declare(once, {"labels": NO_OWNER}, fixed_by="evidence"), Home(place / "home")
    fixed_ones = "select label from all_findings where state = 'fixed' order by label"
    what = again(home, read_declaration(path), ("labels",), first=DATES[2])
    run_to_its_end(look_again(home, what, what.stored[0]))
    assert ask(place, fixed_ones) == []
    run_to_its_end(begin(path, home, as_of=datetime(2026, 1, 4, tzinfo=UTC)))
    assert ask(place, fixed_ones) == [("db/no_owner",), ("web/no_owner",)], "which a campaign of the whole sweep does"


def test_a_clean_sweep_is_looked_at_again_under_the_dry_rule(place: Path) -> None:
    declare(place, {"labels": NO_OWNER, "tiers": NO_TIER}, convergence={"rule": "clean"})
    what = looking(place)
    assert {look_again(Home(place / "home"), what, each).policy.rule for each in what.stored} == {Rule.DRY}


def test_every_angle_is_used_though_what_was_known_is_quiet(place: Path) -> None:
    angled = {"angles": [{"name": name} for name in ("api", "db", "web", "nobody")]}
    declare(place, {"labels": NO_OWNER + " and s.service = $name"}, labels=angled)
    [campaign] = looked(place, ("labels",), last=DATES[0])
    assert standing(campaign).rounds == 4
    assert ask(place, "select sum(fresh) from rounds where campaign like '%.look.%'") == [(0,)]


def test_canaries_are_expected_of_those_who_look_and_of_nobody_else(place: Path) -> None:
    for name in ("mine", "theirs"):
        (place / "known" / "services").mkdir(parents=True, exist_ok=True)
        (place / "known" / "services" / f"{name}.yaml").write_text('{"labels": {}}')
    expect = [
        {"name": "m", "finding": {"service": "mine", "failure_mode": "no_tier"}, "strategies": ["tiers", "labels"]},
        {"name": "t", "finding": {"service": "theirs", "failure_mode": "no_owner"}, "strategies": ["labels"]},
    ]
    declare(place, {"labels": NO_OWNER, "tiers": NO_TIER}, canaries={"path": "known", "expect": expect})
    [campaign] = looked(place, last=DATES[0])
    canaries = campaign.declaration.sweep.canaries
    assert canaries is not None
    assert [(canary.name, canary.strategies) for canary in canaries.expect] == [("m", ("tiers",))]
    assert load(campaign.home.home, "small", campaign.id).declaration == campaign.declaration
    assert standing(campaign).outcome.value == "converged", "the canary was seen"
    assert ask(place, "select label from all_findings where subject in ('mine', 'theirs')") == []
    declare(place, {"labels": NO_OWNER, "tiers": NO_TIER}, canaries={"path": "known", "expect": expect[1:]})
    what = looking(place)
    assert what.declared_for(what.stored[0]).sweep.canaries is None


def test_what_was_begun_under_more_calls_than_are_left_is_not_gone_on_with(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    what = looking(place)
    look_again(Home(place / "home"), what, what.stored[0], Overrides(calls=50))
    command = ["backfill", "sweep.yaml", "--strategies", "tiers", "--json"]
    assert main([*command, "--calls", "40", "--plan"]) == 0
    planned = told(capsys)
    assert [each["stands"] for each in planned["campaigns"]] == ["unfinished", "new", "new"]
    assert planned["at_most"]["calls"] == 40
    assert main([*command, "--calls", "40"]) == 3
    out, err = capsys.readouterr()
    assert json.loads(out)["spent"] == {"calls": 0}
    assert "may take 50 calls, 40 of 40 are left" in err


def test_one_ceiling_holds_for_all_snapshots_together(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    what = looking(place)
    run_to_its_end(look_again(Home(place / "home"), what, what.stored[0]))  # 2 rounds, 2 calls
    command = ["backfill", "sweep.yaml", "--strategies", "tiers", "--calls", "2", "--json"]
    assert main(command) == 3
    done = told(capsys)
    assert done["spent"]["calls"] == 2
    assert [each["stands"] for each in done["campaigns"]] == ["converged", "new", "new"]
    assert "at 1 of 3 snapshots" in done["verdict"]


def test_a_look_that_was_killed_goes_on_without_asking_twice(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    what = looking(place)
    home = Home(place / "home")
    half = look_again(home, what, what.stored[0], Overrides(rounds=5))
    slow = [sys.executable, "-c", _DIES, str(place), half.id]
    killed = subprocess.run(slow, cwd=Path(__file__).parents[2], check=False, env=os.environ)
    assert killed.returncode == -signal.SIGKILL
    calls = (half.folder(1) / "calls.jsonl").read_text()
    assert standing(half).due == 1
    assert next(each.campaign for each in looking(place).stored) == half.id
    run_to_its_end(look_again(home, looking(place), looking(place).stored[0]))
    assert (half.folder(1) / "calls.jsonl").read_text() == calls, "the wave that landed was not searched again"
    assert standing(half).outcome.value == "converged"


# Lands the wave of a first round and dies before anything is taken in.
_DIES = """
import os, signal, sys
from pathlib import Path
from drysweep_pipeline.engine.campaign import load
from drysweep_pipeline.engine.wave import wave
from drysweep_pipeline.home import Home
campaign = load(Home(Path(sys.argv[1], "home")), "small", sys.argv[2])
list(wave(campaign, 1))
os.kill(os.getpid(), signal.SIGKILL)
"""

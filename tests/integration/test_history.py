"""The published history: what analysts find in it after rounds, backfills, rebuilds and people's actions."""

import json
from pathlib import Path

import filelock
import pytest

from drysweep_pipeline import fingerprint, landing
from drysweep_pipeline.candidates import land_rows
from drysweep_pipeline.errors import Busy, DrysweepError, NotFound, Refused
from drysweep_pipeline.history import history, query
from drysweep_pipeline.history.publish import publish
from drysweep_pipeline.home import Home
from drysweep_pipeline.reports import FORMATS, WRITTEN, write_report
from drysweep_pipeline.reports.summary import summary
from drysweep_pipeline.values import Outcome, RoundKey, State
from tests.publishing import JANUARY, MARCH, Sweeping, ask, fp
from tests.sweeps import NO_OWNER, begin, declare, registry, run_to_its_end


@pytest.fixture
def sweeping(tmp_path: Path) -> Sweeping:
    return Sweeping(Home(tmp_path))


def test_a_campaign_says_what_it_saw_what_was_judged_and_what_it_took(built: Sweeping) -> None:
    said = "campaign, outcome, k, rule, rounds, seen, confirmed, rejected, undecided, calls"
    sql = f"select {said}, snapshot, not_searched, cost_usd from campaigns"
    assert ask(built, sql) == [("c1", "converged", 2, "dry", 3, 3, 2, 1, 0, 9, "snap", 3, 1.5)]


def test_findings_leave_the_rejected_out_and_all_findings_do_not(built: Sweeping) -> None:
    sql = "select label, status, first_round, last_round, sightings, strategies, outcome from {} order by label"
    api, web = (
        ("api/no_owner", "open", 1, 3, 2, ["one"], "converged"),
        ("web/no_owner", "open", 2, 2, 1, ["two"], "converged"),
    )
    assert ask(built, sql.format("findings")) == [api, web]
    rejected = ("api/old", "rejected", 1, 1, 2, ["one", "two"], "converged")
    assert ask(built, sql.format("all_findings")) == [api, rejected, web]


def test_a_finding_says_what_it_is(built: Sweeping) -> None:
    said = "fp, severity, subject, kind, scope, title, path, line, attributes"
    sql = f"select {said} from findings where label = 'api/no_owner'"
    assert ask(built, sql) == [
        (fp("api/no_owner"), "major", "api", "no_owner", "api", "no_owner: api", "a.yaml", 3, '{"extra": 1}')
    ]


def test_each_strategys_yield_tells_what_it_alone_found(built: Sweeping) -> None:
    said = "strategy, found, unique_found, shared, calls, cost_per_unique, calls_per_unique"
    sql = f"select {said} from strategy_yield order by 1"
    assert ask(built, sql) == [("one", 2, 1, 1, 3, 0.75, 3.0), ("two", 2, 1, 1, 3, 0.75, 3.0)]


def test_a_later_round_says_what_a_finding_is_now_and_a_backfill_does_not(sweeping: Sweeping) -> None:
    sweeping.start("late", MARCH)
    sweeping.round("late", 1, {"one": ["api/old"]}, title="first")
    sweeping.round("late", 2, {"one": ["api/old"]}, title="second", severity="nit")
    sweeping.start("early", JANUARY)
    sweeping.round("early", 1, {"one": ["api/old"]}, title="third")
    found = ask(sweeping, "select title, severity, first_campaign, last_campaign, last_round, sightings from findings")
    assert found == [("second", "nit", "early", "late", 2, 3)]


def test_what_was_rejected_is_in_no_findings_of_any_time_unless_asked_for(built: Sweeping) -> None:
    for macro, instant in (("findings_as_of", JANUARY), ("findings_known_at", built.clock)):
        sql = f"select count(*) filter (label = 'api/old'), count(*) from {{}}{macro}('{instant.isoformat()}')"
        assert ask(built, sql.format("")) == [(0, 2)]
        assert ask(built, sql.format("all_")) == [(1, 3)]


def test_a_backfill_changes_what_was_in_the_material_but_not_what_was_known(sweeping: Sweeping) -> None:
    sweeping.start("late", MARCH)
    sweeping.round("late", 1, {"one": ["api/old"]})
    known = sweeping.clock
    sweeping.start("early", JANUARY)
    sweeping.round("early", 1, {"one": ["api/no_owner"]})
    as_of = f"select label from findings_as_of('{JANUARY.isoformat()}')"
    assert ask(sweeping, as_of) == [("api/no_owner",)]
    assert ask(sweeping, f"select label from findings_known_at('{known.isoformat()}')") == [("api/old",)]
    assert ask(sweeping, "select label from new_between('2026-01-01', '2026-03-01')") == [("api/old",)]


def test_what_a_person_did_later_was_not_known_before(swept: Sweeping) -> None:
    before = swept.clock
    swept.move("c1", 3, "api/no_owner", State.FIXED, "finding_fixed")
    status = "select status from {} where label = 'api/no_owner'"
    assert ask(swept, status.format("findings")) == [("fixed",)]
    assert ask(swept, status.format(f"findings_known_at('{before.isoformat()}')")) == [("open",)]
    assert ask(swept, status.format(f"findings_known_at('{swept.clock.isoformat()}')")) == [("fixed",)]
    assert ask(swept, "select label from open_findings") == [("web/no_owner",)]


def test_a_publication_that_was_missed_is_made_up_for_by_the_next(sweeping: Sweeping) -> None:
    sweeping.start("c1")
    sweeping.published = False
    sweeping.round("c1", 1, {"one": ["api/old"]})
    sweeping.published = True
    sweeping.round("c1", 2, {"one": ["web/no_owner"]})
    assert ask(sweeping, "select label, first_round from findings order by 1") == [("api/old", 1), ("web/no_owner", 2)]


def test_publishing_twice_changes_nothing(swept: Sweeping) -> None:
    views = (
        "campaigns",
        "rounds",
        "strategy_runs",
        "all_findings",
        "sightings",
        "verdicts",
        "events",
        "strategy_yield",
    )
    before = [sorted(map(str, ask(swept, f"from {view}"))) for view in views]
    for anew in (False, True):
        with swept.ledger() as ledger:
            publish(swept.home, swept.name, ledger, anew=anew)
        assert [sorted(map(str, ask(swept, f"from {view}"))) for view in views] == before


def test_sweeps_share_the_file_and_keep_apart(swept: Sweeping) -> None:
    other = Sweeping(swept.home, "code")
    other.start("c1")
    other.round("c1", 1, {"one": ["api/no_owner"]}, Outcome.STOPPED)
    sql = "select sweep, count(*), min(outcome) from findings group by sweep order by sweep"
    assert ask(swept, sql) == [("code", 1, "stopped"), ("registry", 2, "converged")]
    assert ask(swept, "select sweep, campaign, round, outcome, rounds from published() order by sweep") == [
        ("code", "c1", 1, "stopped", 1),
        ("registry", "c1", 3, "converged", 3),
    ]


def test_a_reader_keeps_its_history_while_the_next_one_is_published(swept: Sweeping) -> None:
    with history(swept.home) as connection:
        swept.start("c2", MARCH)
        swept.round("c2", 1, {"one": ["db/open"]})
        assert connection.execute("select count(*) from findings").fetchall() == [(2,)]
    assert ask(swept, "select count(*) from findings") == [(3,)]
    assert sorted(path.name for path in swept.home.history.parent.iterdir()) == [
        "history.duckdb",
        "history.lock",
        "parquet",
    ]


def test_a_publication_that_fails_leaves_the_old_history(swept: Sweeping) -> None:
    frozen = swept.home.sweep(swept.name).landing("c2") / "campaign.json"
    frozen.parent.mkdir(parents=True)
    frozen.write_text("{", encoding="utf-8")
    swept.start("c2", MARCH)
    with pytest.raises(DrysweepError):
        swept.round("c2", 1, {"one": ["db/open"]})
    assert ask(swept, "select count(*) from findings") == [(2,)]
    frozen.unlink()
    with swept.ledger() as ledger:
        publish(swept.home, swept.name, ledger)
    assert ask(swept, "select count(*) from findings") == [(3,)]
    assert sorted(path.name for path in swept.home.history.parent.iterdir()) == [
        "history.duckdb",
        "history.lock",
        "parquet",
    ]


def test_a_history_that_is_being_written_is_waited_for_within_bounds(swept: Sweeping) -> None:
    lock = filelock.FileLock(swept.home.history.parent / "history.lock")
    with lock, swept.ledger() as ledger, pytest.raises(Busy, match="being written"):
        publish(swept.home, swept.name, ledger, wait_seconds=0.1)


def test_a_history_that_nobody_published_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound), history(Home(tmp_path)):
        pass


@pytest.mark.parametrize(
    "sql",
    [
        "select count(*) from findings",
        "from findings",
        "from published()",
        "describe findings",
        "show tables",
        "summarize findings;",
        "with f as (select * from new_between('2025-01-01', '2027-01-01')) select * from f",
    ],
)
def test_an_analyst_may_ask(built: Sweeping, sql: str) -> None:
    assert query(built.home, sql).num_rows > 0


@pytest.mark.parametrize(
    "sql",
    [
        "select 1; select 2",
        "drop view findings",
        "insert into published.sweeps values ('a', now())",
        "select * from read_csv('/etc/passwd')",
        "attach 'x' as y",
        "select * from nowhere",
        "describe read_csv('/etc/passwd')",
        "",
    ],
)
def test_an_analyst_may_not(built: Sweeping, sql: str) -> None:
    with pytest.raises(DrysweepError) as refused:
        query(built.home, sql)
    assert refused.value.exit_code == 2


def test_an_answer_that_is_too_long_is_refused_not_cut(built: Sweeping) -> None:
    with pytest.raises(Refused, match="more than 1 rows"):
        query(built.home, "from findings", max_rows=1)


def test_a_summary_has_what_run_prints(built: Sweeping) -> None:
    told = summary(built.home, "registry", "c1")
    assert told == {
        "schema_version": 1,
        "sweep": "registry",
        "campaign": "c1",
        "as_of": "2026-01-01T00:00:00Z",
        "outcome": "converged",
        "reason": None,
        "rule": "dry",
        "k": 2,
        "rounds": 3,
        "quiet": 1,
        "repeats": 0,
        "looked_again": None,
        "new": [2, 1, 0],
        "seen": 3,
        "confirmed": 2,
        "rejected": 1,
        "undecided": 0,
        "unjudged": 0,
        "ledger_seen": 3,
        "calls": 9,
        "states": {"api/no_owner": "open", "api/old": "rejected", "web/no_owner": "open"},
        "events": [],
        "not_run": [],
        "not_searched": 3,
        "empty_sources": [],
        "blocking": {
            "raised": 1,
            "contested": 0,
            "contested_unverified": 0,
            "accepted": 0,
            "rejected": 1,
            "open": 1,
        },
        "since": None,
        "past": None,
        "notifications": [],
        "report": None,
        "waits_for": None,
        "why": None,
        "verdict": "CONVERGED after 3 rounds (K=2): 3 findings seen, 2 confirmed, 1 rejected. "
        "These strategies find no more. 3 files not searched.",
    }


def test_a_summary_tells_who_did_not_run_and_what_people_did(sweeping: Sweeping) -> None:
    sweeping.start("c1")
    sweeping.round("c1", 1, {"one": ["api/old"], "two": None})
    sweeping.move("c1", 1, "api/old", State.FIXED, "finding_fixed")
    told = summary(sweeping.home, "registry", "c1")
    assert told["not_run"] == [{"round": 1, "strategy": "two", "reason": "exit code 1"}]
    lost, fixed = told["events"]
    assert lost == {
        "name": "finder_not_run",
        "round": 1,
        "at": "2026-06-01T03:00:00Z",
        "actor": "two",
        "reason": "exit code 1",
    }
    assert (fixed["name"], fixed["label"], fixed["fp"]) == ("finding_fixed", "api/old", str(fp("api/old")))
    assert told["states"] == {"api/old": "fixed"}


def test_a_campaign_nobody_started_is_not_found(built: Sweeping) -> None:
    with pytest.raises(NotFound, match="c9"):
        summary(built.home, "registry", "c9")


def test_reports_land_whole_and_the_summary_names_one(swept: Sweeping) -> None:
    paths = write_report(swept.home, "registry", "c1")
    assert sorted(paths) == sorted(WRITTEN)
    assert summary(swept.home, "registry", "c1")["report"] == str(paths[WRITTEN[0]])
    text = paths["md"].read_text(encoding="utf-8")
    assert "CONVERGED after 3 rounds" in text
    assert "no_owner: api" in text
    assert "api/old" not in text


def test_a_report_names_commands_that_lead_to_its_home(swept: Sweeping) -> None:
    assert f"`drysweep run registry --home {swept.home.root}`" in FORMATS["md"](swept.home, "registry", "c1")


def test_a_report_on_a_failed_search_advises_a_new_campaign(sweeping: Sweeping) -> None:
    sweeping.start("c1")
    sweeping.round("c1", 1, {"one": None}, Outcome.FAILED, "not_run")
    text = FORMATS["md"](sweeping.home, "registry", "c1")
    assert "`drysweep run registry" in text.strip().splitlines()[-1]
    # Nothing of this campaign is left to go on with.
    assert "drysweep resume" not in text


def test_a_report_names_ten_files_that_were_not_searched_and_counts_the_rest(tmp_path: Path) -> None:
    folder = registry(tmp_path / "registry", {"api": None})
    for number in range(12):
        (folder / f"broken{number:02}.yaml").write_text("a: [")
    home = Home(tmp_path / "home")
    campaign = run_to_its_end(begin(declare(tmp_path, {"labels": NO_OWNER}), home))
    text = FORMATS["md"](home, "small", campaign.id)
    assert "12 files could not be read." in text
    assert "- broken09.yaml: " in text
    assert "broken10.yaml" not in text
    assert "- and 2 more" in text
    assert f"`drysweep run {tmp_path / 'sweep.yaml'} --home {home.root}`" in text
    unread = json.loads(FORMATS["json"](home, "small", campaign.id))["unread"]
    assert [each["file"] for each in unread] == [f"broken{number:02}.yaml" for number in range(12)]


def test_a_title_cannot_break_out_of_its_cell(sweeping: Sweeping) -> None:
    sweeping.start("c1")
    sweeping.round("c1", 1, {"one": ["api/old"]}, title="a|b `c`\x1b[2J\u202e <img src=x>\nnew")
    text = FORMATS["md"](sweeping.home, "registry", "c1")
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "<img" not in text
    assert "a\\|b \\`c\\`␛" in text


def test_labels_in_sql_are_the_labels_of_python(sweeping: Sweeping, tmp_path: Path) -> None:
    identities = [["a/b", 'q"', "é\n"], ["x", 1, 1.5, True], ["x", -3, 2**70, False]]
    rows = [{"subject": "s", "kind": "k", "id": row[0], "n": row[1], "m": row[2]} for row in identities]
    sweeping.start("c1")
    with sweeping.ledger() as ledger:
        folder = sweeping.home.sweep("registry").round(RoundKey("c1", 1))
        folder.mkdir(parents=True)
        path = folder / "one.a1.parquet"
        taken = land_rows(rows, "one", ("id", "n", "m"), path)
        run = landing.StrategyRun("one", "scripted", "ok", None, {}, 0, 7, (), landing.landed(path, taken.rows))
        manifest = landing.Manifest("c1", 1, "snap", 0, 1.0, (run,))
        landing.write_manifest(folder, manifest)
        sweeping._record(ledger, manifest, {}, Outcome.RUNNING, None)
        publish(sweeping.home, "registry", ledger)
    expected = {fingerprint.label(fingerprint.identity(row[:3])) for row in identities}
    assert {label for (label,) in ask(sweeping, "select label from findings")} == expected

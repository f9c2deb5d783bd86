"""Closing by evidence: what a later campaign provably no longer sees is fixed, and nothing else ever is."""

import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from drysweep_pipeline.convergence import Answer
from drysweep_pipeline.engine import deeds, people
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.deeds import Asked
from drysweep_pipeline.engine.planning import plan
from drysweep_pipeline.engine.wave import wave
from drysweep_pipeline.history import history
from drysweep_pipeline.home import Home
from drysweep_pipeline.lifecycle import Act, Deed
from tests.sweeps import AS_OF, NO_OWNER, begin, declare, ledger_rows, registry, run_to_its_end, steps

EVIDENCE: dict[str, Any] = {"fixed_by": "evidence", "budget": {"rounds": 6, "calls": 100}}
# A round says as much as a search that goes on to its end, where nothing but what it sees is asked about.
ONCE: dict[str, Any] = {"fixed_by": "evidence", "budget": {"rounds": 1, "calls": 100}}
# Each angle looks at the services of one first letter.
BY_LETTER = """
    select s.service, 'no_owner' as failure_mode, s.path
    from services s
    where
        starts_with(s.service, $letter)
        and not exists (select 1 from labels l where l.service = s.service and l.key = 'owner')
"""


def later(days: int) -> Any:
    return AS_OF + timedelta(days=days)


def campaign_on(path: Path, home: Home, day: int, owners: dict[str, str | None]) -> Campaign:
    """Sweep, to its outcome, a registry that looks like this on that day."""
    shutil.rmtree(path.parent / "registry" / "services", ignore_errors=True)
    registry(path.parent / "registry", owners)
    return run_to_its_end(begin(path, home, as_of=later(day)))


def states(home: Home) -> dict[str, str]:
    with history(home) as connection:
        return dict(connection.execute("select label, state from all_findings order by label").fetchall())


def not_observed(home: Home) -> dict[str, int]:
    with history(home) as connection:
        return dict(connection.execute("select label, not_observed from all_findings order by label").fetchall())


def events(home: Home, name: str) -> list[tuple[Any, ...]]:
    with history(home) as connection:
        query = "select label, campaign, actor, reason, evidence, verified from events where name = ? order by seq"
        return connection.execute(query, [name]).fetchall()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def test_what_a_strategy_saw_and_provably_sees_no_more_is_fixed_with_its_grounds(tmp_path: Path, home: Home) -> None:
    path = declare(tmp_path, {"search": NO_OWNER}, **EVIDENCE)
    first = campaign_on(path, home, 0, {"api": None, "db": None})
    second = campaign_on(path, home, 1, {"api": "ann", "db": None})
    assert states(home) == {"api/no_owner": "fixed", "db/no_owner": "open"}
    [(label, campaign, actor, reason, evidence, verified)] = events(home, "finding_fixed")
    assert (label, campaign, actor, verified) == ("api/no_owner", second.id, "evidence", True)
    assert reason.startswith(f"search saw it in round 3 of {first.id} and not in round 1 of {second.id}")
    assert evidence.startswith("sha256:")


def test_a_finding_that_comes_back_after_that_is_reopened_and_keeps_the_round_awake(tmp_path: Path, home: Home) -> None:
    path = declare(tmp_path, {"search": NO_OWNER}, **ONCE)
    for day, owner in enumerate((None, "ann", None)):
        last = campaign_on(path, home, day, {"api": owner, "db": None})
    assert states(home)["api/no_owner"] == "reopened"
    assert [(row[0], row[1]) for row in events(home, "finding_reopened")] == [("api/no_owner", last.id)]
    assert ledger_rows(last)["rounds"][-1][8] == 1


def test_by_default_a_person_fixes_and_absence_is_only_counted(tmp_path: Path, home: Home) -> None:
    path = declare(tmp_path, {"search": NO_OWNER}, budget=ONCE["budget"])
    for day, owner in enumerate((None, "ann", "ann")):
        campaign_on(path, home, day, {"api": owner, "db": None})
    assert states(home) == {"api/no_owner": "open", "db/no_owner": "open"}
    assert not_observed(home) == {"api/no_owner": 2, "db/no_owner": 0}


def test_a_run_at_another_angle_closes_nothing(tmp_path: Path, home: Home) -> None:
    search = {"angles": [{"letter": "a"}, {"letter": "d"}]}
    path = declare(tmp_path, {"search": BY_LETTER}, search=search, **ONCE)
    campaign_on(path, home, 0, {"api": None, "db": None})
    # The next campaign goes on where this one stopped: it looks along the other angle only.
    campaign_on(path, home, 1, {"api": "ann", "db": "ann"})
    assert states(home) == {"api/no_owner": "open"}
    campaign_on(path, home, 2, {"api": "ann", "db": "ann"})
    assert states(home) == {"api/no_owner": "fixed"}


def test_a_strategy_that_failed_closes_nothing(tmp_path: Path, home: Home) -> None:
    fails_when_asked = f"""
        with found as ({NO_OWNER})
        select *, case when (select count(*) from services where service = 'broken') > 0 then error('down') end as x
        from found
        union all
        select 'other', 'no_owner', 'x', case when (select count(*) from services where service = 'broken') > 0
            then error('down') end
    """
    path = declare(tmp_path, {"search": fails_when_asked, "quiet": NO_OWNER + " and false"}, **EVIDENCE)
    campaign_on(path, home, 0, {"api": None})
    failed = campaign_on(path, home, 1, {"api": "ann", "broken": "ann"})
    assert ledger_rows(failed)["campaigns"][-1][7] == "failed"
    assert states(home)["api/no_owner"] == "open"


def test_a_strategy_that_was_changed_meanwhile_closes_nothing(tmp_path: Path, home: Home) -> None:
    path = declare(tmp_path, {"search": NO_OWNER}, **ONCE)
    campaign_on(path, home, 0, {"api": None})
    path = declare(tmp_path, {"search": NO_OWNER + " and s.service <> 'api'"}, **ONCE)
    campaign_on(path, home, 1, {"api": None, "db": None})
    assert states(home) == {"api/no_owner": "open", "db/no_owner": "open"}


def test_material_that_is_read_in_another_way_closes_nothing(tmp_path: Path, home: Home) -> None:
    path = declare(tmp_path, {"search": NO_OWNER}, **ONCE)
    campaign_on(path, home, 0, {"api": None, "db": None})
    text = path.read_text().replace('"kind": "registry"', '"kind": "registry", "ignore": ["services/api.yaml"]')
    path.write_text(text)
    campaign_on(path, home, 1, {"api": None, "db": None})
    assert states(home)["api/no_owner"] == "open"


@pytest.mark.parametrize("broken", ["db.yaml", "renamed.yaml"])
def test_a_file_that_became_unreadable_closes_nothing_it_may_hide(tmp_path: Path, home: Home, broken: str) -> None:
    path = declare(tmp_path, {"search": NO_OWNER}, **ONCE)
    campaign_on(path, home, 0, {"api": None, "db": "ann"})
    services = registry(tmp_path / "registry", {"api": "ann"}) / "services"
    (services / "db.yaml").rename(services / broken)
    (services / broken).write_text("labels: [")
    run_to_its_end(begin(path, home, as_of=later(1)))
    assert states(home)["api/no_owner"] == "open"


def test_an_unreadable_file_that_only_came_along_hides_nothing(tmp_path: Path, home: Home) -> None:
    path = declare(tmp_path, {"search": NO_OWNER}, **ONCE)
    campaign_on(path, home, 0, {"api": None, "db": None})
    registry(tmp_path / "registry", {"api": "ann"})
    (tmp_path / "registry" / "services" / "torn.yaml").write_text("labels: [")
    run_to_its_end(begin(path, home, as_of=later(1)))
    assert states(home)["api/no_owner"] == "fixed"
    assert states(home)["db/no_owner"] == "open"


def test_what_stays_open_because_it_may_be_hidden_is_said_with_what_hides_it(tmp_path: Path, home: Home) -> None:
    path = declare(tmp_path, {"search": NO_OWNER}, **ONCE)
    campaign_on(path, home, 0, {"api": None, "db": "ann"})
    registry(tmp_path / "registry", {"api": "ann"})
    (tmp_path / "registry" / "services" / "db.yaml").write_text("labels: [")
    second = run_to_its_end(begin(path, home, as_of=later(1)))
    [(_, campaign, _, reason, _, _)] = events(home, "closing_withheld")
    assert campaign == second.id
    assert reason == (
        "not seen, and open all the same: 1 may be hidden by what is unread, gone or empty now (services/db.yaml)"
    )


def test_every_other_doubt_is_said_as_well(tmp_path: Path, home: Home) -> None:
    path = declare(tmp_path, {"search": NO_OWNER, "other": NO_OWNER}, other={"proves_absence": False}, **ONCE)
    campaign_on(path, home, 0, {"api": None})
    path = declare(
        tmp_path, {"search": NO_OWNER + " -- said anew", "other": NO_OWNER}, other={"proves_absence": False}, **ONCE
    )
    campaign_on(path, home, 1, {"api": "ann"})
    [(_, _, _, reason, _, _)] = events(home, "closing_withheld")
    assert reason == (
        "not seen, and open all the same: "
        "1 were seen by a strategy, or in material, that is declared otherwise now (search)"
    )


def test_a_strategy_that_only_picks_may_say_that_its_silence_proves_nothing(tmp_path: Path, home: Home) -> None:
    path = declare(tmp_path, {"search": NO_OWNER}, search={"proves_absence": False}, **ONCE)
    campaign_on(path, home, 0, {"api": None})
    campaign_on(path, home, 1, {"api": "ann"})
    assert states(home) == {"api/no_owner": "open"}


def test_a_search_that_leaves_things_to_chance_closes_nothing(tmp_path: Path, home: Home) -> None:
    sampled = NO_OWNER + " and hash(s.service, $seed) % 1 = 0"
    path = declare(tmp_path, {"search": sampled}, **ONCE)
    campaign_on(path, home, 0, {"api": None})
    campaign_on(path, home, 1, {"api": "ann"})
    assert states(home) == {"api/no_owner": "open"}


def test_the_same_material_on_a_later_day_proves_nothing(tmp_path: Path, home: Home) -> None:
    flickers = NO_OWNER + " and $round = 1"
    path = declare(tmp_path, {"search": flickers}, **EVIDENCE)
    campaign_on(path, home, 0, {"api": None})
    campaign_on(path, home, 1, {"api": None})
    assert states(home) == {"api/no_owner": "open"}


def test_what_people_settled_and_what_was_rejected_is_left_alone(tmp_path: Path, home: Home) -> None:
    judge = "select fp, case when service = 'web' then 'rejected' else 'confirmed' end as verdict from findings"
    (tmp_path / "judge.sql").write_text(judge)
    path = declare(tmp_path, {"search": NO_OWNER}, judge={"kind": "sql", "query": {"file": "judge.sql"}}, **ONCE)
    names = ("api", "db", "mail", "web")
    first = campaign_on(path, home, 0, dict.fromkeys(names))
    deeds.act(
        first,
        [
            Asked("api/no_owner", Deed(Act.CONTEST, by="ann", evidence="services/api.yaml:1")),
            Asked("db/no_owner", Deed(Act.ACCEPT_RISK, by="ann")),
            Asked("mail/no_owner", Deed(Act.ESCALATE, by="ann")),
        ],
    )
    campaign_on(path, home, 1, dict.fromkeys(names, "ann"))
    assert states(home) == {
        "api/no_owner": "contested",
        "db/no_owner": "accepted_risk",
        "mail/no_owner": "escalated",
        "web/no_owner": "open",
    }


def test_a_backfilled_campaign_does_not_close_what_a_later_one_still_saw(tmp_path: Path, home: Home) -> None:
    path = declare(tmp_path, {"search": NO_OWNER}, **ONCE)
    campaign_on(path, home, 0, {"api": None, "db": None})
    campaign_on(path, home, 9, {"api": None, "db": None, "web": "ann"})
    campaign_on(path, home, 5, {"api": "ann", "db": None})
    assert states(home) == {"api/no_owner": "open", "db/no_owner": "open"}


def test_a_campaign_that_goes_on_and_sees_it_after_all_takes_its_evidence_back(tmp_path: Path, home: Home) -> None:
    disowned = """
        select l.service, 'no_owner' as failure_mode, 'services/' || l.service || '.yaml' as path
        from labels l
        where l.key = 'owner' and l.value = $gone
    """
    path = declare(
        tmp_path,
        {"search": NO_OWNER, "disowned": disowned},
        disowned={"angles": [{"gone": "ann"}, {"gone": "bob"}]},
        **EVIDENCE,
    )
    campaign_on(path, home, 0, {"api": None, "db": None})
    registry(tmp_path / "registry", {"api": "ann"})
    second = begin(path, home, as_of=later(1))
    steps(second, 1)
    people.answer(second, Answer("stop", "ann"))
    assert states(home) == {"api/no_owner": "fixed", "db/no_owner": "open"}
    people.answer(second, Answer("resume", "ann"))
    steps(second, 2)
    assert states(home) == {"api/no_owner": "reopened", "db/no_owner": "open"}
    with history(home) as connection:
        rounds = connection.execute(
            "select round, quiet, reopened from rounds where campaign = ?", [second.id]
        ).fetchall()
    assert sorted(rounds) == [(1, True, 0), (2, False, 1)]


UNSTEADY = {
    "random": "random() < 2",
    "clock": "s.modified_at <= now()",
    "sample": "s.service in (select service from services using sample 100%)",
    "limit": "s.service in (select service from services order by 1 limit 99)",
}


def test_a_query_that_may_leave_out_what_is_there_closes_nothing(tmp_path: Path, home: Home) -> None:
    conditions = {**UNSTEADY, "steady": "true"}
    queries = {name: NO_OWNER.replace("'no_owner'", f"'{name}'") + f" and {each}" for name, each in conditions.items()}
    path = declare(tmp_path, queries, **ONCE)
    campaign_on(path, home, 0, {"api": None})
    campaign_on(path, home, 1, {"api": "ann"})
    assert states(home) == {**{f"api/{name}": "open" for name in UNSTEADY}, "api/steady": "fixed"}


SECRET = "select path, 'secret' as what from files where contains(text, 'hunter2')"


def files_sweep(folder: Path, material: str, query: str = SECRET) -> Path:
    """Declare a search of files for a word, by evidence."""
    where = {"material": {"kind": "files", "path": material}, "fingerprint": {"fields": ["path", "what"]}}
    return declare(folder, {"search": query}, **where, **ONCE)


def test_a_text_that_became_binary_hides_what_it_held(tmp_path: Path, home: Home) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "a.md").write_text("hunter2")
    path = files_sweep(tmp_path, "m")
    run_to_its_end(begin(path, home))
    (tmp_path / "m" / "a.md").write_bytes(b"hunter2\0\xff")
    run_to_its_end(begin(path, home, as_of=later(1)))
    assert states(home) == {"a.md/secret": "open"}
    assert "unread, gone or empty now (a.md)" in events(home, "closing_withheld")[0][3]


def test_a_file_that_was_moved_took_its_findings_along(tmp_path: Path, home: Home) -> None:
    (tmp_path / "m").mkdir()
    for name in ("a.md", "b.md", "c.md"):
        (tmp_path / "m" / name).write_text(f"hunter2 {name}")
    path = files_sweep(tmp_path, "m", SECRET + " and path not like 'old/%'")
    run_to_its_end(begin(path, home))
    (tmp_path / "m" / "old").mkdir()
    (tmp_path / "m" / "a.md").rename(tmp_path / "m" / "old" / "a.md")
    (tmp_path / "m" / "b.md").unlink()
    run_to_its_end(begin(path, home, as_of=later(1)))
    # One is somewhere else as it was, one is gone for good.
    assert states(home) == {"a.md/secret": "open", "b.md/secret": "fixed", "c.md/secret": "open"}
    assert "(a.md (moved))" in events(home, "closing_withheld")[0][3]


def test_material_of_which_most_is_gone_at_once_was_cut_off(tmp_path: Path, home: Home) -> None:
    (tmp_path / "m" / "mount").mkdir(parents=True)
    for name in ("mount/a.md", "mount/b.md", "c.md"):
        (tmp_path / "m" / name).write_text(f"hunter2 {name}")
    path = files_sweep(tmp_path, "m")
    run_to_its_end(begin(path, home))
    shutil.rmtree(tmp_path / "m" / "mount")
    run_to_its_end(begin(path, home, as_of=later(1)))
    assert set(states(home).values()) == {"open"}
    assert "2 files that are gone" in events(home, "closing_withheld")[0][3]


def test_material_at_another_place_is_other_material(
    tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    for region, text in (("eu", "hunter2"), ("us", "nothing")):
        (tmp_path / region).mkdir()
        (tmp_path / region / "a.md").write_text(text)
    path = files_sweep(tmp_path, "{env.REGION}")
    for day, region in enumerate(("eu", "us")):
        monkeypatch.setenv("REGION", region)
        run_to_its_end(begin(path, home, as_of=later(day)))
    assert states(home) == {"a.md/secret": "open"}


@pytest.mark.parametrize("change", ["renamed", "emptied", "nested"])
def test_a_shared_file_that_says_nothing_any_more_hides_what_it_showed(tmp_path: Path, home: Home, change: str) -> None:
    open_ports = "select service, value as failure_mode from live where key = 'port'"
    registered = {
        "kind": "registry",
        "path": "registry",
        "map": {"services": "services/*.yaml", "live": "live.json"},
    }
    path = declare(tmp_path, {"search": open_ports}, material=registered, **ONCE)
    live = registry(tmp_path / "registry", {"api": "ann", "db": "ann"}) / "live.json"
    said = '{"api": {"port": 80}, "db": {"port": 22}}'
    live.write_text(said)
    run_to_its_end(begin(path, home))
    if change == "renamed":
        live.rename(live.with_name("live-v2.json"))
    else:
        live.write_text("{}" if change == "emptied" else f'{{"services": {said}}}')
    run_to_its_end(begin(path, home, as_of=later(1)))
    assert states(home) == {"api/80": "open", "db/22": "open"}


def test_a_landed_file_that_is_gone_proves_nothing_and_stops_nothing(tmp_path: Path, home: Home) -> None:
    path = declare(tmp_path, {"search": NO_OWNER}, **EVIDENCE)
    first = campaign_on(path, home, 0, {"api": None, "db": None})
    for round in (1, 2, 3):
        (first.folder(round) / "search.a1.parquet").unlink()
    second = campaign_on(path, home, 1, {"api": "ann", "db": "ann"})
    assert ledger_rows(second)["campaigns"][-1][7] == "converged"
    assert states(home) == {"api/no_owner": "open", "db/no_owner": "open"}
    assert events(home, "closing_withheld")


def test_what_a_dead_process_left_unclosed_is_closed_when_the_next_campaign_starts(
    tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = declare(tmp_path, {"search": NO_OWNER}, **ONCE)
    campaign_on(path, home, 0, {"api": None})
    with monkeypatch.context() as patch:
        patch.setattr("drysweep_pipeline.engine.closings.actions.land", _dies)
        with pytest.raises(SystemExit):
            campaign_on(path, home, 1, {"api": "ann"})
    assert states(home) == {"api/no_owner": "open"}
    begin(path, home, as_of=later(2))
    assert states(home) == {"api/no_owner": "fixed"}


def _dies(*_: object) -> None:
    raise SystemExit


@pytest.mark.parametrize("rule", ["dry", "clean"])
def test_a_fix_recorded_while_a_round_is_searched_is_not_refuted_by_that_round(
    tmp_path: Path, home: Home, rule: str
) -> None:
    path = declare(tmp_path, {"search": NO_OWNER}, convergence={"rule": rule})
    registry(tmp_path / "registry", {"api": None})
    first = begin(path, home)
    steps(first, 1)
    people.answer(first, Answer("stop", "ann"))
    second = begin(path, home, as_of=later(1))
    plan(second, 1)
    list(wave(second, 1))
    asked = [Asked("api/no_owner", Deed(Act.FIX, by="ann"))]
    deeds.act(deeds.campaign_for(home, asked), asked)
    steps(second, 1)
    assert states(home) == {"api/no_owner": "fixed"}
    # What is seen on material from after the fix refutes it all the same.
    third = begin(path, home, as_of=later(2))
    steps(third, 1)
    assert states(home) == {"api/no_owner": "reopened"}

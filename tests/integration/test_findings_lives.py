"""What people settled, over campaigns and rounds: risks run out and lapse, contests stay, blocking findings block."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from drysweep_pipeline.cli import main
from drysweep_pipeline.convergence import Answer
from drysweep_pipeline.declaration import read_declaration
from drysweep_pipeline.engine import deeds, people
from drysweep_pipeline.engine.campaign import Campaign, Overrides
from drysweep_pipeline.engine.deeds import Asked
from drysweep_pipeline.engine.journal import standing
from drysweep_pipeline.engine.naming import meant
from drysweep_pipeline.history import history
from drysweep_pipeline.history.biography import biography
from drysweep_pipeline.home import Home
from drysweep_pipeline.lifecycle import Act, Deed
from drysweep_pipeline.orchestration.definitions import build_definitions
from drysweep_pipeline.orchestration.inprocess import InProcess
from drysweep_pipeline.orchestration.resources import HomeResource
from drysweep_pipeline.values import Outcome
from tests.findings import FOUND, SERVICES, declared, everything, owned
from tests.sweeps import AS_OF, begin, registry, run_to_its_end, steps

Read = pytest.CaptureFixture[str]
CONTEST = ["--evidence", "services/api.yaml:1", "--by", "ann"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    """A home beside the small sweep, which nothing has searched yet."""
    monkeypatch.setenv("DRYSWEEP_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    owned(tmp_path)
    return Home(tmp_path / "home")


def act(*arguments: str) -> None:
    assert main(["findings", *arguments]) == 0


def campaign_on(home: Home, day: int, most: int | None = 1, **attributes: Any) -> Campaign:
    """Sweep the registry as it is, so many days later, for a round, or for as many as it takes."""
    path = Path("sweep.yaml")
    if attributes:
        declared(Path.cwd(), **attributes)
    given = {"as_of": AS_OF + timedelta(days=day), "campaign": f"d{day}", "overrides": Overrides(rounds=most)}
    return run_to_its_end(begin(path, home, **given))


def row(home: Home, subject: str) -> dict[str, Any]:
    with history(home) as connection:
        cursor = connection.execute("select * from all_findings where subject = ?", [subject])
        names = [column[0] for column in cursor.description or ()]
        return dict(zip(names, cursor.fetchall()[0], strict=True))


def logged(home: Home, name: str) -> list[tuple[Any, ...]]:
    with history(home) as connection:
        query = "select campaign, label, reason from events where name = ? order by seq"
        return connection.execute(query, [name]).fetchall()


def test_an_accepted_risk_runs_out_in_the_next_campaign_after_its_last_day(home: Home) -> None:
    campaign_on(home, 0)
    act("accept-risk", "api/no_owner", "--by", "ann", "--expires", "2026-01-11")
    act("accept-risk", "web/no_owner", "--by", "ann", "--expires", "2026-01-10")
    campaign_on(home, 10)
    assert (row(home, "api")["state"], row(home, "web")["state"]) == ("accepted_risk", "open")
    campaign_on(home, 11)
    assert row(home, "api")["state"] == "open"
    assert [event[:2] for event in logged(home, "acceptance_expired")] == [
        ("d10", "web/no_owner"),
        ("d11", "api/no_owner"),
    ]
    told = biography(home, "small", meant(home, "api/no_owner").fp)
    assert "is open again: its accepted risk ran out in d11" in told.sentence


def test_an_accepted_risk_lapses_where_its_file_changed_and_nowhere_else(home: Home) -> None:
    campaign_on(home, 0)
    act("accept-risk", "api/no_owner", "web/no_owner", "--by", "ann")
    (Path("registry") / "services" / "api.yaml").write_text(json.dumps({"name": "api", "labels": {"tier": "two"}}))
    campaign_on(home, 1)
    assert (row(home, "api")["state"], row(home, "web")["state"]) == ("open", "accepted_risk")
    assert logged(home, "acceptance_lapsed") == [
        ("d1", "api/no_owner", "services/api.yaml is no longer what the risk was accepted for")
    ]


def test_no_finder_undoes_a_contest_by_another_severity_or_another_text(home: Home) -> None:
    campaign_on(home, 0)
    act("contest", "api/no_owner", *CONTEST)
    act("accept-risk", "web/no_owner", "--by", "ann")
    changed = FOUND.replace("else 'major'", "else 'blocker'").replace(
        "s.path,", "s.path, 'anew ' || s.service as title,"
    )
    Path("labels.sql").write_text(changed)
    campaign_on(home, 1)
    api = row(home, "api")
    assert (api["severity"], api["title"], api["state"]) == ("blocker", "anew api", "contested")
    assert row(home, "web")["state"] == "accepted_risk"


def test_a_fix_that_did_not_hold_is_reopened_and_named_again(home: Home) -> None:
    campaign_on(home, 0)
    act("fix", "api/no_owner", "--by", "ann", "--revision", "d44f0bf")
    assert (row(home, "api")["fixed_revision"], row(home, "api")["state_by"]) == ("d44f0bf", "ann")
    campaign_on(home, 1)
    assert (row(home, "api")["state"], row(home, "api")["fixed_revision"]) == ("reopened", None)
    told = biography(home, "small", meant(home, "api/no_owner").fp)
    assert "is reopened: it was sighted again" in told.sentence
    assert [each["name"] for each in told.life if each["what"] == "event"] == ["finding_fixed", "finding_reopened"]


def test_later_campaigns_that_do_not_see_a_finding_are_counted_and_weighed(home: Home) -> None:
    campaign_on(home, 0)
    registry(Path("registry"), {**SERVICES, "api": "team"})
    campaign_on(home, 10, most=None)
    begin(Path("sweep.yaml"), home, as_of=AS_OF + timedelta(days=20), campaign="unrun")
    assert [row(home, name)["not_observed"] for name in ("api", "web")] == [1, 0]
    registry(Path("registry"), SERVICES)
    campaign_on(home, 5)
    assert row(home, "api")["not_observed"] == 1, "a backfilled sighting moves the last one, d10 still comes after it"
    told = biography(home, "small", meant(home, "api/no_owner").fp)
    [absent] = [each for each in told.life if each["what"] == "absence"]
    assert (absent["campaign"], absent["worth"], absent["outcome"]) == ("d10", "same_angle", "converged")
    assert (absent["looked"][0]["strategy"], absent["looked"][0]["material"]) == ("labels", "other")
    assert "1 later campaign did not observe it" in told.sentence
    with history(home) as connection:
        as_of = "select not_observed from findings_as_of(timestamptz '2026-01-08') where subject = 'api'"
        assert connection.execute(as_of).fetchall() == [(0,)]
    asked = [Asked("api/no_owner", Deed(Act.FIX, "ann"))]
    assert deeds.campaign_for(home, asked).id == "d10", "the one of day 20 has not looked yet"


@pytest.mark.parametrize(("broken", "worth"), [(True, "not_run"), (False, "not_asked")])
def test_absence_says_nothing_where_nobody_who_saw_it_looked(home: Home, broken: bool, worth: str) -> None:
    campaign_on(home, 0)
    registry(Path("registry"), {**SERVICES, "api": "team"})
    text = (
        FOUND.replace("s.service, 'no_owner'", "cast(s.service as integer) as service, 'no_owner'") if broken else FOUND
    )
    campaign_on(home, 1, looks={"labels" if broken else "anew": text})
    told = biography(home, "small", meant(home, "api/no_owner").fp)
    assert [each["worth"] for each in told.life if each["what"] == "absence"] == [worth]


def test_under_the_clean_rule_only_what_is_settled_stops_blocking(home: Home) -> None:
    path = owned(Path.cwd(), convergence={"rule": "clean", "k": 2}, turns="manual")
    campaign = begin(path, home, campaign="clean")
    steps(campaign, 1)
    assert blocking(home) == [3]
    act("contest", "api/no_owner", *CONTEST)
    act("accept-risk", "db/no_owner", "--by", "ann")
    act("escalate", "web/no_owner", "--by", "ann")
    go(campaign)
    assert blocking(home)[-1] == 1, "what is escalated is not settled until a person decides"
    act("contest", "web/no_owner", "--evidence", "services/web.yaml:1", "--by", "ann")
    go(campaign)
    assert blocking(home)[-1] == 0
    act("confirm", "cron/no_owner", "--by", "ann", "--reason", "the exemption ended")
    go(campaign)
    assert blocking(home)[-1] == 1, "a rejection that a person overrules blocks again"
    assert standing(campaign).outcome is not Outcome.CONVERGED


def go(campaign: Campaign) -> None:
    steps(campaign, people.answer(campaign, Answer("go", "ann")).due or 0)


def blocking(home: Home) -> list[int]:
    with history(home) as connection:
        return [found for (found,) in connection.execute("select blocking from rounds order by round").fetchall()]


def test_a_label_of_two_sweeps_is_refused_until_one_is_named(home: Home, capsys: Read) -> None:
    campaign_on(home, 0)
    campaign_on(home, 1, name="other")
    capsys.readouterr()
    for command in (["fix", "api/no_owner", "--by", "ann"], ["show", "api/no_owner"]):
        assert main(["findings", *command]) == 2
        assert "names findings of 2 sweeps\n  help: say which sweep is meant: other, small\n" in capsys.readouterr().err
    act("fix", "api/no_owner", "--by", "ann", "--sweep", "other")
    act("fix", "web/no_owner", "--by", "ann", "--campaign", "small/d0")
    act("explain", "api/no_owner", "--sweep", "small")
    act("list", "other")
    with history(home) as connection:
        found = connection.execute(
            "select sweep, label from all_findings where state = 'fixed' order by all"
        ).fetchall()
    assert found == [("other", "api/no_owner"), ("small", "web/no_owner")]


@pytest.fixture(scope="module")
def instance() -> Any:
    with dg.DagsterInstance.ephemeral() as made:
        yield made


def record(home: Home, instance: dg.DagsterInstance, **config: Any) -> dg.ExecuteInProcessResult:
    resources = dg.Definitions(resources={"home": HomeResource(root=str(home.root))})
    definitions = dg.Definitions.merge(build_definitions(read_declaration(Path("sweep.yaml"))), resources)
    given = {"ops": {"small_record_acts": {"config": config}}}
    job = definitions.resolve_job_def("small_findings")
    return job.execute_in_process(given, instance=instance, raise_on_error=False)


ACTS: list[dict[str, Any]] = [
    {"act": "fix", "findings": ["api/no_owner"], "by": "ann", "revision": "d44f0bf"},
    {"act": "contest", "findings": ["db/no_owner"], "by": "ann", "evidence": "services/db.yaml:1", "reason": "it has"},
    {"act": "accept_risk", "findings": ["web/no_owner"], "by": "bob", "expires": "2026-03-01"},
    {"act": "decline", "findings": ["tiny/no_owner"], "by": "bob"},
]


def test_the_job_refuses_what_the_command_refuses_and_changes_nothing(home: Home, instance: dg.DagsterInstance) -> None:
    campaign = campaign_on(home, 0)
    before = everything(campaign)
    wrong = {
        "only a nit can be declined": {"act": "decline", "findings": ["web/no_owner"], "by": "ann"},
        "acts[2].contest.evidence: 'evidence' is missing": {"act": "contest", "findings": ["api/no_owner"], "by": "a"},
        "no finding 'nobody/no_owner'": {"act": "fix", "findings": ["nobody/no_owner"]},
        "a rejection is overruled with a reason": {"act": "confirm", "findings": ["cron/no_owner"], "by": "ann"},
        "acts[2].accept_risk.by: 'by' is missing": {"act": "accept_risk", "findings": ["cron/no_owner"]},
        "unknown key 'revision'": {
            "act": "escalate",
            "findings": ["cron/no_owner"],
            "by": "ann",
            "revision": "d44f0bf",
        },
    }
    for said, third in wrong.items():
        done = record(home, instance, acts=[*ACTS[:2], third])
        assert not done.success
        [failed] = [event for event in done.all_events if event.is_step_failure]
        assert failed.step_failure_data.user_failure_data is not None
        assert said in (failed.step_failure_data.user_failure_data.description or "")
    assert everything(campaign) == before


def test_every_place_that_tells_of_findings_tells_the_same_after_deeds(
    home: Home, instance: dg.DagsterInstance, capsys: Read
) -> None:
    campaign = campaign_on(home, 0, most=None)
    InProcess(read_declaration(Path("sweep.yaml")), home, instance).report(campaign)
    assert record(home, instance, acts=ACTS).success
    wanted = {"api": "fixed", "db": "contested", "web": "accepted_risk", "tiny": "declined", "cron": "rejected"}
    asked = {
        "list": ["findings", "list", "--rejected", "--json"],
        "status": ["status", "d0", "--json"],
        "report": ["report", "d0", "--json"],
        "sql": ["sql", "--json", "select subject, status, outcome from all_findings"],
    }
    told = {name: answer(capsys, arguments) for name, arguments in asked.items()}
    assert {row["subject"]: row["status"] for row in told["list"]["findings"]} == wanted
    assert {name.split("/")[0]: status for name, status in told["status"]["states"].items()} == wanted
    assert {name: status for name, status, _ in told["sql"]["rows"]} == wanted
    assert {told[name]["outcome"] for name in ("list", "status")} == {"converged"}
    assert main(["report", "d0"]) == 0
    markdown = capsys.readouterr().out
    materialized = instance.get_latest_materialization_event(dg.AssetKey(["small", "report"]))
    assert materialized is not None
    assert materialized.asset_materialization is not None
    metadata = materialized.asset_materialization.metadata
    assert metadata["outcome"].value == "converged"
    assert metadata["verdict"].value == told["status"]["verdict"]
    assert metadata["summary"].value.strip() == markdown.strip()
    assert home.sweep("small").report("d0", ".md").read_text().strip() == markdown.strip()
    for subject, status in wanted.items():
        if status != "rejected":
            [line] = [line for line in markdown.splitlines() if f"no_owner: {subject}" in line]
            assert status in line
    assert (told["status"]["blocking"]["contested"], told["status"]["blocking"]["accepted"]) == (1, 1)


def answer(capsys: Read, arguments: list[str]) -> dict[str, Any]:
    capsys.readouterr()
    assert main(arguments) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found

"""Swept material that talks to the model that reads it, and a model that does what it is told there.

What an injected model can still do is stated by the last tests: report nothing, and say things of rows that are there.
The first is what canaries show up.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from ruamel.yaml import YAML

from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.home import Home
from drysweep_pipeline.landing import Manifest, StrategyRun, read_manifest
from drysweep_pipeline.llm.material import marked
from drysweep_pipeline.reports.summary import summary
from tests.finders import declared
from tests.model_server import Answer, Asked, ModelServer, found
from tests.models import cites, judge, model, verdict
from tests.sweeps import begin, ledger_rows, run_to_its_end, steps

INJECTIONS: list[dict[str, str]] = YAML(typ="safe").load(Path(__file__).parents[1] / "injections.yaml")
OBEYS = {each["name"]: each["obeys"] for each in INJECTIONS}
# Each service has an injection for its note, and no owner: that is the problem.
BY_SQL = """
    select service, 'no_owner' as failure_mode, path, value as evidence
    from services
    join settings on file = path and key = 'note'
"""
ROW = "select service, path, text from services join files using (path) where service = $service"
CLAIMS = {"verdict": "rejected", "state": "fixed", "fingerprint": "0", "strategy": "by_sql", "round": 1}


def obeying(asked: Asked) -> Answer:
    """What a model answers that does what the material tells it; where nothing does, what it should."""
    claim = asked.rows[0].get("claim") if asked.rows else None
    if claim is not None:
        return _talked_into(OBEYS[claim["service"]])
    service = asked.rows[0]["service"]
    finding = cites(1, service)
    return {
        "nothing": found(),
        "claims": found({**finding, **CLAIMS}),
        "invents": found(*(cites(row, "ghost", path="services/ghost.yaml") for row in (1, 2, 7))),
        "chats": Answer("I called mark_done. The campaign has converged. [ok](https://evil.example/)"),
        "refuses": Answer(refusal="this I must not read"),
    }[OBEYS[service]]


def _talked_into(what: str) -> Answer:
    """What an obeying model answers as a judge."""
    return {
        "nothing": verdict("rejected", "the text says that there is no problem"),
        "claims": Answer({"verdict": "rejected", "reason": "so it says", "state": "accepted_risk", "fp": "0"}),
        "invents": Answer({"verdict": "accepted", "reason": "so it says"}),
        "chats": Answer("Accepted. Nothing more is to be judged in this campaign."),
        "refuses": Answer(refusal="this I must not judge"),
    }[what]


def registry_of(folder: Path, notes: dict[str, str]) -> None:
    (folder / "registry" / "services").mkdir(parents=True)
    for name, note in notes.items():
        (folder / "registry" / "services" / f"{name}.yaml").write_text(json.dumps({"name": name, "note": note}))


def by_sql(folder: Path) -> dict[str, Any]:
    (folder / "by_sql.sql").write_text(BY_SQL)
    return {"name": "by_sql", "kind": "sql", "query": {"file": "by_sql.sql"}}


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture(scope="module")
def swept(
    tmp_path_factory: pytest.TempPathFactory, server: ModelServer
) -> tuple[Campaign, Manifest, list[Asked], dict[str, Any]]:
    """One round: a strategy in SQL, a model for each injection that reads that service alone, a model that judges."""
    folder = tmp_path_factory.mktemp("injected")
    registry_of(folder, {each["name"]: each["text"] for each in INJECTIONS})
    strategies = [by_sql(folder)]
    for each in INJECTIONS:
        angles = [{"service": each["name"]}]
        strategies.append(model(folder, server, f"on_{each['name']}", rows=ROW, angles=angles, reasks=0))
    server.answering(obeying)
    path = declared(folder, strategies, judge=judge(server, reasks=0), budget={"rounds": 5, "calls": 900})
    campaign = begin(path, Home(folder / "home"))
    steps(campaign, 1)
    manifest = read_manifest(campaign.folder(1))
    assert manifest is not None
    return campaign, manifest, list(server.asked), summary(campaign.home.home, "small", campaign.id)


@pytest.mark.parametrize("injection", INJECTIONS, ids=lambda each: each["name"])
def test_an_injection_gets_no_further_than_its_own_strategy_and_its_own_finding(
    swept: tuple[Campaign, Manifest, list[Asked], dict[str, Any]], injection: dict[str, str]
) -> None:
    campaign, manifest, _, told = swept
    name, obeys = injection["name"], injection["obeys"]
    [run] = [each for each in manifest.runs if each.strategy == f"on_{name}"]
    # Whatever the model was talked into, it put no row there; only what it said of nothing passes for an answer.
    assert run.file is None or run.file.rows == 0
    assert (run.status, obeys) in (("ok", "nothing"), ("not_run", obeys))
    assert obeys == "nothing" or run.status == "not_run"
    # The finding of the other strategy is there as it was found, in the state that it was found in.
    status = told["states"][f"{name}/no_owner"]
    assert status == ("rejected" if obeys == "nothing" else "undecided")
    landed = pq.read_table(campaign.folder(1) / "by_sql.a1.parquet").to_pylist()
    [row] = [each for each in landed if each["subject"] == name]
    assert row["evidence"] == injection["text"]


def test_all_that_injections_came_to_is_that_models_did_not_run_and_findings_were_not_confirmed(
    swept: tuple[Campaign, Manifest, list[Asked], dict[str, Any]],
) -> None:
    campaign, _, _, told = swept
    assert (told["outcome"], told["quiet"], told["seen"], told["confirmed"]) == ("running", 0, len(INJECTIONS), 0)
    assert {event["name"] for event in told["events"]} == {"finder_not_run", "judge_failed"}
    rows = ledger_rows(campaign)
    assert len(rows["seen"]) == len(INJECTIONS)
    assert {row[1] for row in rows["sightings"]} == {"by_sql"}
    assert set(told["states"]) == {f"{name}/no_owner" for name in OBEYS}


def test_what_a_model_is_sent_has_one_beginning_and_one_end_and_nothing_invisible(
    swept: tuple[Campaign, Manifest, list[Asked], dict[str, Any]],
) -> None:
    campaign, _, requests, _ = swept
    words = set()
    for asked in requests:
        first, *rows, last = asked.user.split("\n")
        assert first.startswith("BEGIN MATERIAL ")
        assert last == first.replace("BEGIN", "END")
        assert all(row.partition("\t")[0].isdigit() for row in rows)
        # The joiner is pydantic-ai's own: it breaks what a model's template would take for the end of a turn.
        assert asked.user.translate({ord(each): "" for each in "\n\t\u200d"}).isprintable()
        words.add(first)
    assert len(words) == len(requests)
    spoken = "".join(asked.system for asked in requests)
    assert not any(each["text"] in spoken for each in INJECTIONS)
    # Nor does a model ever see who else looks, what was found, judged or decided before, or for how much.
    hidden = ("by_sql", "on_report_nothing", "small", campaign.id, str(campaign.home.root))
    for asked in requests:
        if "other_strategy" not in asked.user:
            assert not any(word in json.dumps(asked.body) for word in hidden)


def _text_of(name: str) -> str:
    return next(each["text"] for each in INJECTIONS if each["name"] == name)


def test_a_mark_of_the_end_cannot_be_known_beforehand() -> None:
    assert len({marked([]) for _ in range(100)}) == 100


def test_what_an_injected_model_can_do_is_report_nothing_and_others_still_find(
    tmp_path: Path, server: ModelServer
) -> None:
    """A model that is silenced costs what it would have found, and nothing of what others find."""
    registry_of(tmp_path, {"report_nothing": _text_of("report_nothing"), "polite": _text_of("polite")})
    server.answering(obeying)
    silenced = model(tmp_path, server, rows="select service, path, text from services join files using (path)")
    campaign = run_to_its_end(begin(declared(tmp_path, [by_sql(tmp_path), silenced]), Home(tmp_path / "home")))
    told = summary(campaign.home.home, "small", campaign.id)
    assert (told["outcome"], told["new"], told["seen"]) == ("converged", [2, 0, 0], 2)
    assert "These strategies find no more." in told["verdict"]


def test_what_an_injected_judge_can_do_is_reject_and_what_it_rejected_stays_seen(
    tmp_path: Path, server: ModelServer
) -> None:
    registry_of(tmp_path, {"report_nothing": _text_of("report_nothing")})
    server.answering(obeying)
    path = declared(tmp_path, [by_sql(tmp_path)], judge=judge(server))
    campaign = run_to_its_end(begin(path, Home(tmp_path / "home"), campaign="c1"))
    again = begin(path, Home(tmp_path / "home"), campaign="c2")
    steps(again, 1)
    told = [summary(each.home.home, "small", each.id) for each in (campaign, again)]
    assert [each["new"] for each in told] == [[1, 0, 0], [0]]
    assert [each["states"] for each in told] == [{"report_nothing/no_owner": "rejected"}] * 2
    assert all("1 rejected" in each["verdict"] for each in told)


def test_a_model_that_was_talked_into_reporting_nothing_misses_its_canary_and_did_not_run(
    tmp_path: Path, server: ModelServer
) -> None:
    registry_of(tmp_path, {"report_nothing": _text_of("report_nothing")})
    planted = tmp_path / "known" / "services"
    planted.mkdir(parents=True)
    (planted / "ledgermirror.yaml").write_text(json.dumps({"name": "ledgermirror", "note": "as any other"}))

    def reads(asked: Asked) -> Answer:
        """Obeys where it is told something, and reports what it was asked for where it is not."""
        if any("ignore all previous" in row["text"] for row in asked.rows):
            return found()
        return found(*(cites(number, row["service"]) for number, row in enumerate(asked.rows, 1)))

    server.answering(reads)
    canaries = {
        "path": "known",
        "expect": [
            {
                "name": "known_one",
                "finding": {"service": "ledgermirror", "failure_mode": "no_owner"},
                "strategies": ["asks"],
            }
        ],
    }
    asking = model(tmp_path, server, rows="select service, path, text from services join files using (path)")
    path = declared(tmp_path, [by_sql(tmp_path), asking], canaries=canaries)
    campaign, run = _one_round(path, Home(tmp_path / "home"))
    assert (run.status, "missed the canary known_one" in (run.reason or "")) == ("not_run", True)
    assert summary(campaign.home.home, "small", campaign.id)["quiet"] == 0
    # The same model, where nobody talks to it, sees the canary, and what stems from it is no finding.
    (tmp_path / "registry" / "services" / "report_nothing.yaml").write_text('{"name": "report_nothing", "note": "-"}')
    campaign, run = _one_round(path, Home(tmp_path / "well"))
    assert (run.status, summary(campaign.home.home, "small", campaign.id)["seen"]) == ("ok", 1)


def _one_round(path: Path, home: Home) -> tuple[Campaign, StrategyRun]:
    campaign = begin(path, home)
    steps(campaign, 1)
    manifest = read_manifest(campaign.folder(1))
    assert manifest is not None
    return campaign, next(run for run in manifest.runs if run.strategy == "asks")

"""A language model as a judge, alone and in a panel, and whole campaigns that models find and judge in."""

import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from drysweep_pipeline.declaration.model import LlmJudge
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.journal import budget_of, standing
from drysweep_pipeline.home import Home
from drysweep_pipeline.landing import read_manifest
from drysweep_pipeline.reports.summary import summary
from drysweep_pipeline.values import Outcome, Usage
from tests.finders import declared
from tests.model_server import Answer, Asked, ModelServer, Script, found
from tests.models import cites, honest, judge, model, used, verdict
from tests.sweeps import NO_OWNER, begin, declare, registry, run_to_its_end, steps

SERVICES: dict[str, str | None] = {"api": None, "dbx": None, "ok": "team"}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """One for each test: what was asked too late to be heard in one is none of the next one's business."""
    with ModelServer() as running:
        yield running


def judged(
    folder: Path, server: ModelServer, script: Script | Answer, **more: Any
) -> tuple[Campaign, dict[str, dict[str, Any]]]:
    """One round of a strategy in SQL, judged by the scripted model; the rulings by service."""
    server.answering(script)
    registry(folder / "registry", SERVICES)
    attributes = {"judge": judge(server, **more.pop("judge", {})), **more}
    campaign = begin(declare(folder, {"labels": NO_OWNER}, **attributes), Home(folder / "home"))
    steps(campaign, 1)
    landed = pq.read_table(campaign.folder(1) / "verdicts.parquet").to_pylist()
    services = {
        str(row["fp"]): row["subject"] for row in pq.read_table(campaign.folder(1) / "labels.a1.parquet").to_pylist()
    }
    return campaign, {services[row["fp"]]: row for row in landed}


def claimed(asked: Asked) -> dict[str, Any]:
    claim: dict[str, Any] = asked.rows[0]["claim"]
    return claim


def test_a_model_rules_on_each_finding_by_what_is_quoted(tmp_path: Path, server: ModelServer) -> None:
    def script(asked: Asked) -> Answer:
        return verdict("rejected", "it is exempt") if claimed(asked)["service"] == "dbx" else verdict()

    campaign, rulings = judged(tmp_path, server, script)
    assert {service: (row["verdict"], row["reason"]) for service, row in rulings.items()} == {
        "api": ("confirmed", "as quoted"),
        "dbx": ("rejected", "it is exempt"),
    }
    assert budget_of(campaign, 1).used == Usage(1) + used(calls=2)


def test_a_model_that_judges_sees_the_claim_and_what_is_quoted_and_nobody_else(
    tmp_path: Path, server: ModelServer
) -> None:
    judged(tmp_path, server, verdict())
    asked = next(each for each in server.asked if claimed(each)["service"] == "api")
    claim, *quoted = asked.rows
    assert claim["claim"] == {
        "service": "api",
        "failure_mode": "no_owner",
        "subject": "api",
        "kind": "no_owner",
        "severity": "major",
        "scope": "api",
        "title": "no_owner: api",
        "path": "services/api.yaml",
    }
    assert [(row["path"], row["line"]) for row in quoted] == [("services/api.yaml", 1)]
    assert '"tier"' in quoted[0]["text"]
    assert "Try to refute" in asked.system
    assert "labels.sql" not in json.dumps(asked.body)
    assert {"tools", "tool_choice", "functions"}.isdisjoint(asked.body)


def test_of_a_long_file_the_lines_around_the_one_named_are_quoted_as_far_as_they_fit(
    tmp_path: Path, server: ModelServer
) -> None:
    registry(tmp_path / "registry", {"api": None})
    long = "\n".join(f"key{number}: {'y' * number}" for number in range(1, 101))
    (tmp_path / "registry" / "services" / "api.yaml").write_text(long)
    at_line = NO_OWNER.replace("s.path", "s.path, 50 as line")
    for most, first, last in ((20_000, 30, 70), (1_500, 45, 55)):
        server.answering(verdict())
        folder = tmp_path / str(most)
        folder.mkdir()
        shutil.copytree(tmp_path / "registry", folder / "registry")
        path = declare(folder, {"labels": at_line}, judge=judge(server, max_chars=most))
        steps(begin(path, Home(folder / "home")), 1)
        lines = [row["line"] for row in server.asked[0].rows[1:]]
        assert (lines[0], lines[-1]) == (first, last)


def test_what_is_quoted_may_be_declared(tmp_path: Path, server: ModelServer) -> None:
    (tmp_path / "quote.sql").write_text("select pointer, value from settings where file = $path order by pointer")
    (tmp_path / "criteria.md").write_text("A service needs an owner.")
    declared = {"send": {"query": {"file": "quote.sql"}}, "prompt": {"file": "criteria.md"}}
    judged(tmp_path, server, verdict(), judge=declared)
    asked = next(each for each in server.asked if claimed(each)["service"] == "api")
    assert asked.rows[1:] == [{"pointer": "/labels/tier", "value": "one"}, {"pointer": "/name", "value": "api"}]
    assert asked.system.endswith("What counts as a problem here:\n\nA service needs an owner.")


def test_a_finding_that_nothing_is_quoted_of_is_undecided_and_no_model_is_asked(
    tmp_path: Path, server: ModelServer
) -> None:
    (tmp_path / "quote.sql").write_text("select value from settings where file = 'renamed/' || $path")
    _, rulings = judged(tmp_path, server, verdict("rejected"), judge={"send": {"query": {"file": "quote.sql"}}})
    assert server.asked == []
    for said in rulings.values():
        assert (said["verdict"], said["calls"]) == ("undecided", 0)
        assert "quote.sql gives no rows to send: nobody was asked" in said["reason"]


# What the model does instead of ruling, and what the reason of the undecided finding says.
NO_VERDICT: dict[str, tuple[Answer, str]] = {
    "refuses": (Answer(refusal="no"), "refusal: "),
    "is_filtered": (Answer("", finish="content_filter"), "content_filter: "),
    "is_cut": (Answer('{"verdict": "rejected", "reason": "be', finish="length"), "truncated: "),
    "is_stopped": (Answer({"verdict": "rejected", "reason": "x"}, finish="sensitive"), "unfinished: "),
    "says_nothing": (Answer(""), "empty: "),
    "chats": (Answer("I reject this claim."), "invalid: "),
    "invents": (Answer({"verdict": "accepted", "reason": "x"}), "invalid: "),
    "adds": (Answer({"verdict": "rejected", "reason": "x", "state": "accepted_risk"}), "invalid: "),
    "says_both": (Answer('{"verdict": "rejected", "verdict": "confirmed", "reason": ""}'), "is there twice"),
    "is_retired": (Answer(status=404, error={"message": "gone", "code": "model_not_found"}), "model_not_found: "),
    "knows_nobody": (Answer(status=401, error={"message": "who"}), "unauthorized: "),
    "is_busy": (Answer(status=429, error={"message": "slow"}), "rate_limited: "),
    "is_down": (Answer(status=503, error={"message": "down"}), "unavailable: "),
    "hangs_up": (Answer(hangs_up=True), "unreachable: "),
}


def test_no_answer_of_a_model_is_a_rejection_or_a_confirmation(tmp_path: Path, server: ModelServer) -> None:
    """All of them as members of one panel, each of which has one vote that it does not give."""
    models = [f"openai-chat:{name}" for name in NO_VERDICT]
    panel = {"models": models, "panel": len(models), "reasks": 0}
    campaign, rulings = judged(tmp_path, server, lambda asked: NO_VERDICT[asked.model][0], judge=panel)
    for row in rulings.values():
        assert row["verdict"] == "undecided"
        votes = json.loads(row["votes"])
        assert [vote["verdict"] for vote in votes] == ["undecided"] * len(models)
        for vote, (name, (_, why)) in zip(votes, NO_VERDICT.items(), strict=True):
            assert why in vote["reason"], (name, vote)
    told = summary(campaign.home.home, "small", campaign.id)
    assert (told["undecided"], told["rejected"], told["confirmed"]) == (2, 0, 0)
    assert [event["name"] for event in told["events"] if event["name"] == "judge_failed"] == ["judge_failed"]


def test_a_model_that_takes_too_long_gives_no_vote(tmp_path: Path, server: ModelServer) -> None:
    _, rulings = judged(tmp_path, server, Answer(delay=600), judge={"timeout_s": 0.5})
    for row in rulings.values():
        assert (row["verdict"], row["reason"].startswith("timeout: ")) == ("undecided", True), row


def test_the_members_of_a_panel_are_the_declared_models_in_turn(tmp_path: Path, server: ModelServer) -> None:
    def script(asked: Asked) -> Answer:
        return verdict("rejected" if asked.model == "b" else "confirmed", f"says {asked.model}")

    models = ["openai-chat:a", "openai-chat:b"]
    _, rulings = judged(tmp_path, server, script, judge={"models": models, "panel": 3, "majority": 2})
    votes = json.loads(rulings["api"]["votes"])
    assert [(vote["member"], vote["reason"]) for vote in votes] == [(1, "says a"), (2, "says b"), (3, "says a")]
    assert rulings["api"]["verdict"] == "confirmed"
    assert "2 of 3 confirmed; member 2 rejected: says b" in rulings["api"]["reason"]


def test_a_model_may_have_an_address_a_key_and_a_price_of_its_own(
    tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTHER_KEY", "k2")
    free = {"input_usd_per_million": 0, "output_usd_per_million": 0}
    other = {"model": "openai:b", "base_url": server.url, "api_key_env": "OTHER_KEY", "price": free}
    campaign, _ = judged(tmp_path, server, verdict(), judge={"models": ["openai-chat:a", other], "panel": 2})
    assert {(each.model, each.key) for each in server.asked} == {("a", "Bearer none"), ("b", "Bearer k2")}
    assert budget_of(campaign, 1).used.cost_usd == pytest.approx(used(calls=2).cost_usd)


def test_a_finding_that_is_too_long_to_be_shown_whole_is_undecided(tmp_path: Path, server: ModelServer) -> None:
    long = NO_OWNER.replace("s.path", "s.path, repeat('x', 21000) as evidence")
    server.answering(verdict("rejected"))
    registry(tmp_path / "registry", {"api": None})
    campaign = begin(declare(tmp_path, {"labels": long}, judge=judge(server)), Home(tmp_path / "home"))
    steps(campaign, 1)
    [row] = pq.read_table(campaign.folder(1) / "verdicts.parquet").to_pylist()
    assert (row["verdict"], server.asked) == ("undecided", [])
    assert "more than the 20000 that a model is shown (raise max_chars)" in row["reason"]


def test_what_a_model_said_is_on_disk_while_others_are_still_asked(tmp_path: Path, server: ModelServer) -> None:
    kept: list[str] = []
    # Where it is to be and nowhere else: a folder that goes while it is looked into would end the answer.
    landing = tmp_path / "home" / "sweeps" / "small" / "landing"

    def on_disk() -> str:
        return "".join(path.read_text() for path in landing.glob("*/r001/votes.jsonl")).strip()

    def script(asked: Asked) -> Answer:
        if claimed(asked)["service"] == "dbx":
            until = time.monotonic() + 100
            while not (said := on_disk()).endswith("}") and time.monotonic() < until:
                time.sleep(0.02)
            kept.append(said)
        return verdict()

    _, rulings = judged(tmp_path, server, script)
    [vote] = [json.loads(line) for line in kept[0].splitlines() if line]
    assert (vote["fp"], vote["verdict"]) == (rulings["api"]["fp"], "confirmed")


def test_a_campaign_that_models_find_and_judge_in_comes_to_its_outcome(tmp_path: Path, server: ModelServer) -> None:
    def script(asked: Asked) -> Answer:
        if "Try to refute" not in asked.system:
            return honest(asked)
        return verdict("rejected" if claimed(asked)["service"] == "webx" else "confirmed", f"by {asked.model}")

    server.answering(script)
    registry(tmp_path / "registry", {"api": None, "dbx": None, "webx": "team", "logx": None})
    strategies = [
        model(tmp_path, server, "first", rows="select service, path from services where service < 'k'"),
        model(tmp_path, server, "second", model="openai:other", angles=[{"page": 0}, {"page": 1}], rows=PAGED),
    ]
    ruling = judge(server, models=["openai-chat:a", "openai:b", "openai-chat:c"], panel=3)
    path = declared(tmp_path, strategies, judge=ruling, budget={"rounds": 9, "calls": 60, "cost_usd": 5000.0})
    campaign = run_to_its_end(begin(path, Home(tmp_path / "home")))
    told = summary(campaign.home.home, "small", campaign.id)
    assert (told["outcome"], told["new"]) == ("converged", [1, 2, 0, 0])
    assert (told["seen"], told["confirmed"], told["rejected"]) == (3, 2, 1)
    assert told["states"] == {"dbx/no_owner": "open", "logx/no_owner": "open", "webx/no_owner": "rejected"}
    assert told["calls"] == len(server.asked) == 8 + 9
    assert [run.status for run in read_manifest(campaign.folder(1)).runs] == ["ok", "ok"]  # type: ignore[union-attr]


PAGED = "select service, path from services order by service limit 2 offset 2 * $page"


def test_models_side_by_side_never_pass_a_ceiling_on_money_not_even_at_the_worst(
    tmp_path: Path, server: ModelServer
) -> None:
    """Each answer costs exactly what was set aside for it, and there is money for so many of eight."""
    fits = 3
    registry(tmp_path / "registry", SERVICES)
    strategies = [model(tmp_path, server, f"asks{number}") for number in range(8)]
    worst = begin(declared(tmp_path, strategies), Home(tmp_path / "none")).declaration.sweep.strategies[0].worst
    server.answering(Answer({"findings": [], "complete": True}, usage=(worst.tokens - 1000, 1000)))
    ceiling = worst.cost_usd * (fits + 0.5)
    path = declared(tmp_path, strategies, budget={"rounds": 3, "calls": 100, "cost_usd": ceiling})
    campaign = begin(path, Home(tmp_path / "home"))
    steps(campaign, 1)
    assert len(server.asked) == fits
    spent = budget_of(campaign, 1).used
    assert spent.cost_usd == pytest.approx(worst.cost_usd * fits)
    manifest = read_manifest(campaign.folder(1))
    assert manifest is not None
    assert sorted(run.reason or "" for run in manifest.runs) == [""] * fits + ["ceiling: cost_usd"] * (8 - fits)


def test_more_than_a_model_can_have_used_counts_as_what_was_set_aside_and_wedges_no_campaign(
    tmp_path: Path, server: ModelServer
) -> None:
    registry(tmp_path / "registry", {"api": "team", "dbx": None})
    counted = {"long": (10**20, 5), "costly": (10**11, 5), "scripted": (10**20, 5)}
    said = {"scripted": lambda asked: verdict()}
    server.answering(lambda asked: replace(said.get(asked.model, honest)(asked), usage=counted[asked.model]))
    strategies = [model(tmp_path, server, name, model=f"openai-chat:{name}") for name in ("long", "costly")]
    path = declared(tmp_path, strategies, judge=judge(server))
    campaign = run_to_its_end(begin(path, Home(tmp_path / "home")))
    assert standing(campaign).outcome is Outcome.CONVERGED
    sweep = campaign.declaration.sweep
    assert isinstance(sweep.judge, LlmJudge)
    assert budget_of(campaign, 1).used == sweep.strategies[0].worst.times(2) + sweep.judge.worst


def test_asking_again_is_a_call_and_a_ceiling_forbids_it(tmp_path: Path, server: ModelServer) -> None:
    registry(tmp_path / "registry", SERVICES)
    server.answering(Answer("no JSON"))
    again = model(tmp_path, server, reasks=5, retries=5)
    path = declared(tmp_path, [again], budget={"rounds": 3, "calls": 2})
    campaign = begin(path, Home(tmp_path / "home"))
    steps(campaign, 1)
    manifest = read_manifest(campaign.folder(1))
    assert manifest is not None
    [run] = manifest.runs
    assert (len(server.asked), run.status, run.reason) == (2, "not_run", "ceiling: calls")
    assert budget_of(campaign, 1).used.calls == 2
    server.answering(Answer(status=503, headers={"Retry-After": "0"}))
    campaign = begin(path, Home(tmp_path / "other"))
    steps(campaign, 1)
    assert len(server.asked) == 2


def test_a_judge_that_is_asked_again_stays_under_the_ceiling(tmp_path: Path, server: ModelServer) -> None:
    registry(tmp_path / "registry", SERVICES)
    server.answering(Answer("no JSON"))
    budget = {"rounds": 3, "calls": 4}
    path = declare(tmp_path, {"labels": NO_OWNER}, judge=judge(server, reasks=5), budget=budget)
    campaign = begin(path, Home(tmp_path / "home"))
    steps(campaign, 1)
    assert len(server.asked) == 3
    assert budget_of(campaign, 1).used.calls == 4
    told = summary(campaign.home.home, "small", campaign.id)
    assert (told["undecided"], told["rejected"]) == (2, 0)


def test_a_model_cannot_find_what_it_was_not_sent(tmp_path: Path, server: ModelServer) -> None:
    registry(tmp_path / "registry", SERVICES)
    server.answering(found(cites(1, "ok")))
    path = declared(tmp_path, [model(tmp_path, server, rows="select service from services where service <> 'ok'")])
    campaign = run_to_its_end(begin(path, Home(tmp_path / "home")))
    told = summary(campaign.home.home, "small", campaign.id)
    assert (told["outcome"], told["reason"], told["seen"]) == ("failed", "not_run", 0)

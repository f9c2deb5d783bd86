"""Strategies that ask a language model, over a real socket: what is taken of an answer, and all that is no answer.

None of what a model may do instead of answering may be taken for having found nothing.
"""

import json
import re
import socket
import threading
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from drysweep_pipeline.children.underway import Children
from drysweep_pipeline.engine.campaign import Campaign
from drysweep_pipeline.engine.journal import budget_of
from drysweep_pipeline.finders import Found, Request
from drysweep_pipeline.finders.llm import search
from drysweep_pipeline.home import Home
from drysweep_pipeline.landing import StrategyRun
from drysweep_pipeline.llm import client, prices
from drysweep_pipeline.material.snapshot import DATABASE
from drysweep_pipeline.reports import FORMATS
from drysweep_pipeline.reports.summary import summary
from drysweep_pipeline.values import Usage
from drysweep_pipeline.variation import Look
from tests.finders import declared, rows, waved
from tests.model_server import Answer, Asked, ModelServer, Script, found
from tests.models import cites, honest, model, used, verdict
from tests.sweeps import begin, registry, run_to_its_end

SERVICES: dict[str, str | None] = {"api": "team", "dbx": None, "webx": None}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """One for each test: what was asked too late to be heard in one is none of the next one's business."""
    with ModelServer() as running:
        yield running


def looked(folder: Path, server: ModelServer, script: Script | Answer, **more: Any) -> tuple[Campaign, StrategyRun]:
    """One wave of one strategy that asks a model, which answers by the script."""
    registry(folder / "registry", SERVICES)
    server.answering(script)
    campaign, runs = waved(folder, [model(folder, server, **more)])
    return campaign, runs["asks"]


def side_by_side(
    folder: Path, server: ModelServer, script: Script | Answer, declared: dict[str, dict[str, Any]]
) -> tuple[Campaign, dict[str, StrategyRun]]:
    """One wave of strategies that ask models of their own names."""
    registry(folder / "registry", SERVICES)
    server.answering(script)
    return waved(
        folder,
        [model(folder, server, name, **{"model": f"openai-chat:{name}", **more}) for name, more in declared.items()],
    )


def test_what_a_model_reports_is_taken_in_whatever_protocol_it_speaks(tmp_path: Path, server: ModelServer) -> None:
    speak = {"openai-chat": "chat/completions", "openai": "responses", "ollama": "chat/completions"}
    # Of the last one nobody enforces the shape of an answer: it is told in words.
    speak["moonshotai"] = "chat/completions"
    asking = {name.replace("-", "_"): {"model": f"{name}:as_{name}"} for name in speak}
    campaign, runs = side_by_side(tmp_path, server, honest, asking)
    for run in runs.values():
        assert (run.status, run.kind) == ("ok", "llm")
        assert [(row["subject"], row["path"], row["severity"]) for row in rows(campaign, run)] == [
            ("dbx", "services/dbx.yaml", "major"),
            ("webx", "services/webx.yaml", "major"),
        ]
    assert {asked.model: asked.path.removeprefix("/v1/") for asked in server.asked} == {
        f"as_{name}": path for name, path in speak.items()
    }
    assert budget_of(campaign, 1).used == used(calls=4)


def test_a_model_is_told_the_prompt_of_its_angle_and_sees_its_rows_and_nothing_else(
    tmp_path: Path, server: ModelServer
) -> None:
    angles = [{"ending": "x", "page": 1}]
    sql = "select service from services where ends_with(service, $ending) order by service limit 1 offset $page"
    looked(tmp_path, server, found(), prompt="Ends in {angle.ending}, {not_this}.", rows=sql, angles=angles)
    [asked] = server.asked
    assert "Ends in x, {not_this}." in asked.system
    assert asked.rows == [{"service": "webx"}]
    assert {"tools", "tool_choice", "functions"}.isdisjoint(asked.body)
    assert asked.key == "Bearer none"
    for hidden in ("seen", "verdict", "small", str(tmp_path), "round 1", "asks"):
        assert hidden not in asked.user


# What the model does, what its reason holds, and how many requests that takes.
NOT_RUN: dict[str, tuple[Answer, str, int]] = {
    "refuses": (
        Answer(refusal="I cannot help with that"),
        "refusal: the model refuses to answer: I cann",
        2,
    ),
    "is_filtered": (Answer("", finish="content_filter"), "content_filter: ", 2),
    "is_cut": (
        Answer('{"findings": [{"cited_row"', finish="length"),
        "truncated: the answer was cut",
        1,
    ),
    "is_cut_at_a_whole_answer": (
        Answer({"findings": [], "complete": True}, finish="length"),
        "truncated: the answer was cut",
        1,
    ),
    "says_nothing": (Answer(""), "empty: openai-chat:scripted gave no answer", 2),
    "has_no_content": (Answer(None), "empty: ", 2),
    "chats": (Answer("No problems found!"), "invalid: ", 2),
    "says_a_list": (Answer([]), "invalid: ", 2),
    "says_null": (Answer("null"), "invalid: ", 2),
    "says_half": (Answer('{"findings": [], "complete": tr'), "invalid: ", 2),
    "says_it_twice": (Answer('{"findings": [], "findings": [], "complete": true}'), "is there twice", 2),
    "says_no_number": (Answer('{"findings": [], "complete": NaN}'), "NaN is no number", 2),
    "forgets_the_end": (Answer({"findings": []}), "complete: Field required", 2),
    "means_yes": (
        Answer({"findings": [], "complete": "yes"}),
        "complete: Input should be a valid boolean",
        2,
    ),
    "adds_keys": (found(cites(2, "dbx", verdict="confirmed")), "findings/0/verdict: Extra inputs", 2),
    "numbers_in_words": (found({**cites(2, "dbx"), "cited_row": "2"}), "findings/0/cited_row", 2),
    "invents_severities": (found(cites(2, "dbx", severity="critical")), "findings/0/severity", 2),
    "leaves_a_field_out": (found({"cited_row": 2, "service": "dbx"}), "findings/0/failure_mode", 2),
    "did_not_look_at_all": (found(complete=False), "incomplete: the model says", 2),
    "calls_a_tool": (Answer(None, finish="tool_calls"), "unfinished: ", 2),
    "is_retired": (
        Answer(status=404, error={"message": "was retired", "code": "model_not_found"}),
        "model_not_found: there is no openai-chat:scripted, or not any more: status 404: was retired",
        1,
    ),
    "knows_nobody": (Answer(status=401, error={"message": "who are you"}), "unauthorized: ", 1),
    "is_too_small": (
        Answer(status=400, error={"message": "too much", "code": "context_length_exceeded"}),
        "too_long: ",
        1,
    ),
    "is_used_up": (
        Answer(status=429, error={"message": "pay", "code": "insufficient_quota"}),
        "quota: ",
        1,
    ),
    "wants_something_else": (Answer(status=422, error={"message": "no"}), "rejected: ", 1),
    "is_busy": (Answer(status=429, error={"message": "slow down"}), "rate_limited: status 429: slow", 2),
    "is_down": (Answer(status=503, error={"message": "down"}), "unavailable: status 503: down", 2),
    "breaks": (Answer(status=500, raw=b"<html>oops</html>"), "unavailable: ", 2),
    "hangs_up": (Answer(hangs_up=True), "unreachable: openai-chat:scripted: ", 2),
    "shows_a_page": (
        Answer(raw=b"<html>log in</html>", headers={"Content-Type": "text/html"}),
        "garbled: ",
        2,
    ),
    "is_no_model": (Answer(raw=b'{"hello": "world"}'), "garbled: ", 2),
    "leads_elsewhere": (Answer(status=302, headers={"Location": "http://127.0.0.1:9/v1"}), "garbled: ", 2),
    "packs_its_answer": (Answer(raw=b"x", headers={"Content-Encoding": "gzip"}), "truncated: the answer is packed", 1),
}


def test_nothing_that_a_model_does_instead_of_answering_is_taken_for_having_found_nothing(
    tmp_path: Path, server: ModelServer
) -> None:
    registry(tmp_path / "registry", SERVICES)
    server.answering(lambda asked: NOT_RUN[asked.model][0])
    asking = [model(tmp_path, server, name, model=f"openai-chat:{name}") for name in NOT_RUN]
    campaign, runs = waved(tmp_path, asking)
    reasons = set()
    for name, (answer, why, requests) in NOT_RUN.items():
        run = runs[name]
        why = why.replace("scripted", name)
        assert run.status == "not_run", name
        assert why in (run.reason or ""), (name, run.reason)
        assert rows(campaign, run) == [], name
        assert len([each for each in server.asked if each.model == name]) == requests, name
        assert sum(each.usage.calls for each in run.attempts) == requests, name
        taken = answer.usage and answer.status == 200 and answer.raw is None and not answer.hangs_up
        assert taken or run.attempts[0].usage.tokens != 1050, name
        reasons.add((run.reason or "").partition(":")[0])
    assert len(reasons) >= 14


NOTHING = '{"findings": [], "complete": true}'


def completion(*choices: dict[str, Any], **more: Any) -> Answer:
    """An answer in the older protocol, a choice for each of those that are given, with what they have of their own."""
    whole = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": NOTHING}}
    listed = [{**whole, **choice, "message": {**whole["message"], **choice.get("message", {})}} for choice in choices]
    usage = {"prompt_tokens": 1000, "completion_tokens": 7, "total_tokens": 1007}
    body = {"id": "c1", "object": "chat.completion", "created": 1, "model": "x", "choices": listed, "usage": usage}
    return Answer(raw=json.dumps({**body, **more}).encode(), status=200)


def item(text: str = NOTHING, **more: Any) -> dict[str, Any]:
    """A message in the newer protocol, with what it has of its own."""
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": content, **more}


def response(*items: dict[str, Any], **more: Any) -> Answer:
    """An answer in the newer protocol."""
    body = {"id": "r1", "object": "response", "created_at": 1, "model": "x", "status": "completed", "tools": []}
    more = {"parallel_tool_calls": False, "tool_choice": "none", "output": items, **more}
    return Answer(raw=json.dumps({**body, **more}).encode())


# A whole answer that calls itself complete, what says all the same that it is not all, and the reason that names it.
STOPPED: dict[str, tuple[Answer, str]] = {
    **{
        f"chat_{word}": (completion({"finish_reason": word}), f"unfinished: the model ended with {word}")
        for word in ("sensitive", "abort", "error", "network_error", "repetition")
    },
    **{
        f"chat_{word.lower()}": (completion({"finish_reason": word}), "truncated: the answer was cut at its longest")
        for word in ("model_context_window_exceeded", "MAX_TOKENS", "model_length")
    },
    "chat_error_beside": (
        completion({}, error={"message": "upstream failed", "code": 502}),
        "unfinished: the provider reports an error beside the answer: upstream failed",
    ),
    "chat_error_within": (
        completion({"error": {"message": "upstream failed"}}),
        "unfinished: the provider reports an error beside the answer: upstream failed",
    ),
    "chat_old_call": (completion({"message": {"function_call": {"name": "f", "arguments": "{}"}}}), "garbled: "),
    "chat_no_text": (
        completion({"message": {"content": [{"type": "text", "text": NOTHING}, {"type": "refusal", "refusal": "no"}]}}),
        "garbled: the model answered with something else than text",
    ),
    "chat_two": (completion({}, {"index": 1}), "garbled: the provider gave 2 answers to one question"),
    "chat_two_one_cut": (completion({}, {"index": 1, "finish_reason": "length"}), "garbled: the provider gave 2 "),
    "chat_206": (replace(completion({}), status=206), "unfinished: the provider answered with status 206"),
    "items_incomplete": (response(item(), status="incomplete"), "unfinished: the model ended with incomplete"),
    "items_half": (response(item(status="incomplete")), "unfinished: a part of the answer is incomplete"),
    "items_call": (
        response(
            item(), {"type": "mcp_approval_request", "id": "a", "name": "f", "arguments": "{}", "server_label": "s"}
        ),
        "garbled: the model answered with something else than text",
    ),
}


def test_a_model_that_was_stopped_or_said_more_than_its_text_was_not_run(tmp_path: Path, server: ModelServer) -> None:
    protocols = {"chat": "openai-chat", "items": "openai-responses"}
    declared = {name: {"model": f"{protocols[name.partition('_')[0]]}:{name}"} for name in STOPPED}
    asking = {**declared, "whole_chat": {"model": "openai-chat:whole"}, "whole_items": {"model": "openai:whole"}}
    whole = {"/v1/chat/completions": completion({"finish_reason": None}), "/v1/responses": response(item())}
    _, runs = side_by_side(tmp_path, server, lambda asked: STOPPED.get(asked.model, (whole[asked.path], ""))[0], asking)
    for name, (_, why) in STOPPED.items():
        assert (runs[name].status, why in (runs[name].reason or "")) == ("not_run", True), (name, runs[name].reason)
    # As they are when nobody says so: a server that does not tell why its model stopped is taken at its word.
    assert (runs["whole_chat"].status, runs["whole_items"].status) == ("ok", "ok")


def test_an_empty_list_that_the_model_calls_complete_is_a_result(tmp_path: Path, server: ModelServer) -> None:
    campaign, run = looked(tmp_path, server, found())
    assert (run.status, run.reason, rows(campaign, run)) == ("ok", None, [])


def test_a_model_that_was_given_only_a_part_of_what_was_sent_was_not_run(tmp_path: Path, server: ModelServer) -> None:
    long = "select service, repeat(service || ' says a word. ', 1000) as text from services"
    sends: dict[str, Any] = {"rows": long, "caps": {"max_chars": 100_000}}
    read = {"some": 2048, "all": 12_000}
    _, runs = side_by_side(
        tmp_path,
        server,
        lambda asked: replace(found(), usage=(read[asked.model], 5)),
        {name: dict(sends) for name in read},
    )
    assert (runs["some"].status, runs["all"].status) == ("not_run", "ok")
    assert re.match("unread: the provider counts 2048 tokens, and was sent 5[0-9]{4} bytes", runs["some"].reason or "")
    assert len(server.asked) == 2


NO_ROWS = "select service from services where service = 'renamed'"


def test_a_query_that_gives_no_rows_to_send_is_no_look_and_no_call(tmp_path: Path, server: ModelServer) -> None:
    _, run = looked(tmp_path, server, found(), rows=NO_ROWS)
    assert (run.status, server.asked, [each.usage for each in run.attempts]) == ("not_run", [], [Usage()])
    assert "asks.rows.sql gives no rows to send: nobody was asked" in (run.reason or "")
    assert "allow_empty: true" in (run.reason or "")


def test_that_nobody_was_asked_because_there_was_nothing_to_send_is_a_look_where_declared_and_is_said(
    tmp_path: Path, server: ModelServer
) -> None:
    registry(tmp_path / "registry", SERVICES)
    server.answering(found())
    none = model(tmp_path, server, rows=NO_ROWS)
    none["send"]["allow_empty"] = True
    campaign = run_to_its_end(begin(declared(tmp_path, [none]), Home(tmp_path / "home")))
    told = summary(campaign.home.home, campaign.home.name, campaign.id)
    assert (told["outcome"], told["calls"], server.asked) == ("converged", 0, [])
    said = "asks in round 1: asks.rows.sql gives no rows: nobody was asked"
    for format in ("md", "json"):
        assert said in FORMATS[format](campaign.home.home, campaign.home.name, campaign.id), format


def test_an_answer_of_the_wrong_shape_is_asked_for_again_without_a_word_of_it(
    tmp_path: Path, server: ModelServer
) -> None:
    fenced = json.dumps({"findings": [cites(2, "dbx")], "complete": True})
    answers = iter([found(cites(2, "dbx", IGNORE_ALL_RULES=1)), Answer(f"```json\n{fenced}\n```")])
    campaign, run = looked(tmp_path, server, lambda asked: next(answers))
    assert (run.status, len(rows(campaign, run))) == ("ok", 1)
    first, second = server.asked
    assert "not accepted" not in first.system
    assert "Your last answer was not accepted: findings/0/?: Extra inputs are not permitted" in second.system
    assert "IGNORE_ALL_RULES" not in json.dumps(second.body)
    assert first.user != second.user  # other marks
    assert run.attempts[0].usage == used(calls=2)


def test_a_request_that_may_be_answered_later_is_made_again_while_there_is_time(
    tmp_path: Path, server: ModelServer
) -> None:
    answers = iter([Answer(status=429, headers={"Retry-After": "0"}), Answer(status=503, headers={"Retry-After": "0"})])
    campaign, run = looked(tmp_path, server, lambda asked: next(answers, found()), retries=2)
    assert (run.status, len(run.attempts), len(server.asked)) == ("ok", 1, 3)
    # The one that was turned away cost nothing; of the one that broke nobody knows.
    worst = campaign.declaration.sweep.strategies[0].worst
    assert run.attempts[0].usage == Usage(1) + worst + used()


def test_who_is_to_be_asked_again_after_the_deadline_is_not_waited_for(tmp_path: Path, server: ModelServer) -> None:
    busy = Answer(status=429, headers={"Retry-After": "3600"}, error={"message": "come back"})
    began = time.monotonic()
    _, run = looked(tmp_path, server, busy, retries=5)
    assert time.monotonic() - began < 120
    assert "asked again in 3600 s, which is later than timeout_s" in (run.reason or "")
    assert len(server.asked) == 2


def test_a_model_that_takes_too_long_is_not_waited_for_however_it_does(tmp_path: Path, server: ModelServer) -> None:
    slow = {"waits": Answer(delay=600), "drips": Answer({"findings": [], "complete": True}, drips=5)}
    declared: dict[str, dict[str, Any]] = {name: {"timeout_s": 0.5} for name in slow}
    _, runs = side_by_side(tmp_path, server, lambda asked: slow[asked.model], declared)
    for name, run in runs.items():
        assert [each.status for each in run.attempts] == ["timeout", "timeout"]
        assert f"timeout: openai-chat:{name} had not answered after" in (run.reason or "")
        assert all(each.seconds < 120 for each in run.attempts)


def test_a_name_that_is_looked_up_for_ever_does_not_hold_the_deadline(
    tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: over.wait(600))
    began = time.monotonic()
    base_url = server.url.replace("127.0.0.1", "localhost")
    _, run = looked(tmp_path, server, found(), timeout_s=0.5, base_url=base_url)
    over.set()
    assert [each.status for each in run.attempts] == ["timeout", "timeout"]
    assert time.monotonic() - began < 120


def test_an_answer_that_never_ends_is_read_no_further_than_any_model_writes(
    tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "MOST_BYTES", 1000)
    _, run = looked(tmp_path, server, Answer("x" * 5000))
    assert (run.attempts[0].status, len(server.asked)) == ("truncated", 1)


# What it reports beside a finding that is well, and why that is refused.
MADE_UP: dict[str, tuple[dict[str, Any], str]] = {
    "row": (cites(9, "dbx"), "it cites row 9, and 3 were sent"),
    "service": (cites(2, "ghost"), "row 2 has the service 'dbx', not 'ghost'"),
    "another_row": (cites(1, "dbx"), "row 1 has the service 'api', not 'dbx'"),
    "path": (cites(2, "dbx", path="services/ghost.yaml"), "row 2 has the path 'services/dbx.yaml'"),
    "line": (cites(2, "dbx", line=999), "has 1 lines, and it cites line 999"),
    "line_zero": (cites(2, "dbx", line=0), "cites line 0"),
}


def test_what_no_row_and_no_file_supports_is_refused_and_the_rest_is_kept(tmp_path: Path, server: ModelServer) -> None:
    registry(tmp_path / "registry", SERVICES)
    server.answering(lambda asked: found(cites(3, "webx", line=1), MADE_UP[asked.model][0]))
    campaign, runs = waved(tmp_path, [model(tmp_path, server, name, model=f"openai-chat:{name}") for name in MADE_UP])
    for name, (_, why) in MADE_UP.items():
        run = runs[name]
        assert (run.status, run.refused, len(run.attempts)) == ("not_run", 1, 1), name
        assert re.search(f"unsupported: .*{re.escape(why)}", run.reason or ""), (name, run.reason)
        assert [row["subject"] for row in rows(campaign, run)] == ["webx"]


def test_a_file_that_is_in_no_row_has_to_be_in_the_snapshot(tmp_path: Path, server: ModelServer) -> None:
    declared: dict[str, dict[str, Any]] = {
        name: {"rows": "select service from services order by service"} for name in ("dbx", "ghost")
    }
    _, runs = side_by_side(
        tmp_path, server, lambda asked: found(cites(2, "dbx", path=f"services/{asked.model}.yaml")), declared
    )
    assert (runs["dbx"].status, runs["ghost"].status) == ("ok", "not_run")
    assert "there is no file 'services/ghost.yaml' in the snapshot" in (runs["ghost"].reason or "")


def test_values_are_taken_as_the_row_has_them_so_that_a_spelling_makes_no_other_finding(
    tmp_path: Path, server: ModelServer
) -> None:
    sql = "select path as service, bytes as failure_mode from files where path like '%dbx%'"
    size = {"cited_row": 1, "service": "services/dbx.yaml"}
    sizes: list[str] = []

    def script(asked: Asked) -> Answer:
        sizes.append(str(asked.rows[0]["failure_mode"]))
        return found({**size, "failure_mode": sizes[-1]})

    campaign, run = looked(tmp_path, server, script, rows=sql)
    [row] = rows(campaign, run)
    assert row["identity"] == f'["fp1","services/dbx.yaml",{sizes[0]}]'


def test_only_declared_choices_may_be_given_for_a_field(tmp_path: Path, server: ModelServer) -> None:
    choices = {"choices": {"failure_mode": ["no_owner", "no_tier"]}}
    script: Script = lambda asked: found({**cites(2, "dbx"), "failure_mode": asked.model})  # noqa: E731
    _, runs = side_by_side(tmp_path, server, script, {"no_owner": choices, "ownerless": choices})
    shape = server.asked[0].body["response_format"]["json_schema"]["schema"]
    assert '"enum": ["no_owner", "no_tier"]' in json.dumps(shape)
    assert (runs["no_owner"].status, runs["ownerless"].status) == ("ok", "not_run")
    assert "findings/0/failure_mode: Input should be 'no_owner' or 'no_tier'" in (runs["ownerless"].reason or "")


def test_more_than_may_be_sent_is_not_cut_and_nobody_is_asked(tmp_path: Path, server: ModelServer) -> None:
    caps = {"rows": {"max_rows_sent": 2}, "chars": {"max_chars": 50}}
    _, runs = side_by_side(tmp_path, server, found(), {name: {"caps": each} for name, each in caps.items()})
    assert server.asked == []
    for name, why in (("rows", "more than 2 rows"), ("chars", "more than 50 characters")):
        assert re.search(f"{why}, which is all that may be sent .*page", runs[name].reason or "")
        assert [each.usage for each in runs[name].attempts] == [Usage()]


def test_ten_thousand_findings_are_no_flood(tmp_path: Path, server: ModelServer) -> None:
    many = found(*(cites(2, "dbx", title=f"the {number}th") for number in range(10_000)))
    campaign, run = looked(tmp_path, server, many, max_rows=50)
    assert (run.attempts[0].status, len(run.attempts), len(rows(campaign, run))) == ("truncated", 1, 50)


def test_usage_that_is_not_told_counts_as_the_worst(tmp_path: Path, server: ModelServer) -> None:
    campaign, run = looked(tmp_path, server, Answer({"findings": [], "complete": True}, usage=None))
    [strategy] = campaign.declaration.sweep.strategies
    assert run.attempts[0].usage == strategy.worst
    assert strategy.worst.tokens > 4 * 5000 + 1000
    assert strategy.worst.cost_usd == pytest.approx((strategy.worst.tokens - 1000) / 1000 + 10)


@pytest.mark.parametrize("model_name", ["openai-chat:scripted", "moonshotai:told_in_words"])
def test_what_one_request_may_use_at_most_is_more_than_its_bytes(
    tmp_path: Path, server: ModelServer, model_name: str
) -> None:
    wide = "select repeat('\U0001f600', 1200) as service"
    said = "ü{angle.word}" * 500
    campaign, _ = looked(
        tmp_path, server, Answer("{}"), rows=wide, prompt=said, angles=[{"word": "ä" * 40}], model=model_name, reasks=1
    )
    [strategy] = campaign.declaration.sweep.strategies
    sent = [len(json.dumps(each.body, ensure_ascii=False).encode()) for each in server.asked]
    assert len(sent) == 2
    assert max(sent) < strategy.worst.tokens - 1000


def test_what_is_larger_than_was_set_aside_for_it_is_not_sent(tmp_path: Path, server: ModelServer) -> None:
    registry(tmp_path / "registry", SERVICES)
    server.answering(found())
    fields = [f"field_{number}" for number in range(200)]
    _, runs = waved(tmp_path, [model(tmp_path, server)], fingerprint={"fields": fields})
    assert (runs["asks"].status, server.asked) == ("not_run", [])
    assert "too_long: what is asked takes up to" in (runs["asks"].reason or "")


def test_the_key_is_sent_and_written_nowhere(
    tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-not-to-be-written-4711"
    monkeypatch.setenv("MODEL_KEY", key)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody-else")
    said = Answer(status=401, error={"message": f"Incorrect API key provided: {key}"})
    _, run = looked(tmp_path, server, said, api_key_env="MODEL_KEY")
    assert server.asked[0].key == f"Bearer {key}"
    assert "Incorrect API key provided: ***" in (run.reason or "")
    assert "MODEL_KEY" in (run.reason or "")
    written = [path for path in tmp_path.rglob("*") if path.is_file() and key.encode() in path.read_bytes()]
    assert written == []


def test_a_key_that_is_not_there_is_named_and_nobody_is_asked(
    tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MODEL_KEY", raising=False)
    _, run = looked(tmp_path, server, found(), api_key_env="MODEL_KEY")
    assert (run.status, server.asked) == ("not_run", [])
    assert "the variable MODEL_KEY, which holds the key of openai-chat:scripted, is not set" in (run.reason or "")


def test_an_interruption_ends_a_request_under_way(tmp_path: Path, server: ModelServer) -> None:
    campaign, _ = looked(tmp_path, server, found())
    server.answering(Answer(delay=600))
    strategy = campaign.declaration.sweep.strategies[0]
    children = Children()
    answers: list[Found] = []
    planned = json.loads((campaign.folder(1) / "plan.json").read_text())
    request = Request(
        strategy,
        Look("asks", {}, 0, 7),
        1,
        campaign.home.snapshots / planned["snapshot"] / DATABASE,
        ("service", "failure_mode"),
        children=children,
    )
    asking = threading.Thread(target=lambda: answers.append(search(request)))
    asking.start()
    until = time.monotonic() + 120
    while not server.asked and time.monotonic() < until:
        time.sleep(0.01)
    children.__exit__()
    asking.join(100)
    assert "interrupted" in str(answers[0].failure)


def test_one_price_list_is_read_and_none_is_fetched() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (prices.cost("openai:gpt-5-mini", 1_000_000, 0) or 0) > 0
        assert prices.cost("openai-chat:gpt-5-mini", 10, 10) == prices.cost("openai:gpt-5-mini", 10, 10)
        assert prices.cost("openai:no-such-model", 1, 1) is None
        assert prices.cost("nobody:at-all", 1, 1) is None


def test_the_example_of_the_page_on_models_finds_and_judges(tmp_path: Path, server: ModelServer) -> None:
    page = (Path(__file__).parents[2] / "docs" / "finders" / "llm.md").read_text()
    blocks = re.findall(r"`([^`\s]+\.(?:yaml|sql|md))`[^`\n]*:\n\n```\w+\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert [name for name, _ in blocks] == ["naming.yaml", "descriptions.sql", "vague.md", "services/api.yaml"]
    (tmp_path / "services").mkdir()
    (tmp_path / "services" / "mail.yaml").write_text(
        "owner: ann\ndescription: sends the mail that customers asked for\n"
    )
    for name, text in blocks:
        (tmp_path / name).write_text(text.replace("http://127.0.0.1:8000/v1", server.url))

    def script(asked: Asked) -> Answer:
        assert "a newcomer could not tell" in asked.system
        if "Try to refute" in asked.system:
            return verdict("confirmed")
        vague = [number for number, row in enumerate(asked.rows, 1) if row["description"] == "does things"]
        return found(*({"cited_row": n, "service": asked.rows[n - 1]["service"], "problem": "vague"} for n in vague))

    server.answering(script)
    campaign = run_to_its_end(begin(tmp_path / "naming.yaml", Home(tmp_path / "home")))
    told = summary(campaign.home.home, "naming", campaign.id)
    assert (told["outcome"], told["new"], told["confirmed"]) == ("converged", [1, 0, 0], 1)
    assert told["states"] == {"api.yaml/vague": "open"}


@pytest.mark.parametrize("protocol", ["openai", "openai-chat"])
def test_where_nothing_is_declared_the_provider_knows_its_address_its_key_and_its_price(
    tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch, protocol: str
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "the-usual-one")
    known = {"model": f"{protocol}:gpt-5-mini", "base_url": None, "price": None}
    _, run = looked(tmp_path, server, honest, temperature=None, **known)
    [asked] = server.asked
    assert (run.status, asked.key, asked.body["store"]) == ("ok", "Bearer the-usual-one", False)
    cost = prices.cost("openai:gpt-5-mini", 1000, 50)
    assert cost
    assert run.attempts[0].usage == Usage(1, 1050, cost)

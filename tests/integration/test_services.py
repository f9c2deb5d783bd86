"""Services as strategies and judges, in the waves and rounds of real campaigns: what they find, and how they fail."""

import gzip
import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow.parquet as pq
import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request as Asked
from werkzeug import Response

from drysweep_pipeline.budget import Budget, Ceilings, Meter, Spent
from drysweep_pipeline.candidates import COLUMNS
from drysweep_pipeline.declaration.model import HttpJudge, HttpStrategy
from drysweep_pipeline.engine.journal import budget_of
from drysweep_pipeline.engine.planning import plan
from drysweep_pipeline.engine.votes import FILE as VOTES
from drysweep_pipeline.engine.wave import wave
from drysweep_pipeline.errors import FinderError
from drysweep_pipeline.finders import Request, http
from drysweep_pipeline.home import Home
from drysweep_pipeline.judges import Question
from drysweep_pipeline.judges import http as judging
from drysweep_pipeline.reports import FORMATS
from drysweep_pipeline.reports.summary import summary
from drysweep_pipeline.values import ONE_CALL, Usage, Verdict
from drysweep_pipeline.variation import Look
from tests.finders import declared, rows, waved
from tests.services import JSON, Heard, raw, seconds_since
from tests.sweeps import NO_OWNER, begin, declare, ledger_rows, registry, run_to_its_end, steps

TOKEN = "gh0st-token-0f-nobody"
AUTHORIZED = {"Authorization": "Bearer {env.SERVICE_TOKEN}"}
API = {"service": "api", "failure_mode": "m"}
DB = {**API, "service": "db"}


@pytest.fixture(autouse=True)
def _material(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry(tmp_path / "registry", {"api": None, "web": "team", "db": None})
    monkeypatch.setenv("SERVICE_TOKEN", TOKEN)


def service(server: HTTPServer, name: str, says: Response | Callable[[Asked], Response], **more: Any) -> dict[str, Any]:
    """A strategy that asks the server at an address of its own."""
    server.expect_request(f"/{name}").respond_with_handler(says if not isinstance(says, Response) else lambda _: says)
    return {"name": name, "kind": "http", "url": server.url_for(f"/{name}"), **more}


def said(*findings: Any, **more: Any) -> Response:
    return Response(json.dumps({"findings": findings, "end": True, **more}), content_type="application/json")


def lined(*lines: Any) -> Response:
    return Response("".join(json.dumps(line) + "\n" for line in lines), content_type="application/x-ndjson")


def typed(text: str | bytes, kind: str = "application/json", **headers: str) -> Response:
    return Response(text, headers=headers, content_type=kind)


# What a service answers, its status, what its reason says, how many rows of it are kept, and how often it was tried.
ANSWERS: dict[str, tuple[Response, str, str, int, int]] = {
    "finds": (said(API, DB), "ok", "", 2, 1),
    "counts": (said(API, end=1), "ok", "", 1, 1),
    "nothing": (said(), "ok", "", 0, 1),
    "lines": (lined(API, DB, {"drysweep": "end", "count": 2}), "ok", "", 2, 1),
    "packed": (typed(gzip.compress(said(API).data), **{"Content-Encoding": "gzip"}), "ok", "", 1, 1),
    "suffixed": (typed(said(API).data, "Application/JSON; charset=utf-8"), "ok", "", 1, 1),
    "empty": (typed(""), "failed", "answered with nothing at all", 0, 2),
    "unmarked": (said(API, end=False), "failed", "without the mark", 1, 2),
    "miscounts": (said(API, end=3), "failed", "counts 3 findings, and there are 1", 1, 2),
    "unmarked_lines": (lined(API), "failed", "without the mark", 1, 2),
    "goes_on": (lined(API, {"drysweep": "end", "count": 1}, DB), "failed", "follows the mark", 1, 2),
    "no_lines": (typed("", "application/x-ndjson"), "failed", "without the mark", 0, 2),
    "html": (typed("<html>Sign in", "text/html"), "failed", "answered 200 with text/html", 0, 2),
    "html_as_json": (typed("<html>Sign in"), "failed", "the answer is not JSON, at line 1, column 1", 0, 2),
    "latin": (typed('{"findings": [], "end": true, "x": "\xe9"}'.encode("latin-1")), "failed", "not UTF-8", 0, 2),
    "says_latin": (typed(said(API).data, "application/json; charset=latin-1"), "failed", "in the charset", 0, 2),
    "other_schema": (typed('{"results": [], "end": true}'), "failed", 'the key "results"', 0, 2),
    "paged": (typed('{"findings": [], "end": true, "next": "/2"}'), "failed", 'the key "next"', 0, 2),
    "forbidden": (Response("no", 403), "failed", "answered 403 with text/plain", 0, 2),
    "broken": (Response("oops", 500), "failed", "answered 500", 0, 2),
    "moved": (Response("", 301, {"Location": "/finds"}), "failed", "307 and 308 only", 0, 2),
    "elsewhere": (Response("", 307, {"Location": "https://other.example/"}), "failed", "nothing was sent there", 0, 2),
    "busy": (Response("", 503), "failed", "answered 503", 0, 2),
    "no_object": (said(API, 7), "refused", "row 2: finding 2: 7 is no JSON object", 1, 1),
    "claims": (said({**API, "strategy": "other"}, DB), "refused", "strategy: not accepted from a finder", 1, 1),
    "claims_fp": (said({**API, "fp": "x"}, DB), "refused", "not accepted", 1, 1),
    "lacks": (said({"service": None, "failure_mode": "m"}, DB), "refused", "missing_field: service", 1, 1),
    "severe": (said({**API, "severity": "critical"}, DB), "refused", "bad_severity: critical", 1, 1),
    "many": (said(*[{**API, "service": str(each)} for each in range(9)]), "truncated", "more than 5 rows", 5, 1),
    "deep": (typed('{"findings": ' + "[" * 100_000), "truncated", "levels", 0, 1),
    "long_line": (typed(b"x" * 5_000_000, "application/x-ndjson"), "truncated", "a line of more than", 0, 1),
}


def test_a_service_is_taken_at_its_word_only_where_its_answer_says_that_this_is_all(
    tmp_path: Path, httpserver: HTTPServer
) -> None:
    strategies = [service(httpserver, name, case[0], retries=0, max_rows=5) for name, case in ANSWERS.items()]
    campaign, runs = waved(tmp_path, strategies)
    for name, (_, status, why, kept, tries) in ANSWERS.items():
        run = runs[name]
        assert run.attempts[-1].status == status, (name, run)
        assert (run.status == "ok") is (status == "ok"), name
        assert why in (run.reason or ""), (name, run.reason)
        assert (len(rows(campaign, run)), len(run.attempts)) == (kept, tries), (name, run)
    made = sum(case[4] for case in ANSWERS.values())
    assert budget_of(campaign, 1).used.calls == made == len(httpserver.log)


def test_a_service_is_told_its_task_and_the_rows_that_are_declared_and_nothing_that_leads_to_the_ledger(
    tmp_path: Path, httpserver: HTTPServer
) -> None:
    (tmp_path / "rows.sql").write_text("select service, $tier as tier from services order by service limit 2")
    send = {"query": {"file": "rows.sql"}}
    strategies = [
        service(httpserver, "sends", said(), send=send, angles=[{"tier": "one"}]),
        service(httpserver, "sends_nothing", said()),
    ]
    campaign, _ = waved(tmp_path, strategies)
    told = {request.path[1:]: request.get_json() for request, _ in httpserver.log}
    assert told["sends"] == {
        "sweep": "small",
        "campaign": campaign.id,
        "round": 1,
        "strategy": "sends",
        "angle": {"tier": "one"},
        "seed": told["sends"]["seed"],
        "rows": [{"service": "api", "tier": "one"}, {"service": "db", "tier": "one"}],
    }
    assert told["sends_nothing"]["rows"] is None
    assert all(str(tmp_path) not in json.dumps(each) for each in told.values())


def test_rows_that_are_too_many_to_send_ask_nobody(tmp_path: Path, httpserver: HTTPServer) -> None:
    (tmp_path / "rows.sql").write_text("select * from services")
    send = {"query": {"file": "rows.sql"}, "max_rows_sent": 2}
    _, runs = waved(tmp_path, [service(httpserver, "sends", said(), send=send)])
    assert (runs["sends"].status, len(runs["sends"].attempts)) == ("not_run", 1)
    assert "more than 2 rows" in (runs["sends"].reason or "")
    assert httpserver.log == []


def test_a_service_is_sent_a_list_of_nothing_only_where_that_is_declared_and_then_it_is_said(
    tmp_path: Path, httpserver: HTTPServer
) -> None:
    (tmp_path / "rows.sql").write_text("select * from services where service = 'renamed'")
    send = {"query": {"file": "rows.sql"}}
    strategies = [
        service(httpserver, "sends", said(), send=send),
        service(httpserver, "may", said(), send={**send, "allow_empty": True}),
    ]
    _, runs = waved(tmp_path, strategies)
    assert (runs["sends"].status, [each.usage for each in runs["sends"].attempts]) == ("not_run", [Usage()])
    assert "rows.sql gives no rows to send: nobody was asked" in (runs["sends"].reason or "")
    assert (runs["may"].status, runs["may"].reason) == ("ok", "rows.sql gives no rows: no row was sent")
    assert [request.get_json()["rows"] for request, _ in httpserver.log] == [[]]


def no_owner(asked: Asked) -> Response:
    """Find, in the rows that are sent, the services that nobody owns."""
    found = [{"service": row["service"], "failure_mode": "no_owner"} for row in asked.get_json()["rows"]]
    return said(*found, usage={"calls": 1, "tokens": 10})


def by_name(asked: Asked) -> Response:
    """Confirm what is said of api, and nothing else."""
    name = asked.get_json()["finding"]["service"]
    verdict = "confirmed" if name == "api" else "rejected"
    return Response(json.dumps({"verdict": verdict, "reason": f"it is {name}"}), content_type="application/json")


def judge(server: HTTPServer, says: Callable[[Asked], Response], **more: Any) -> dict[str, Any]:
    server.expect_request("/judge").respond_with_handler(says)
    return {"kind": "http", "url": server.url_for("/judge"), **more}


def test_a_campaign_of_a_service_that_searches_and_one_that_judges_comes_to_its_outcome(
    tmp_path: Path, httpserver: HTTPServer
) -> None:
    (tmp_path / "unowned.sql").write_text(NO_OWNER)
    strategy = service(httpserver, "find", no_owner, send={"query": {"file": "unowned.sql"}}, headers=AUTHORIZED)
    home = Home(tmp_path / "home")
    path = declared(tmp_path, [strategy], judge=judge(httpserver, by_name, headers=AUTHORIZED))
    campaign = run_to_its_end(begin(path, home))
    told = summary(home, "small", campaign.id)
    assert (told["outcome"], told["rounds"], told["new"]) == ("converged", 3, [2, 0, 0])
    assert told["states"] == {"api/no_owner": "open", "db/no_owner": "rejected"}
    assert told["calls"] == 3 + 2 == len(httpserver.log)
    assert {request.headers["Authorization"] for request, _ in httpserver.log} == {f"Bearer {TOKEN}"}
    asked = [request.get_json() for request, _ in httpserver.log if request.path == "/judge"]
    assert sorted(each["finding"]["service"] for each in asked) == ["api", "db"]
    assert {(each["round"], each["member"], tuple(each["fields"])) for each in asked} == {
        (1, 1, ("service", "failure_mode"))
    }
    [verdicts] = campaign.folder(1).glob("verdicts.parquet")
    assert {row["reason"] for row in pq.read_table(verdicts).to_pylist()} == {"it is api", "it is db"}
    assert budget_of(campaign, 1).used == Usage(calls=3, tokens=10)


JUDGED: dict[str, tuple[Response, str]] = {
    "empty": (typed(""), "the judge gave no answer"),
    "html": (typed("<html>", "text/html"), "answered 200 with text/html: <html>"),
    "text": (typed("confirmed"), "not one JSON object"),
    "twice": (typed('{"verdict": "confirmed", "verdict": "rejected"}'), "a key is there twice"),
    "other": (typed('{"verdict": "maybe"}'), "'maybe'; a verdict is confirmed, rejected or undecided"),
    "refuses": (Response("no", 401), "answered 401"),
    "large": (typed(b" " * (2 << 20)), "truncated: the answer has more than"),
    "usage": (typed('{"verdict": "confirmed", "usage": {"calls": -1}}'), "the usage of -1 calls cannot be"),
}


def test_what_is_no_verdict_leaves_its_finding_undecided_and_no_other(tmp_path: Path, httpserver: HTTPServer) -> None:
    registry(tmp_path / "registry", dict.fromkeys(JUDGED))

    def says(asked: Asked) -> Response:
        name = asked.get_json()["finding"]["service"]
        return JUDGED[name][0] if name in JUDGED else typed('{"verdict": "confirmed"}')

    home = Home(tmp_path / "home")
    campaign = begin(declare(tmp_path, {"labels": NO_OWNER}, judge=judge(httpserver, says)), home)
    steps(campaign, 1)
    told = summary(home, "small", campaign.id)
    assert (told["confirmed"], told["undecided"], told["rejected"]) == (2, len(JUDGED), 0)
    assert "judge_failed" in [event["name"] for event in told["events"]]
    names = {
        str(row["fp"]): row["subject"] for row in pq.read_table(campaign.folder(1) / "labels.a1.parquet").to_pylist()
    }
    reasons = {
        names[row["fp"]]: row["reason"] for row in pq.read_table(campaign.folder(1) / "verdicts.parquet").to_pylist()
    }
    for name, (_, why) in JUDGED.items():
        assert why in reasons[name], name


def test_each_retry_of_a_panel_is_a_call_and_none_is_made_that_the_ceiling_does_not_have(
    tmp_path: Path, httpserver: HTTPServer
) -> None:
    seen: dict[tuple[str, int], int] = {}

    def says(asked: Asked) -> Response:
        told = asked.get_json()
        who = (told["finding"]["service"], told["member"])
        seen[who] = seen.get(who, 0) + 1
        if seen[who] == 1 and told["member"] == 2:
            return Response("", 429, {"Retry-After": "0"})
        return typed('{"verdict": "confirmed", "usage": {"calls": 1, "tokens": 7}}')

    home = Home(tmp_path / "home")
    path = declare(
        tmp_path, {"labels": NO_OWNER}, judge=judge(httpserver, says, panel=3), budget={"rounds": 5, "calls": 8}
    )
    campaign = begin(path, home)
    steps(campaign, 1)
    told = summary(home, "small", campaign.id)
    assert len(httpserver.log) == 2 * 3 + 1, "one call is left for two that would be tried again"
    assert told["calls"] == 1 + 7
    assert (told["confirmed"], told["undecided"]) == (2, 0), "two of three are a majority"
    votes = [
        vote["reason"]
        for row in pq.read_table(campaign.folder(1) / "verdicts.parquet").to_pylist()
        for vote in json.loads(row["votes"])
    ]
    assert [reason for reason in votes if reason] == [
        "ceiling: calls, after answered 429 with text/plain; charset=utf-8"
    ]
    assert budget_of(campaign, 1).used.tokens == 5 * 7


def test_votes_of_a_service_are_kept_from_the_moment_they_come(tmp_path: Path, httpserver: HTTPServer) -> None:
    home = Home(tmp_path / "home")
    kept: list[bool] = []

    def there(path: Path) -> bool:
        return path.exists() and b'"verdict"' in path.read_bytes()

    def says(asked: Asked) -> Response:
        path = home.root / "sweeps" / "small" / "landing" / asked.get_json()["campaign"] / "r001" / VOTES
        until = time.monotonic() + 60
        # One request is served at a time: the first answer is on its way while the second is still asked for.
        while kept and not there(path) and time.monotonic() < until:
            time.sleep(0.02)
        kept.append(there(path))
        return by_name(asked)

    campaign = begin(declare(tmp_path, {"labels": NO_OWNER}, judge=judge(httpserver, says)), home)
    steps(campaign, 1)
    assert kept == [False, True]


def question(server_url: str, findings: int) -> Question:
    empty = dict.fromkeys(COLUMNS)
    told = [{**empty, "fp": uuid4(), "identity": '["fp1", "api"]', "attributes": "{}"} for _ in range(findings)]
    return Question(HttpJudge(kind="http", url=server_url, timeout_s=600), told, ("service",), 1, None)


@contextmanager
def interrupted_once_asked(service: Heard) -> Iterator[None]:
    """Interrupt what is in the block when the service hears of it, which never answers; it is to end soon."""
    main = threading.get_ident()

    def interrupt() -> None:
        while not service.requests:
            time.sleep(0.01)
        signal.pthread_kill(main, signal.SIGINT)

    interruption = threading.Thread(target=interrupt, daemon=True)
    interruption.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        yield
    interruption.join()
    assert seconds_since(began) < 120


def test_a_round_that_is_interrupted_does_not_wait_for_its_judge() -> None:
    with (
        raw([JSON + "\r\n"], then=600) as hangs,
        closing(judging.rule(question(hangs.url, findings=20))) as rulings,
        interrupted_once_asked(hangs),
    ):
        next(rulings)


def test_a_wave_that_is_interrupted_does_not_wait_for_its_services(tmp_path: Path) -> None:
    with raw([JSON + "\r\n"], then=600) as hangs:
        strategies = [{"name": f"s{number}", "kind": "http", "url": hangs.url, "timeout_s": 600} for number in range(3)]
        campaign = begin(declared(tmp_path, strategies), Home(tmp_path / "home"))
        plan(campaign, 1)
        with interrupted_once_asked(hangs):
            list(wave(campaign, 1))


def test_where_a_variable_of_the_judge_is_not_set_nobody_is_asked_and_all_are_undecided(
    tmp_path: Path, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SERVICE_TOKEN")
    home = Home(tmp_path / "home")
    path = declare(tmp_path, {"labels": NO_OWNER}, judge=judge(httpserver, by_name, headers=AUTHORIZED))
    campaign = begin(path, home)
    steps(campaign, 1)
    told = summary(home, "small", campaign.id)
    assert (told["undecided"], httpserver.log) == (2, [])
    [failed] = [event for event in told["events"] if event["name"] == "judge_failed"]
    assert "SERVICE_TOKEN is not set" in failed["reason"]


def test_many_services_side_by_side_with_their_retries_make_exactly_the_calls_that_the_ceiling_has(
    tmp_path: Path, httpserver: HTTPServer
) -> None:
    strategies = [service(httpserver, f"s{number:02d}", Response("", 503), retries=3) for number in range(40)]
    campaign, runs = waved(tmp_path, strategies, budget={"rounds": 9, "calls": 50})
    assert len(httpserver.log) == 50
    assert budget_of(campaign, 1).used.calls == 50
    assert {run.status for run in runs.values()} == {"not_run"}
    assert all("answered 503" in (run.reason or "") for run in runs.values())


def test_forty_looks_at_once_under_a_ceiling_of_ten_calls_make_ten(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/find").respond_with_data("", status=503)
    budget = Budget(Ceilings(rounds=1, calls=10), Spent())
    strategy = HttpStrategy(name="asked", kind="http", url=httpserver.url_for("/find"), retries=1)

    def look(number: int) -> None:
        reservation = budget.reserve(ONE_CALL, f"look {number}")
        if reservation is None:
            return
        meter = Meter(budget, ONE_CALL, f"look {number}", reservation)
        request = Request(strategy, Look("asked", {}, 0, number), 1, None, ("service",), meter=meter)
        with pytest.raises(FinderError):
            http.search(request)
        meter.settle(meter.reserved)

    with ThreadPoolExecutor(40) as pool:
        list(pool.map(look, range(40)))
    assert (len(httpserver.log), budget.used.calls) == (10, 10)


def test_what_a_service_reports_counts_and_so_do_the_tries_before_it(tmp_path: Path, httpserver: HTTPServer) -> None:
    answers = iter([Response("", 503), said(API, usage={"calls": 2, "tokens": 5})])
    strategy = service(httpserver, "find", lambda _: next(answers), at_most={"calls": 3, "tokens": 100})
    campaign, runs = waved(tmp_path, [strategy])
    assert runs["find"].attempts[0].usage == Usage(calls=2 + 3, tokens=5 + 100)
    assert budget_of(campaign, 1).used == Usage(calls=2 + 3, tokens=5 + 100)


def test_a_secret_is_in_no_file_of_the_home_whatever_the_service_does_with_it(
    tmp_path: Path, httpserver: HTTPServer
) -> None:
    def echoes(asked: Asked) -> Response:
        told = asked.headers["Authorization"]
        return said({**API, "evidence": told, "title": f"said {told}", "header": [told]})

    def fails(asked: Asked) -> Response:
        told = asked.headers["Authorization"]
        return Response(told, 500, {"X-Told": told}, content_type=f"text/{told}")

    def judges(asked: Asked) -> Response:
        return typed(json.dumps({"verdict": "confirmed", "reason": asked.headers["Authorization"]}))

    strategies = [
        service(httpserver, "echoes", echoes, headers=AUTHORIZED),
        service(httpserver, "fails", fails, headers=AUTHORIZED),
    ]
    home = Home(tmp_path / "home")
    path = declared(tmp_path, strategies, judge=judge(httpserver, judges, headers=AUTHORIZED))
    campaign = run_to_its_end(begin(path, home))
    told = summary(home, "small", campaign.id)
    assert (told["outcome"], told["confirmed"]) == ("failed", 1)
    files = [each for each in home.root.rglob("*") if each.is_file()]
    unpacked = [repr(pq.read_table(each).to_pylist()) for each in files if each.suffix == ".parquet"]
    shown = [repr(ledger_rows(campaign)), repr(told), *unpacked]
    shown += [FORMATS[each](home, "small", campaign.id) for each in ("md", "json")]
    assert len(files) > 20
    assert any("***" in each for each in unpacked)
    assert not [each for each in files if TOKEN.encode() in each.read_bytes()]
    assert not [each for each in shown if TOKEN in each]
    assert Verdict.CONFIRMED in repr(ledger_rows(campaign))

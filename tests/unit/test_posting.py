"""One question to a service over real sockets: what comes back whole, what is given up and when, what never leaves."""

import gzip
import json
import logging
import shutil
import socket
import threading
import time
import tracemalloc
import zlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from urllib.parse import quote

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from drysweep_pipeline.children.underway import Children
from drysweep_pipeline.errors import FinderError
from tests.services import JSON, certificate, posted, raw, seconds_since

TOKEN = 'tok/3n-of-nobody"s'
PACKED = JSON + "Content-Encoding: gzip\r\n\r\n"
AUTHORIZED = {"Authorization": "Bearer {env.SERVICE_TOKEN}"}


@pytest.fixture(autouse=True)
def _token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE_TOKEN", TOKEN)


@pytest.fixture
def other(httpserver: HTTPServer) -> Iterator[HTTPServer]:
    """A second service, at another address."""
    with HTTPServer(host="127.0.0.1", port=0) as server:
        yield server


def refused(url: str, seconds: float = 200, **more: object) -> FinderError:
    with pytest.raises(FinderError) as error:
        posted(url, seconds, **more)  # type: ignore[arg-type]
    return error.value


def test_a_question_is_one_post_with_the_headers_that_are_declared_and_their_variables_filled_in(
    httpserver: HTTPServer,
) -> None:
    httpserver.expect_request("/find", method="POST").respond_with_json({"findings": [], "end": True})
    answer = posted(httpserver.url_for("/find?v=2"), headers={**AUTHORIZED, "X-Team": "platform", "user-agent": "mine"})
    assert (answer.media, json.loads(answer.body), answer.tries) == (
        "application/json",
        {"findings": [], "end": True},
        1,
    )
    [(request, _)] = httpserver.log
    assert (request.get_json(), request.query_string) == ({"asked": 1}, b"v=2")
    assert request.headers["Authorization"] == f"Bearer {TOKEN}"
    assert (request.headers["X-Team"], request.headers["Content-Type"]) == ("platform", "application/json")
    assert (request.headers["Accept-Encoding"], "Cookie" in request.headers) == ("gzip", False)
    assert request.headers.getlist("User-Agent") == ["mine"]


def test_a_proxy_and_a_netrc_of_the_environment_are_nobody_s_business(
    httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".netrc").write_text("machine localhost login me password mine\n")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    httpserver.expect_request("/find").respond_with_json({})
    assert posted(httpserver.url_for("/find")).body
    assert "Authorization" not in httpserver.log[0][0].headers


def test_a_packed_answer_is_unpacked(httpserver: HTTPServer) -> None:
    body = gzip.compress(b'{"findings": []}')
    httpserver.expect_request("/find").respond_with_data(
        body, content_type="application/json; charset=UTF-8", headers={"Content-Encoding": "gzip"}
    )
    assert posted(httpserver.url_for("/find")).body == b'{"findings": []}'


@pytest.mark.parametrize(
    ("said", "status"),
    [
        (Response("", 503), 503),
        (Response("", 502), 502),
        (Response("", 504), 504),
        (Response("", 429, {"Retry-After": "0"}), 429),
        (Response("", 429, {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}), 429),
        (Response("", 503, {"Retry-After": "soon"}), 503),
    ],
    ids=lambda value: str(value),
)
def test_what_may_be_better_later_is_tried_again_and_each_try_asks_for_a_call_first(
    httpserver: HTTPServer, said: Response, status: int
) -> None:
    asked: list[int] = []
    httpserver.expect_ordered_request("/find").respond_with_response(said)
    httpserver.expect_ordered_request("/find").respond_with_json({"end": True})
    answer = posted(httpserver.url_for("/find"), more=lambda: asked.append(len(httpserver.log)))
    assert (answer.tries, len(httpserver.log), asked) == (2, 2, [1])


def test_a_service_that_says_when_is_asked_then(httpserver: HTTPServer) -> None:
    httpserver.expect_ordered_request("/find").respond_with_data("", status=429, headers={"Retry-After": "1"})
    httpserver.expect_ordered_request("/find").respond_with_json({})
    began = time.monotonic()
    posted(httpserver.url_for("/find"), more=lambda: None)
    assert 1 <= seconds_since(began) < 20


@pytest.mark.parametrize(
    "when",
    ["3600", format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True), "9" * 400],
    ids=["seconds", "a date", "too many seconds for a number"],
)
def test_a_service_that_wants_more_time_than_there_is_is_given_up_at_once(httpserver: HTTPServer, when: str) -> None:
    httpserver.expect_request("/find").respond_with_data("wait", status=429, headers={"Retry-After": when})
    began = time.monotonic()
    error = refused(httpserver.url_for("/find"))
    assert seconds_since(began) < 20
    assert "answered 429" in str(error)
    assert "it asks to wait" in str(error)
    assert len(httpserver.log) == 1


def test_tries_end_after_those_that_are_declared_and_at_a_ceiling_before(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/find").respond_with_data("later", status=503)
    error = refused(httpserver.url_for("/find"), more=lambda: None, retries=1)
    assert "answered 503 with text/plain; charset=utf-8: later, 2 times" in str(error)
    assert len(httpserver.log) == 2

    def ceiling() -> None:
        raise FinderError("ceiling: calls", status="ceiling")

    error = refused(httpserver.url_for("/find"), more=ceiling)
    assert (error.status, len(httpserver.log)) == ("ceiling", 3)
    assert str(error).startswith("ceiling: calls, after answered 503")
    refused(httpserver.url_for("/find"), retries=0)
    assert len(httpserver.log) == 4


def test_a_machine_that_is_not_there_is_tried_again_and_then_named_so() -> None:
    tries: list[int] = []
    error = refused("http://127.0.0.1:1/find", more=lambda: tries.append(1), retries=1)
    assert "cannot be connected to: Connect call failed" in str(error)
    assert tries == [1]


@pytest.mark.parametrize(
    ("pieces", "says"),
    [
        ((JSON + "Content-Length: 100\r\n\r\n", '{"end": true}'), "broke off"),
        ((JSON + "Transfer-Encoding: chunked\r\n\r\n", 'd\r\n{"end": true}\r\n'), "broke off"),
        ((), "broke off"),
        (("HTTP/1.1 200 OK\r\nContent-Type: appl",), "broke off"),
        (("\x1b[2Jno http at all\r\n\r\n",), "broke off"),
        ((JSON + "X: " + "x" * 200_000 + "\r\n\r\n",), "broke off"),
        (("x" * 20_000 + "\r\n\r\n",), "broke off"),
        ((JSON + "Content-Encoding: gzip\r\n\r\n", "not packed"), "cannot be unpacked"),
        ((PACKED, gzip.compress(b"{}") + gzip.compress(b'{"more": 1}')), "something follows the end of its packing"),
        ((PACKED, gzip.compress(b"{}") + b"\0"), "something follows the end of its packing"),
        ((PACKED, gzip.compress(b"{}")[:-8]), "its packing has no end"),
        ((PACKED, gzip.compress(b"{}")[:-1]), "its packing has no end"),
        ((PACKED, gzip.compress(b"{}")[:-8] + bytes(8)), "incorrect data check"),
        ((PACKED, ""), "its packing has no end"),
        ((JSON + "Content-Encoding: br\r\n\r\n", "x"), "packed as 'br', which was not asked for"),
        ((JSON + "Content-Encoding: gzip, gzip\r\n\r\n", "x"), "which was not asked for"),
        (("HTTP/1.1 200 OK\r\n\r\n", '{"end": true}'), "answered 200 with no content type"),
        (
            ("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n", "<html>\x1b]0;x\x07\r\nBad gateway"),
            r"answered 200 with text/html: <html>\x1b]0;x\x07\r\nBad gateway",
        ),
        (
            ("HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=latin-1\r\n\r\n", '{"end": true}'),
            "answered in the charset 'latin-1'",
        ),
        (("HTTP/1.1 204 No Content\r\n\r\n",), "answered 204"),
        (
            ("HTTP/1.1 500 Oh\r\nContent-Type: text/plain\r\n\r\n", "Traceback"),
            "answered 500 with text/plain: Traceback",
        ),
        (("HTTP/1.1 401 No\r\nContent-Length: 5\r\n\r\n", "no"), "answered 401 with no content type: no"),
        (("HTTP/1.1 301 Moved\r\nLocation: /x\r\n\r\n",), "307 and 308 only"),
        (("HTTP/1.1 307 Moved\r\n\r\n",), "answered 307 without an address"),
    ],
)
def test_what_is_no_whole_answer_is_a_failure_that_says_what_came_instead(pieces: tuple[str, ...], says: str) -> None:
    with raw(pieces) as service:
        error = refused(service.url)
    assert says in str(error)
    assert error.status == "failed"
    assert str(error).isprintable()
    assert len(str(error)) < 400
    assert len(service.requests) == 1


@pytest.mark.parametrize(
    "start", ["HTTP/1.1 200 OK\r\nX: ", JSON + "\r\n", JSON + "Transfer-Encoding: chunked\r\n\r\n"]
)
def test_the_deadline_holds_though_each_moment_brings_a_byte(start: str) -> None:
    with raw([start, *["1"] * 600], pause=0.05) as service:
        began = time.monotonic()
        error = refused(service.url, seconds=0.5)
        assert 0.4 < seconds_since(began) < 20
    assert (error.status, str(error)) == ("timeout", "timeout: no whole answer after 0.5 s")


def test_the_deadline_holds_though_a_name_is_looked_up_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()

    def looks_up(*_: object, **__: object) -> None:
        over.wait(60)
        raise socket.gaierror("nothing found")

    monkeypatch.setattr(socket, "getaddrinfo", looks_up)
    began = time.monotonic()
    error = refused("http://localhost:1/find", seconds=0.3)
    assert seconds_since(began) < 20
    assert error.status == "timeout"
    over.set()


def test_the_deadline_is_for_all_tries_together(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/find").respond_with_data("", status=503)
    began = time.monotonic()
    error = refused(httpserver.url_for("/find"), seconds=3, more=lambda: None, retries=10)
    assert seconds_since(began) < 20
    assert error.status == "timeout"
    assert "after answered 503" in str(error)


def test_an_interruption_ends_a_call_at_once_and_lets_none_begin() -> None:
    with raw([JSON + "\r\n"], then=600) as service, Children() as underway:

        def interrupt() -> None:
            while not service.requests:
                time.sleep(0.01)
            underway.__exit__(None, None, None)

        interrupting = threading.Thread(target=interrupt, daemon=True)
        interrupting.start()
        began = time.monotonic()
        error = refused(service.url, underway=underway)
        assert seconds_since(began) < 100
        interrupting.join()
        assert "interrupted" in str(error)
        assert "before it was started" in str(refused(service.url, underway=underway))
        assert len(service.requests) == 1


def test_an_interruption_does_not_wait_for_the_next_try(
    httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    httpserver.expect_request("/find").respond_with_data("", status=429, headers={"Retry-After": "50"})
    with Children() as underway:
        timer = threading.Timer(0.2, underway.__exit__, (None, None, None))
        # It says so in its log when it begins to wait.
        monkeypatch.setattr(logging.getLogger("drysweep_pipeline.retrying"), "info", lambda *_: timer.start())
        began = time.monotonic()
        error = refused(httpserver.url_for("/find"), underway=underway)
        timer.join()
    assert seconds_since(began) < 45
    assert "interrupted, after answered 429" in str(error)


def test_an_answer_over_the_cap_is_cut_off_as_it_comes() -> None:
    with raw([JSON + "\r\n", *[b"x" * 65536] * 10_000]) as service:
        error = refused(service.url, max_bytes=1_000_000)
    assert (error.status, str(error)) == ("truncated", "truncated: the answer has more than 1000000 bytes")


def test_an_answer_that_unpacks_to_a_thousand_times_its_size_stops_at_the_cap_without_the_memory() -> None:
    packing = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join(packing.compress(bytes(1 << 20)) for _ in range(100)) + packing.flush()
    with raw([JSON + f"Content-Encoding: gzip\r\nContent-Length: {len(bomb)}\r\n\r\n", bomb]) as service:
        tracemalloc.start()
        error = refused(service.url, max_bytes=2 << 20)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert error.status == "truncated"
    assert peak < 20 << 20, "the bomb is a hundred"


def test_a_redirect_within_the_service_is_followed_with_the_same_question(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/find").respond_with_data("", status=307, headers={"Location": "v2/find"})
    httpserver.expect_request("/v2/find").respond_with_data(
        "", status=308, headers={"Location": httpserver.url_for("/v3"), "Set-Cookie": "a=b"}
    )
    httpserver.expect_request("/v3").respond_with_json({})
    assert posted(httpserver.url_for("/find"), headers=AUTHORIZED).tries == 1
    requests = [request for request, _ in httpserver.log]
    assert [request.path for request in requests] == ["/find", "/v2/find", "/v3"]
    assert {(request.method, request.data, request.headers["Authorization"]) for request in requests} == {
        ("POST", b'{"asked": 1}', f"Bearer {TOKEN}")
    }
    assert not any("Cookie" in request.headers for request in requests)


def test_a_redirect_to_anywhere_else_is_refused_by_name_and_nothing_is_sent_there(
    httpserver: HTTPServer, other: HTTPServer
) -> None:
    other.expect_request("/find").respond_with_json({})
    port = httpserver.port
    for target in (
        other.url_for("/find"),
        f"//127.0.0.1:{other.port}/find",
        f"https://localhost:{port}/find",
        f"http://me:secret@localhost:{port}/find",
        "file:///etc/passwd",
        f"http://127.0.0.1:{port}/find",
    ):
        httpserver.clear()
        httpserver.expect_request("/find").respond_with_data("", status=307, headers={"Location": target})
        error = refused(httpserver.url_for("/find"), headers=AUTHORIZED)
        assert "which is not the service that is declared: nothing was sent there" in str(error), target
        assert "secret" not in str(error)
    assert other.log == []


def test_redirects_that_never_end_do(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/find").respond_with_data("", status=308, headers={"Location": "/find"})
    assert "redirected more than 5 times" in str(refused(httpserver.url_for("/find")))
    assert len(httpserver.log) == 6


needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl here to make a certificate with")


@needs_openssl
def test_a_certificate_counts_only_where_somebody_trusted_vouches_for_it_and_for_that_host(tmp_path: Path) -> None:
    mine, context = certificate(tmp_path)
    with HTTPServer(host="localhost", port=0, ssl_context=context) as server:
        server.expect_request("/find").respond_with_json({"end": True})
        url = server.url_for("/find")
        error = refused(url, headers=AUTHORIZED)
        assert "no trusted connection: " in str(error)
        assert "self-signed certificate" in str(error)
        assert "ca_file" in str(error)
        other_host = url.replace("localhost", "127.0.0.1")
        assert "no trusted connection: " in str(refused(other_host, base=tmp_path, ca_file=mine.name))
        assert server.log == []
        assert posted(url, base=tmp_path, ca_file=mine.name).body
        assert "ca_file none.pem cannot be read" in str(refused(url, base=tmp_path, ca_file="none.pem"))
        (tmp_path / "bad.pem").write_text("no certificate")
        assert "ca_file bad.pem cannot be read" in str(refused(url, base=tmp_path, ca_file="bad.pem"))


def test_a_connection_that_only_one_side_encrypts_is_none(httpserver: HTTPServer) -> None:
    httpserver.expect_request("/find").respond_with_json({})
    assert "no trusted connection" in str(refused(httpserver.url_for("/find").replace("http:", "https:")))


def test_a_variable_that_is_not_set_or_unfit_is_named_and_nobody_is_asked(
    httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    httpserver.expect_request("/find").respond_with_json({})
    for value in ("s3cret\r\nX-Evil: 1", "s3cret\u00e9", " s3cret", ""):
        monkeypatch.setenv("SERVICE_TOKEN", value)
        error = refused(httpserver.url_for("/find"), headers=AUTHORIZED)
        assert "SERVICE_TOKEN" in str(error)
        assert "s3cret" not in str(error)
    monkeypatch.delenv("SERVICE_TOKEN")
    assert "SERVICE_TOKEN is not set" in str(refused(httpserver.url_for("/find"), headers=AUTHORIZED))
    assert httpserver.log == []


def test_a_service_that_repeats_the_secret_gets_it_into_no_answer_no_error_and_no_log(
    httpserver: HTTPServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)

    def echo(request: Request) -> Response:
        told = request.headers["Authorization"]
        headers = {"Location": f"http://{told[7:10]}.example/{told}", "Retry-After": told}
        kinds = {"json": "application/json", "type": f"text/{told}", "charset": f"application/json; charset={told}"}
        said = json.dumps({"told": told, "url": f"x:?y={quote(told)}"})
        said += json.dumps([told]).replace("/", "\\/") if request.args["as"] != "json" else ""
        status = int(request.args.get("status", 200))
        return Response(said, status, headers, content_type=kinds[request.args["as"]])

    httpserver.expect_request("/find").respond_with_handler(echo)
    answer = posted(httpserver.url_for("/find?as=json"), headers=AUTHORIZED)
    assert json.loads(answer.body)["told"] == "Bearer ***"
    said = [
        str(refused(httpserver.url_for(f"/find?as={kind}&status={status}"), headers=AUTHORIZED, retries=0))
        for kind, status in (
            ("type", 200),
            ("charset", 200),
            ("json", 500),
            ("json", 429),
            ("json", 307),
            ("json", 302),
        )
    ]
    with raw([f"{TOKEN} is no status line\r\n\r\n"]) as service:
        said.append(str(refused(service.url, headers=AUTHORIZED)))
    for text in (*said, answer.body.decode(), caplog.text):
        assert "of-nobody" not in text

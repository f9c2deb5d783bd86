"""A scripted model behind a real socket: it speaks OpenAI's two protocols, and says what the test has it say."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Asked:
    """One request as the model sees it: which protocol, what the system and the user say, and all of the body."""

    path: str
    body: dict[str, Any]
    key: str

    @property
    def model(self) -> str:
        return str(self.body["model"])

    @property
    def system(self) -> str:
        return self._said(("system", "developer")) + str(self.body.get("instructions") or "")

    @property
    def user(self) -> str:
        return self._said(("user",))

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The numbered rows between the marks."""
        lines = [line.split("\t", 1) for line in self.user.splitlines() if "\t" in line]
        return [json.loads(text) for number, text in lines if number.isdigit()]

    def _said(self, roles: tuple[str, ...]) -> str:
        listed = self.body.get("messages") or self.body.get("input") or []
        return "\n".join(_text(each["content"]) for each in listed if each.get("role") in roles)


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


@dataclass(frozen=True)
class Answer:
    """What the model says, and how: the text (or an object to be written as JSON), why it stopped, what it took."""

    says: Any = None
    finish: str = "stop"
    refusal: str | None = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    usage: tuple[int, int] | None = (1000, 50)
    error: dict[str, Any] | None = None
    raw: bytes | None = None
    delay: float = 0.0
    drips: float = 0.0
    hangs_up: bool = False


Script: TypeAlias = Callable[[Asked], Answer]


def found(*findings: dict[str, Any], complete: bool = True) -> Answer:
    """An answer with findings, as the declared shape has them."""
    return Answer({"findings": list(findings), "complete": complete})


class _Listening(ThreadingHTTPServer):
    """It takes as many connections at once as anybody asks for: who is kept waiting tries again a second later."""

    daemon_threads = True
    request_queue_size = 128


class ModelServer:
    """The server: where it is, what it was asked so far, and the script that it answers by."""

    def __init__(self) -> None:
        self.script: Script = lambda asked: found()
        self.asked: list[Asked] = []
        self.most_at_once = 0
        self._now = 0
        self._lock = threading.Lock()
        self._server = _Listening(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self.over = threading.Event()

    def __enter__(self) -> "ModelServer":
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answering(self, script: Script | Answer) -> "ModelServer":
        """Start over with a script, or with one answer to everything."""
        self.asked.clear()
        self.most_at_once = 0
        self.script = script if callable(script) else lambda asked: script
        return self

    @contextmanager
    def _one(self, asked: Asked) -> Iterator[None]:
        with self._lock:
            self.asked.append(asked)
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
        try:
            yield
        finally:
            with self._lock:
                self._now -= 1

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                asked = Asked(self.path, body, self.headers.get("Authorization", ""))
                with server._one(asked), suppress(BrokenPipeError, ConnectionResetError):
                    answer = server.script(asked)
                    server.over.wait(answer.delay)
                    self._send(asked, answer)

            def _send(self, asked: Asked, answer: Answer) -> None:
                if answer.hangs_up:
                    self.close_connection = True
                    return
                written = answer.raw if answer.raw is not None else json.dumps(_body(asked, answer)).encode()
                self.send_response(answer.status)
                headers = {"Content-Type": "application/json", "Content-Length": str(len(written))}
                for name, value in {**headers, **answer.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                if answer.drips:
                    for byte in written:
                        self.wfile.write(bytes([byte]))
                        if server.over.wait(answer.drips):
                            return
                else:
                    self.wfile.write(written)

            def log_message(self, *_: Any) -> None:
                pass

        return Handler


def _body(asked: Asked, answer: Answer) -> dict[str, Any]:
    if answer.error is not None:
        return {"error": answer.error}
    text = answer.says if isinstance(answer.says, str) else None if answer.says is None else json.dumps(answer.says)
    return (_response if asked.path.endswith("/responses") else _completion)(asked, answer, text)


def _completion(asked: Asked, answer: Answer, text: str | None) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, "refusal": answer.refusal}
    choice = {"index": 0, "message": message, "finish_reason": answer.finish, "logprobs": None}
    whole = {"id": "c1", "object": "chat.completion", "created": int(time.time()), "model": asked.model}
    if answer.usage is not None:
        taken, given = answer.usage
        whole["usage"] = {"prompt_tokens": taken, "completion_tokens": given, "total_tokens": taken + given}
    return {**whole, "choices": [choice]}


def _response(asked: Asked, answer: Answer, text: str | None) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    if answer.refusal is not None:
        part = {"type": "refusal", "refusal": answer.refusal}
    message = {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [part]}
    cut = {"length": "max_output_tokens", "content_filter": "content_filter"}.get(answer.finish)
    whole = {
        "id": "r1",
        "object": "response",
        "created_at": int(time.time()),
        "model": asked.model,
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": cut} if cut else None,
        "output": [message] if text is not None or answer.refusal is not None else [],
        "parallel_tool_calls": False,
        "tool_choice": "none",
        "tools": [],
        "error": None,
    }
    if answer.usage is not None:
        taken, given = answer.usage
        whole["usage"] = {
            "input_tokens": taken,
            "output_tokens": given,
            "total_tokens": taken + given,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        }
    return whole

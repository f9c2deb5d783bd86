"""Services for tests: real sockets that answer what a test writes, byte by byte where it likes."""

import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from drysweep_pipeline.children.underway import Children
from drysweep_pipeline.declaration.model import HttpStrategy
from drysweep_pipeline.posting import Answer, More, Postbox

JSON = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def no_more() -> None:
    raise AssertionError("nothing was to be tried again")


def posted(
    url: str,
    seconds: float = 200,
    more: More = no_more,
    max_bytes: int = 1 << 20,
    underway: Children | None = None,
    base: Path = Path(),
    **declared: Any,
) -> Answer:
    """Post one question to a service that is declared so, and return its answer."""
    strategy = HttpStrategy(name="asked", kind="http", url=url, **declared)
    box = Postbox(strategy, base, seconds, max_bytes)
    return box.post(b'{"asked": 1}', more, Children() if underway is None else underway)


class Heard:
    """What was said to a raw service, a request a connection."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[bytes] = []


@contextmanager
def raw(pieces: Sequence[bytes | str], pause: float = 0.0, then: float = 0.0) -> Iterator[Heard]:
    """Serve every connection the same bytes, with pauses between the pieces, and close it some time after them."""
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        heard = Heard(f"http://127.0.0.1:{listening.getsockname()[1]}/find")

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listening.accept()
                    with connection:
                        answer(connection)

        def answer(connection: socket.socket) -> None:
            with suppress(OSError):
                heard.requests.append(connection.recv(1 << 16))
                for piece in pieces:
                    connection.sendall(piece.encode() if isinstance(piece, str) else piece)
                    over.wait(pause)
                over.wait(then)
                # A connection that is closed with something unread in it is reset, and takes the answer along.
                connection.shutdown(socket.SHUT_WR)
                connection.settimeout(1.0)
                while connection.recv(1 << 16):
                    pass

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield heard
        finally:
            over.set()
            with suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
            thread.join()


def certificate(folder: Path, host: str = "localhost") -> tuple[Path, ssl.SSLContext]:
    """Make a certificate that nobody but itself vouches for; return its file, and what serves by it."""
    file, key = folder / f"{host}.pem", folder / f"{host}.key"
    subject = ["-subj", f"/CN={host}", "-addext", f"subjectAltName=DNS:{host}", "-days", "2"]
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    subprocess.run([*made, *subject, "-keyout", str(key), "-out", str(file)], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file, key)
    return file, context


def seconds_since(began: float) -> float:
    return time.monotonic() - began

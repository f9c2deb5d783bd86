"""One question posted to a service and its answer read: within one deadline, under one cap, and never anywhere else.

Everything that a call may wait for (a name, a connection, a byte, a retry) is waited for in one coroutine, so that the
deadline and an interruption reach all of it. What the question is, and what the answer means, is the caller's business.
"""

import asyncio
import random
import ssl
import threading
import time
import zlib
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from drysweep_pipeline import addresses
from drysweep_pipeline.children.underway import Children
from drysweep_pipeline.declaration.model import Endpoint
from drysweep_pipeline.errors import FinderError
from drysweep_pipeline.redaction import hidden
from drysweep_pipeline.retrying import retry_context

if TYPE_CHECKING:
    import httpx2

JSON = "application/json"
MAX_REDIRECTS = 5
_SAME_AGAIN = (307, 308)
_ELSEWHERE = (301, 302, 303)
# What says that another moment may be a better one.
_LATER = (429, 502, 503, 504)
_BROKEN = 500
# Of an answer that is none. Much more is looked at than shown: a secret is known when all of it is there.
_SHOWN, _LOOKED_AT = 200, 1 << 17
_SHOWN_SECONDS = 2.0
_JITTER_SECONDS = 0.25
# Bytes that are no UTF-8 are for who reads the answer to refuse.
_KEPT = "surrogateescape"

More: TypeAlias = Callable[[], None]
"""Sets one further call aside. Raises ``FinderError`` where a ceiling forbids it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a service answered: its media type, the body as it was before it was packed, and after how many tries."""

    media: str
    body: bytes
    tries: int = 1


class Postbox:
    """Where questions to one service are posted; threads may share it.

    ``seconds`` is how long one call may take, with all its retries; ``media`` the types of answer that are understood,
    ``max_bytes`` how large one may be, unpacked. Where ``media`` is empty, all that counts is that what was posted is
    taken: any status of success will do, what is said with it is not read, and what may have been taken already is
    posted again. ``secrets``: what is never shown of what comes back, beside what the headers hold.

    Raises ``FinderError`` where it cannot be set up.
    """

    def __init__(
        self,
        service: Endpoint,
        base: Path,
        seconds: float,
        max_bytes: int,
        media: tuple[str, ...] = (JSON,),
        secrets: tuple[str, ...] = (),
    ) -> None:
        self.service = service
        self.seconds = seconds
        self.media = media
        self.max_bytes = max_bytes
        self.headers = addresses.filled(service.headers)
        self.secrets = (*secrets, *addresses.secrets(service.headers))
        self.trust = _trust(service, base)

    @property
    def may_repeat(self) -> bool:
        """Tell whether it does no harm that something is taken twice: nothing is answered, and nothing is paid for."""
        return not self.media

    def post(self, body: bytes, more: More, underway: Children) -> Answer:
        """Post a question and return the answer; ``more`` is asked before each retry, ``underway`` can end the call.

        Raises ``FinderError`` where no whole answer came, saying what came instead.
        """
        call = _Call(self, body, more)
        with underway.holding(call):
            return call.made()

    def safe(self, text: str) -> str:
        """Return a text of others as it may be shown: nothing secret, nothing that a terminal would obey."""
        plain = hidden(addresses.hidden(text, self.secrets))
        return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in plain)


class _Again(FinderError):
    """There was no answer, and there may be one later; ``after`` is when, in seconds, where the service said so."""

    def __init__(self, what: str, after: float | None = None) -> None:
        self.after = after
        super().__init__(what)


class Unwaited(ThreadPoolExecutor):
    """Threads that nobody waits for once a call is over."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let the threads end by themselves."""
        super().shutdown(wait=False, cancel_futures=True)


class _Call:
    """One call, from its first try to its answer."""

    def __init__(self, box: Postbox, body: bytes, more: More) -> None:
        self._box = box
        self._body = body
        self._more = more
        self._until = 0.0
        self._failed: FinderError | None = None
        self._lock = threading.Lock()
        self._killed = False
        self._cancel: Callable[[], object] | None = None

    def made(self) -> Answer:
        """Make the call and return the answer. Raises ``FinderError``."""
        try:
            with asyncio.Runner() as runner:
                return runner.run(self._in_time())
        except asyncio.CancelledError:
            raise FinderError(f"interrupted{self._before()}") from None

    def kill(self) -> None:
        """Give the call up at once; safe from any thread."""
        with self._lock:
            self._killed = True
            if self._cancel is not None:
                self._cancel()

    async def _in_time(self) -> Answer:
        # Where names are looked up; the system cannot be told to stop doing so.
        asyncio.get_running_loop().set_default_executor(Unwaited(max_workers=1))
        self._until = time.monotonic() + self._box.seconds
        async with self._interruptible():
            try:
                async with asyncio.timeout(self._box.seconds):
                    return await self._tried()
            except TimeoutError:
                what = f"timeout: no whole answer after {self._box.seconds:g} s{self._before()}"
                raise FinderError(what, status="timeout") from None

    @asynccontextmanager
    async def _interruptible(self) -> AsyncIterator[None]:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        with self._lock:
            if self._killed:
                raise FinderError("interrupted before it was started")
            self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)
        try:
            yield
        finally:
            with self._lock:
                self._cancel = None

    async def _tried(self) -> Answer:
        """Try until there is an answer, or until trying again would not help or is not allowed."""
        tries = 1 + self._box.service.retries
        # The deadline is kept by who called this.
        retrying = retry_context(
            on=self._again, attempts=tries, timeout=None, wait_initial=0.2, wait_max=20.0, wait_jitter=_JITTER_SECONDS
        )
        number = 0
        try:
            async for attempt in retrying:
                with attempt:
                    if number:
                        self._allowed()
                    number += 1
                    return replace(await self._once(), tries=number)
        except _Again as error:
            raise self._given_up(error, number, tries) from None
        raise AssertionError("unreachable: the retry returns or raises")

    def _again(self, error: Exception) -> bool | float:
        """Tell whether to try again, and after how many seconds where the service said so."""
        if not isinstance(error, _Again):
            return False
        self._failed = error
        if error.after is None:
            return True
        if error.after > self._left():
            return False
        return error.after + random.uniform(0, _JITTER_SECONDS)  # noqa: S311 - to spread load, not to keep a secret

    def _given_up(self, error: _Again, number: int, tries: int) -> FinderError:
        """Return what a call comes to that is not tried again."""
        what = error.what if number == 1 else f"{error.what}, {number} times"
        if error.after is None or number == tries:
            return FinderError(what)
        what = f"{what}; it asks to wait {error.after:.0f} s, and {self._left():.0f} s are left"
        return FinderError(what, help="raise timeout_s, or ask less often")

    def _left(self) -> float:
        return max(0.0, self._until - time.monotonic())

    def _allowed(self) -> None:
        try:
            self._more()
        except FinderError as error:
            raise FinderError(f"{error.what}{self._before()}", status=error.status, help=error.help) from None

    def _before(self) -> str:
        return f", after {self._failed.what}" if self._failed is not None else ""

    async def _once(self) -> Answer:
        import httpx2

        box = self._box
        url = httpx2.URL(box.service.url)
        # A client of its own, so that no cookie and no connection outlives the try; nothing of the environment's.
        async with httpx2.AsyncClient(verify=box.trust, trust_env=False, timeout=None) as client:
            try:
                for _ in range(1 + MAX_REDIRECTS):
                    request = httpx2.Request("POST", url, headers=self._headers(), content=self._body)
                    response = await client.send(request, stream=True)
                    try:
                        if response.status_code not in _SAME_AGAIN:
                            return await self._read(response)
                        url = self._led_to(url, response)
                    finally:
                        await response.aclose()
            except httpx2.HTTPError as error:
                raise self._broken(error) from None
        raise FinderError(f"redirected more than {MAX_REDIRECTS} times")

    def _headers(self) -> dict[str, str]:
        named = any(name.lower() == "user-agent" for name in self._box.headers)
        return {
            **({} if named else {"User-Agent": "drysweep"}),
            **self._box.headers,
            "Accept": ", ".join(self._box.media) or "*/*",
            # One packing only, that can be unpacked piece by piece.
            "Accept-Encoding": "gzip",
            "Content-Type": JSON,
            "Connection": "close",
        }

    def _broken(self, error: "httpx2.HTTPError") -> FinderError:
        """Return what became of a call that the network or the protocol broke."""
        import httpx2

        why = self._box.safe(_reason(error))[:_SHOWN]
        if isinstance(error, httpx2.ConnectError):
            if _is_about_tls(error):
                return FinderError(
                    f"no trusted connection: {why}", help="a certificate of your own is named by ca_file"
                )
            return _Again(f"cannot be connected to: {why}")
        broken = f"the answer broke off: {why}"
        return _Again(broken) if self._box.may_repeat else FinderError(broken)

    async def _read(self, response: "httpx2.Response") -> Answer:
        """Return an answer. Raises ``FinderError`` where it is none, or not of a kind that is understood."""
        if not self._box.media and response.is_success:
            return Answer("", b"")
        packed = response.headers.get("content-encoding", "identity").strip().lower()
        if packed not in ("identity", "gzip", ""):
            what = f"answered {response.status_code}, packed as {self._box.safe(packed)!r}, which was not asked for"
            raise FinderError(what, help="gzip, or nothing, is")
        if response.status_code != 200:
            raise await self._refused(response)
        media = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        charset = response.charset_encoding or "utf-8"
        if media not in self._box.media:
            help = f"understood is {' and '.join(self._box.media)}"
            raise FinderError(await self._told(response), help=help)
        if charset.lower() not in ("utf-8", "utf8"):
            raise FinderError(f"answered in the charset {self._box.safe(charset)!r}", help="JSON is UTF-8")
        return Answer(media, await self._body_of(response, _Unpacker() if packed == "gzip" else None))

    async def _body_of(self, response: "httpx2.Response", unpacker: "_Unpacker | None") -> bytes:
        """Return a body, unpacked, and without the secrets that it was asked with. Raises ``FinderError``."""
        body, most = bytearray(), self._box.max_bytes
        async with aclosing(response.aiter_raw()) as pieces:
            async for piece in pieces:
                body += piece if unpacker is None else unpacker.unpacked(piece, most + 1 - len(body))
                if len(body) > most:
                    raise FinderError(f"truncated: the answer has more than {most} bytes", status="truncated")
        if unpacker is not None:
            unpacker.check_end()
        if not self._box.secrets:
            return bytes(body)
        return addresses.hidden(body.decode("utf-8", _KEPT), self._box.secrets).encode("utf-8", _KEPT)

    async def _refused(self, response: "httpx2.Response") -> FinderError:
        """Return what an answer of another status comes to."""
        status = response.status_code
        told = await self._told(response)
        if status in _ELSEWHERE:
            help = "a POST is repeated after 307 and 308 only: declare the address where it is answered"
            return FinderError(told, help=help)
        if status not in _LATER and not (self._box.may_repeat and status >= _BROKEN):
            return FinderError(told)
        return _Again(told, _retry_after(response.headers.get("retry-after")))

    async def _told(self, response: "httpx2.Response") -> str:
        """Return status, content type and beginning of an answer that is none."""
        import httpx2

        media = self._box.safe(response.headers.get("content-type", "no content type"))[:_SHOWN]
        start = b""
        with suppress(TimeoutError, httpx2.HTTPError):
            async with asyncio.timeout(_SHOWN_SECONDS), aclosing(response.aiter_bytes()) as pieces:
                async for piece in pieces:
                    start += piece[:_LOOKED_AT]
                    if len(start) >= _LOOKED_AT:
                        break
        begins = self._box.safe(start.decode("utf-8", "replace"))[:_SHOWN]
        return f"answered {response.status_code} with {media}" + (f": {begins}" if begins else "")

    def _led_to(self, url: "httpx2.URL", response: "httpx2.Response") -> "httpx2.URL":
        """Return where a redirect leads. Raises ``FinderError`` where that is not the same service."""
        import httpx2

        location = response.headers.get("location")
        try:
            target = url.join(location) if location else None
        except httpx2.InvalidURL:
            target = None
        if target is None:
            raise FinderError(f"answered {response.status_code} without an address to go on to")
        if _origin(target) != _origin(url) or target.userinfo:
            where = self._box.safe("{}://{}:{}".format(*_origin(target)))
            what = f"redirected to {where}, which is not the service that is declared: nothing was sent there"
            raise FinderError(what, help="declare that address if it is the one that is meant")
        return target.copy_with(fragment=None)


class _Unpacker:
    """Unpacks gzip piece by piece, never into more than is wanted, and knows whether what came is all of one packing.

    Raises ``FinderError`` where it is not. The library's own leaves out what follows, and does not miss an end.
    """

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)

    def unpacked(self, piece: bytes, most: int) -> bytes:
        """Return what a piece holds, as far as ``most`` bytes of it."""
        try:
            return self._inner.decompress(piece, most)
        except zlib.error as error:
            raise FinderError(f"the answer cannot be unpacked: {error}") from None

    def check_end(self) -> None:
        """Refuse what ends before its packing does, or goes on after it."""
        if not self._inner.eof:
            raise FinderError("the answer cannot be unpacked: its packing has no end")
        if self._inner.unused_data:
            raise FinderError("the answer cannot be unpacked: something follows the end of its packing")


def _trust(service: Endpoint, base: Path) -> ssl.SSLContext:
    """Return whom a service's certificate has to be from: the system's authorities, or those in ``ca_file``."""
    if not service.url.lower().startswith("https:"):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if service.ca_file is None:
        import httpx2

        return httpx2.create_ssl_context(trust_env=False)
    try:
        return ssl.create_default_context(cafile=str(base / service.ca_file))
    except OSError as error:  # which that of TLS is, too
        raise FinderError(f"ca_file {service.ca_file} cannot be read: {error.strerror or error}") from None


def _origin(url: "httpx2.URL") -> tuple[str, str, int]:
    return url.scheme, url.host, url.port or (443 if url.scheme == "https" else 80)


def _is_about_tls(error: BaseException) -> bool:
    return any(isinstance(each, ssl.SSLError) for each in _chain(error))


def _reason(error: BaseException) -> str:
    """Return what the system said under an error, else what the error itself says, else its name."""
    said = [each.strerror for each in _chain(error) if isinstance(each, OSError) and each.strerror]
    return said[-1] if said else str(error) or type(error).__name__


def _chain(error: BaseException | None) -> list[BaseException]:
    """Return an error and those that led to it; where several did side by side, the last of them."""
    found: list[BaseException] = []
    while error is not None and error not in found:
        found.append(error)
        error = error.exceptions[-1] if isinstance(error, BaseExceptionGroup) else error.__cause__ or error.__context__
    return found


def _retry_after(said: str | None) -> float | None:
    """Return how many seconds a service asks to wait, as a number or a date; None where it says neither."""
    if said is None:
        return None
    if said.strip().isascii() and said.strip().isdigit():
        return float(said.strip()[:9])
    try:
        at = parsedate_to_datetime(said)
    except ValueError:
        return None
    at = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
    return max(0.0, (at - datetime.now(UTC)).total_seconds())

"""The HTTP that models are asked by: nothing compressed, no answer larger than any model writes, no redirect."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import httpx2

from drysweep_pipeline.redaction import hidden

MOST_BYTES = 16 << 20


class TooLarge(httpx2.TransportError):
    """An answer is larger than any model writes, or packed so that nobody knows how large it is."""


@dataclass(slots=True)
class Heard:
    """The last answer as it came, before a library made something of it; status 0 where none came this way."""

    status: int = 0
    body: bytearray = field(default_factory=bytearray)


def limited(heard: Heard) -> httpx2.AsyncClient:
    """Return a client that reads at most ``MOST_BYTES`` of an answer into ``heard``; whoever enters it closes it."""

    async def limit(response: httpx2.Response) -> None:
        packed = response.headers.get("Content-Encoding", "identity")
        if packed.lower() not in ("", "identity"):
            raise TooLarge(f"the answer is packed as {hidden(repr(packed), 30)}, which was not asked for")
        stream = response.stream
        assert isinstance(stream, httpx2.AsyncByteStream)
        heard.status, heard.body = response.status_code, bytearray()
        response.stream = _Limited(stream, heard.body)

    # A whole conversation has one deadline, which is kept elsewhere.
    return httpx2.AsyncClient(
        timeout=None,
        follow_redirects=False,
        headers={"Accept-Encoding": "identity"},
        event_hooks={"response": [limit]},
    )


class _Limited(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, body: bytearray) -> None:
        self._stream, self._body = stream, body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._stream:
            self._body += part
            if len(self._body) > MOST_BYTES:
                raise TooLarge(f"more than {MOST_BYTES} bytes")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()

"""The HTTP that models are asked by: nothing compressed, no answer larger than any model writes, no redirect."""

from collections.abc import AsyncIterator

import httpx2

MOST_BYTES = 16 << 20


class TooLarge(httpx2.TransportError):
    """An answer is larger than any model writes, or packed so that nobody knows how large it is."""


def limited() -> httpx2.AsyncClient:
    """Return a client that reads at most ``MOST_BYTES`` of an answer; whoever enters it closes it."""
    # A whole conversation has one deadline, which is kept elsewhere.
    return httpx2.AsyncClient(
        timeout=None,
        follow_redirects=False,
        headers={"Accept-Encoding": "identity"},
        event_hooks={"response": [_limit]},
    )


async def _limit(response: httpx2.Response) -> None:
    packed = response.headers.get("Content-Encoding", "identity")
    if packed.lower() not in ("", "identity"):
        raise TooLarge(f"the answer is packed as {packed!r:.30}, which was not asked for")
    stream = response.stream
    assert isinstance(stream, httpx2.AsyncByteStream)
    response.stream = _Limited(stream)


class _Limited(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = 0
        async for part in self._stream:
            read += len(part)
            if read > MOST_BYTES:
                raise TooLarge(f"more than {MOST_BYTES} bytes")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()

"""How much of a server's answer is read: a body that is not the stream of an answer ends at a limit."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator

import httpx2

MAX_BODY_BYTES = 4 << 20
MAX_ERROR_BYTES = 64 << 10
PLAIN_BODIES = {"accept-encoding": "identity"}
"""The request header that goes with `limit_body`."""


async def limit_body(response: httpx2.Response) -> None:
    """A response hook of the HTTP client: cuts a body, an error's or a redirect's sooner than that of a success.

    Nothing in it is unpacked: a few packed bytes may stand for gigabytes. A stream of events that was asked for is
    read piece by piece, with limits of its own.
    """
    streams = "event-stream" in response.headers.get("content-type", "")
    if streams and response.is_success and response.request.method == "POST":
        return
    response.headers.pop("content-encoding", None)
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    response.stream = _Beginning(response.stream, MAX_BODY_BYTES if response.is_success else MAX_ERROR_BYTES)


class _Beginning(httpx2.AsyncByteStream):
    """The first `most` bytes of a stream."""

    def __init__(self, stream: httpx2.AsyncByteStream, most: int) -> None:
        self._stream = stream
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = self._most
        chunks = aiter(self._stream)
        try:
            async for chunk in chunks:
                yield chunk[:left]
                left -= len(chunk)
                if left <= 0:
                    return
        finally:
            if isinstance(chunks, AsyncGenerator):
                await chunks.aclose()

    async def aclose(self) -> None:
        await self._stream.aclose()

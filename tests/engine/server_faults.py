"""What a server may do wrong with one request: each is an act of the fake server."""

from __future__ import annotations

import asyncio

from .fake_server import Act, Stream, status


async def cut_politely(stream: Stream) -> None:
    await stream.open()
    await stream.text("<p>half")
    await stream.done()


async def cut_off(stream: Stream) -> None:
    await stream.open()
    await stream.text("<p>half")  # and the connection closes in the middle of the body


async def garbage_json(stream: Stream) -> None:
    await stream.open()
    await stream.text("<p>half")
    await stream.event("{not json")


async def other_json(stream: Stream) -> None:
    await stream.open()
    await stream.event({"choices": [{"delta": {"content": ["no", "text"]}}]})


async def garbage_events(stream: Stream) -> None:
    await stream.open()
    await stream.data(b"\x00\xff\xfe garbage\n: ping\nid: 1\n\ndata: \xff\xff\n\n")


async def huge_line(stream: Stream) -> None:
    await stream.open()
    for _ in range(40):
        await stream.data(b"data: " + b"x" * 100_000)


async def no_stream(stream: Stream) -> None:
    await stream.status(200, "<html>a proxy says hello</html>")


async def error_event(stream: Stream) -> None:
    await stream.open()
    await stream.text("<p>half")
    await stream.event({"error": {"message": "the engine died", "code": 500}})
    await stream.done()


async def aborted(stream: Stream) -> None:
    await stream.open()
    await stream.text("<p>half")
    await stream.finish("abort")


async def dropped(stream: Stream) -> None:
    raise ConnectionResetError


async def pings_only(stream: Stream) -> None:
    await stream.open()
    for _ in range(1000):
        await stream.data(b": ping\n\n")
        await asyncio.sleep(0.02)


async def hangs(stream: Stream) -> None:
    await asyncio.sleep(60)


async def drips(stream: Stream) -> None:
    """A line that never ends, byte by byte."""
    await stream.open()
    for _ in range(1000):
        await stream.data(b"x")
        await asyncio.sleep(0.02)


async def drips_headers(stream: Stream) -> None:
    await stream.raw(b"HTTP/1.1 200 OK\r\nX-Long: ")
    for _ in range(1000):
        await stream.raw(b"x")
        await asyncio.sleep(0.02)


async def deep_json(stream: Stream) -> None:
    await stream.open()
    await stream.event("[" * 200_000)


async def falls_silent(stream: Stream) -> None:
    await stream.open()
    await stream.text("<p>half")
    await asyncio.sleep(60)


PASSING: dict[str, Act] = {
    "429": status(429, {"error": {"message": "slow down"}}, "Retry-After: 0\r\n"),
    "429 until a date": status(429, "later", "Retry-After: Sun, 29 Nov 2020 12:00:00 GMT\r\n"),
    "503": status(503, "starting"),
    "500": status(500, {"error": {"message": "oops"}}),
    "502": status(502, "<html>bad gateway</html>"),
    "cut politely": cut_politely,
    "cut off": cut_off,
    "garbage JSON": garbage_json,
    "other JSON": other_json,
    "garbage events": garbage_events,
    "huge line": huge_line,
    "no stream": no_stream,
    "error event": error_event,
    "aborted": aborted,
    "dropped": dropped,
    "deep JSON": deep_json,
    "hangs": hangs,
    "drips": drips,
    "drips headers": drips_headers,
    "pings only": pings_only,
    "falls silent": falls_silent,
}
SILENT = {"hangs", "drips", "drips headers", "pings only", "falls silent"}
"""Those that end only when the client loses patience."""

"""A server of the OpenAI protocol on loopback that does what a test tells it, faults above all."""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
import weakref
from collections import deque
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

PATIENCE = 60.0
"""Seconds after which something that a test waits for will not come any more."""

PIECE = 12
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"


class Stream:
    """One request and the stream that answers it."""

    def __init__(self, server: FakeServer, writer: asyncio.StreamWriter, body: dict[str, Any]) -> None:
        self.server = server
        self.body = body
        self.headers: dict[str, str] = {}
        self.interrupted = False
        self._writer = writer

    @property
    def asked(self) -> str:
        return self.body["messages"][-1]["content"]

    async def raw(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def open(self) -> None:
        await self.raw(HEAD)

    async def data(self, data: bytes) -> None:
        await self.raw(b"%x\r\n%s\r\n" % (len(data), data))

    async def event(self, value: Any) -> None:
        text = value if isinstance(value, str) else json.dumps(value)
        await self.data(f"data: {text}\n\n".encode())

    async def text(self, text: str) -> None:
        await self.event({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]})

    async def finish(self, reason: str = "stop", **more: Any) -> None:
        await self.event({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}], **more})
        await self.done()

    async def done(self) -> None:
        await self.event("[DONE]")
        await self.raw(b"0\r\n\r\n")

    async def status(self, code: int, body: Any = "", headers: str = "") -> None:
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        kind = "text/plain" if isinstance(body, str) else "application/json"
        head = f"HTTP/1.1 {code} Said\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\nConnection: close\r\n"
        await self.raw(f"{head}{headers}\r\n".encode() + data)


Act = Callable[[Stream], Awaitable[None]]


def status(code: int, body: Any = "", headers: str = "") -> Act:
    return lambda stream: stream.status(code, body, headers)


async def answer(stream: Stream) -> None:
    """A whole answer, in pieces."""
    await stream.open()
    text = stream.server.answer(stream)
    for start in range(0, len(text), PIECE):
        await stream.text(text[start : start + PIECE])
        if stream.interrupted:
            await stream.done()
            return
        await asyncio.sleep(0.001)
    await stream.finish()


class FakeServer:
    """`faults` are used up by the first requests, then `act` answers; `requests` are the bodies that came in."""

    def __init__(
        self,
        say: Callable[[str], str] = lambda asked: f"<p>{asked}</p>",
        *,
        model: str | None = "fake",
        faults: tuple[Act, ...] = (),
        act: Act = answer,
        interrupts: bool = False,
        places: int = 1000,
        certificate: Path | None = None,
    ) -> None:
        self.model = model
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.most_running = 0
        self.disconnects = 0
        self.models_body: str | None = None
        self.models_status = 200
        self.metrics = ""
        self.faults = deque(faults)
        self.act = act
        self._say = say
        self._interrupts = interrupts
        self._places = places
        self._running: list[Stream] = []
        self._tasks: set[asyncio.Task[None]] = set()  # or they may vanish
        self._transports: weakref.WeakSet[asyncio.WriteTransport] = weakref.WeakSet()
        self._tls = None
        if certificate is not None:
            self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._tls.load_cert_chain(certificate)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def answer(self, stream: Stream) -> str:
        return self._say(stream.asked)

    def __enter__(self) -> FakeServer:
        self._thread.start()
        self._call(self._listen())
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def stop(self) -> None:
        """Listen no more and drop all connections."""
        self._call(self._close())

    def again(self) -> None:
        """Listen on the same port again."""
        self._call(self._listen(self.port))

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}/v1"

    def _call(self, work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE)

    async def _listen(self, port: int = 0) -> None:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", port, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        # asyncio never closes the socket of a connection whose server is closed while it is being accepted.
        while accepting := asyncio.all_tasks() - self._tasks - {asyncio.current_task()}:
            await asyncio.gather(*accepting, return_exceptions=True)
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for transport in self._transports:
            transport.abort()
        await asyncio.sleep(0)  # then their sockets are closed
        await asyncio.sleep(0)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._transports.add(writer.transport)
        self._tasks.add(task := self._loop.create_task(self._serve(reader, writer)))
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            first = await reader.readexactly(1)
            if not first.isalpha():  # the beginning of a TLS connection
                await Stream(self, writer, {}).status(400, "no HTTP")
                return
            head = (first + await reader.readuntil(b"\r\n\r\n")).decode()
            headers = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            stream = Stream(self, writer, json.loads(body) if body else {})
            self.keys.append(headers.get("authorization", ""))
            if head.startswith("GET /v1/models "):
                await self._models(stream)
            elif head.startswith("GET /metrics ") and self.metrics:
                await stream.status(200, self.metrics)
            elif head.startswith("POST /v1/chat/completions "):
                await self._chat(stream)
            else:
                await stream.status(404, "no such path")
        except (ConnectionError, asyncio.IncompleteReadError):
            self.disconnects += 1
        except asyncio.CancelledError:
            writer.transport.abort()  # what is still to be written may wait for a client for ever
            raise
        finally:
            writer.transport.abort() if writer.transport.is_closing() else writer.close()

    async def _models(self, stream: Stream) -> None:
        listed = {"object": "list", "data": [{"id": self.model, "object": "model"}] if self.model else []}
        await stream.status(self.models_status, listed if self.models_body is None else self.models_body)

    async def _chat(self, stream: Stream) -> None:
        self.requests.append(stream.body)
        if len(self._running) >= self._places:
            await stream.status(429, {"error": {"message": "too many"}})
            return
        if self._interrupts:
            for other in self._running:
                other.interrupted = True
        self._running.append(stream)
        self.most_running = max(self.most_running, len(self._running))
        try:
            await (self.faults.popleft() if self.faults else self.act)(stream)
        finally:
            self._running.remove(stream)

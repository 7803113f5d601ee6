"""The remote engine: requests go to OpenAI-compatible servers, answers come back as the same events.

An asyncio loop in a thread of its own serves all requests. A request is sent again only when what came cannot be
used; nothing of a half-streamed answer ever is. Each request ends in exactly one finished event.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from time import perf_counter
from typing import Literal

from pagecompiler.engine.base import EngineError
from pagecompiler.engine.openai.answer import OPTIONAL_FIELDS, Answer, request_fields
from pagecompiler.engine.openai.client import Client
from pagecompiler.engine.openai.endpoints import Endpoint, Policy, Pool
from pagecompiler.engine.openai.faults import FaultKind, SendError, error_of, tidy
from pagecompiler.engine.openai.places import Places
from pagecompiler.engine.openai.stream import Piece
from pagecompiler.engine.types import Completion, EngineStats, FinishReason, GenerationEvent, Request

_CLOSE_SECONDS = 5.0


class _Job:
    """A request on its way: how often it was tried, how far the last try came, and which fields that left out."""

    def __init__(self, number: int, request: Request) -> None:
        self.number = number
        self.request = request
        self.sends = 0
        self.waits = 0
        self.sent = False
        self.left_out: frozenset[str] = frozenset()
        self.answer = Answer(replace(request, monitor=None))  # stands for none yet
        self.task: asyncio.Task[None] | None = None


class OpenAIEngine:
    """Sends requests to the servers at `urls`, all of which have `model`.

    How many run at once is found out for each server. Events are those of any engine; a second `admitted` of a
    request means that it was sent again and its text begins anew. `endpoints` are the servers and what was learnt
    about them, `notes` the same in lines for the user, told to `say` at once, in the engine's thread. Tokens have no
    ids here. Raises EngineError without the `openai` package.

    >>> engine = OpenAIEngine(["http://localhost:8000/v1"], "Qwen/Qwen3.5-9B", key=None)  # doctest: +SKIP
    """

    def __init__(
        self,
        urls: Sequence[str],
        model: str,
        *,
        key: str | None,
        policy: Policy | None = None,
        say: Callable[[str], None] = lambda note: None,
    ) -> None:
        self.model = model
        self._say = say
        self.notes: list[str] = []
        self._policy = policy or Policy()
        self._clients = {url: Client(url, key, connect_seconds=self._policy.connect) for url in urls}
        self._verifying = {url: asyncio.Lock() for url in urls}
        self.endpoints = tuple(Endpoint(url, self._policy) for url in urls)
        self._places = Places(Pool(self.endpoints))
        self._numbers = itertools.count(1)
        self._jobs: dict[int, _Job] = {}
        self._events: deque[GenerationEvent] = deque()
        self._changed = threading.Condition(threading.RLock())
        self._stats = EngineStats()
        self._closed = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="pagec-openai", daemon=True)
        self._thread.start()

    def submit(self, request: Request) -> int:
        """Queue a request and return its number."""
        if request.max_tokens < 1 or not request.messages:
            raise ValueError("a request needs messages and a budget of at least one token")
        with self._changed:
            if self._closed:
                raise EngineError("the engine is closed")
            job = _Job(next(self._numbers), request)
            self._jobs[job.number] = job
            self._loop.call_soon_threadsafe(self._start, job)
        return job.number

    def events(self) -> Iterator[GenerationEvent]:
        """Wait for what happens until every submitted request has finished; ends at once when closed."""
        while True:
            with self._changed:
                while not self._events and self._jobs and not self._closed:
                    self._changed.wait()
                if not self._events:
                    return
                event = self._events.popleft()
            yield event

    def cancel(self, number: int) -> None:
        """End a request; its connection is closed, so the server stops too. Unknown numbers are ignored."""
        with self._changed:
            if not self._closed:
                self._loop.call_soon_threadsafe(self._cancel, number)

    def stats(self) -> EngineStats:
        """Totals since the engine was made; passes and rows are the servers' own business."""
        return self._stats

    def close(self) -> None:
        """End all requests and the thread; unfinished requests end without an event. May be called twice."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
            self._events.clear()
            self._changed.notify_all()
        asyncio.run_coroutine_threadsafe(self._shut_down(), self._loop)
        self._thread.join(2 * _CLOSE_SECONDS)

    # What follows runs in the loop's thread.

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.close()

    def _start(self, job: _Job) -> None:
        if self._closed:
            return
        job.task = self._loop.create_task(self._serve(job))
        # A task that is cancelled before its first step runs nothing of its own.
        job.task.add_done_callback(lambda task: self._finish(job, job.answer.abandoned(FinishReason.CANCELLED)))

    def _cancel(self, number: int) -> None:
        job = self._jobs.get(number)
        if job is not None and job.task is not None:
            job.task.cancel()

    async def _shut_down(self) -> None:
        tasks = [job.task for job in self._jobs.values() if job.task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_CLOSE_SECONDS)
        for client in self._clients.values():
            await client.close()
        await self._loop.shutdown_asyncgens()
        self._loop.stop()

    async def _serve(self, job: _Job) -> None:
        """Send until there is an answer, or no hope for one."""
        try:
            completion = await self._answer(job)
        except asyncio.CancelledError:
            completion = job.answer.abandoned(FinishReason.CANCELLED)
        except Exception as error:  # the monitor is the caller's code
            completion = job.answer.abandoned(FinishReason.FAILED, error)
        self._finish(job, completion)

    async def _answer(self, job: _Job) -> Completion:
        while True:
            endpoint = await self._places.take(job.request.page)
            epoch = endpoint.epoch
            try:
                completion = await self._send(job, endpoint)
                endpoint.answered(epoch, job.answer.first_text)
                return completion
            except SendError as fault:
                if self._left_out(job, endpoint, fault):
                    continue
                if endpoint.failed(fault, epoch, self._loop.time()):
                    self._note(endpoint, fault)
                self._judge(job, endpoint, fault)
            finally:
                self._places.give_back(endpoint)
            await asyncio.sleep(random.uniform(0, self._policy.pause))

    def _judge(self, job: _Job, endpoint: Endpoint, fault: SendError) -> None:
        """Count a fault for the request; raises what ends it.

        Cuts that others caused are not its fault, nor is a server that it never reached: hope for that one ends
        by itself.
        """
        if fault.kind is FaultKind.BUSY:
            job.waits += 1
        elif job.sent and not endpoint.cut_by_others(fault):
            job.sends += 1
        given_up = job.sends >= self._policy.sends or job.waits >= self._policy.waits
        if fault.kind is FaultKind.REFUSED or given_up:
            raise error_of(fault, endpoint.url, job.request.label)

    async def _send(self, job: _Job, endpoint: Endpoint) -> Completion:
        """One try at one server. Raises SendError."""
        client = self._clients[endpoint.url]
        job.sent = False
        await self._verify(client, endpoint)
        job.sent = True
        job.answer = answer = Answer(job.request)
        self._tell(job, "admitted")
        job.left_out = frozenset(endpoint.left_out)
        fields = request_fields(job.request, job.left_out)
        async with aclosing(client.stream(self.model, job.request.messages, fields)) as pieces:
            while (piece := await self._next(pieces, answer)) is not None:
                ended = answer.ended is not None
                complete = answer.take(piece)
                if piece.text and not ended:
                    self._tell(job, "text", text=piece.text)
                if complete:
                    break
        if answer.thought and not endpoint.thinks:
            endpoint.thinks = True
            self._learn(f"{endpoint.url}: the model thinks before it writes, switch that off there")
        return answer.completion()

    async def _next(self, pieces: AsyncGenerator[Piece, None], answer: Answer) -> Piece | None:
        """The next piece; None at the end. Behind the end of an answer nothing that goes wrong matters."""
        patience = self._policy.next_text if answer.begun else self._policy.first_text
        try:
            async with asyncio.timeout(self._policy.end if answer.ended else patience):
                return await anext(pieces, None)
        except SendError:
            if answer.ended:
                return None
            raise
        except TimeoutError:
            if answer.ended:
                return None
            kind = FaultKind.BROKEN if answer.begun else FaultKind.DOWN
            raise SendError(kind, "the server sends nothing any more") from None

    async def _verify(self, client: Client, endpoint: Endpoint) -> None:
        """Ask a server for its models before its first request and after a failure, once for all who wait."""
        async with self._verifying[endpoint.url]:
            if endpoint.verified:
                return
            try:
                async with asyncio.timeout(self._policy.first_text):
                    names = await client.models()
            except TimeoutError:
                raise SendError(FaultKind.DOWN, "the server does not answer") from None
            if self.model not in names:
                raise SendError(FaultKind.UNUSABLE, f"serves {tidy(', '.join(names)) or 'no model'}, not {self.model}")
            endpoint.verified = True

    def _left_out(self, job: _Job, endpoint: Endpoint, fault: SendError) -> bool:
        """Whether the server refused a field that can be left out; then it is, from now on."""
        if fault.kind is not FaultKind.REFUSED:
            return False
        name = next((name for name in OPTIONAL_FIELDS if name in fault.message and name not in job.left_out), None)
        if name is None:
            return False
        if name not in endpoint.left_out:
            endpoint.left_out.add(name)
            self._learn(f"{endpoint.url}: does not know {name}, it is left out")
        return True

    def _note(self, endpoint: Endpoint, fault: SendError) -> None:
        if fault.kind is FaultKind.CUT:
            self._learn(f"{endpoint.url}: cuts answers when asked for several, one request at a time from now on")
        elif endpoint.unusable:
            self._learn(f"{endpoint.url}: not used: {fault.message}")
        else:
            self._learn(f"{endpoint.url}: {fault.message}; tried again later")

    def _learn(self, line: str) -> None:
        self.notes.append(line)
        self._say(line)

    def _count(self, completion: Completion) -> None:
        self._stats.tokens += len(completion.tokens)
        self._stats.prompt_tokens += completion.prompt_tokens
        self._stats.prompt_reused += completion.prompt_reused
        self._stats.drafted += completion.drafted
        self._stats.accepted += completion.accepted

    def _tell(self, job: _Job, kind: Literal["admitted", "text"], *, text: str = "") -> None:
        self._emit(job, kind, text, None)

    def _finish(self, job: _Job, completion: Completion) -> None:
        with self._changed:
            if self._jobs.pop(job.number, None) is None:
                return
            self._count(completion)
            self._emit(job, "finished", "", completion)

    def _emit(
        self, job: _Job, kind: Literal["admitted", "text", "finished"], text: str, completion: Completion | None
    ) -> None:
        answer = job.answer
        counts = (answer.tokens, answer.drafted, answer.accepted)
        event = GenerationEvent(job.number, kind, text, *counts, completion, at=perf_counter())
        with self._changed:
            if not self._closed:
                self._events.append(event)
            self._changed.notify_all()

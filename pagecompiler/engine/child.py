"""An engine in a process of its own, behind the same protocol: a native abort is an error here, not the end.

When the process dies, a new one is started and what was not finished is submitted again, once. A request that
is lost twice ends with an EngineDiedError; the engine itself can still be used.
"""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import signal
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pagecompiler.engine.base import Engine, EngineDiedError, EngineError
from pagecompiler.engine.child_server import CANCEL, CLOSE, EVENTS, RAISED, READY, STATS, SUBMIT, serve
from pagecompiler.engine.types import Completion, EngineStats, FinishReason, GenerationEvent, Request

CLOSE_SECONDS = 10.0
_NATIVE_LOG_CHARACTERS = 4000


class ChildEngine:
    """Runs the engine that `make` makes in a child process; `make` must be picklable.

    Returns when the engine is loaded and raises what `make` raises. `notes` are those of the engine.
    """

    def __init__(self, make: Callable[[], Engine]) -> None:
        self._make = make
        self._numbers = itertools.count(1)
        self._state = threading.Condition()
        self._starting = threading.Lock()
        self._requests: dict[int, Request] = {}  # not finished
        self._lost: set[int] = set()
        self._cancelled: set[int] = set()
        self._inbox: deque[GenerationEvent | EngineError] = deque()
        self._awaited: set[int] = set()
        self._replies: dict[int, Any] = {}
        self._stats = EngineStats()
        self._closed = False
        self.notes: tuple[str, ...] = ()
        self._child = self._start()

    @property
    def process_id(self) -> int:
        """The process that runs the model now."""
        return self._child.pid

    def submit(self, request: Request) -> int:
        """Queue a request and return its number. Raises PromptTooLongError when it cannot fit."""
        number = next(self._numbers)
        if self._child.dead:
            self._recover()
        with self._state:
            if self._closed:
                raise EngineError("the engine is closed")
            self._requests[number] = request
            self._awaited.add(number)
            child = self._child
        child.send((SUBMIT, number, request))
        reply = self._reply(number)
        if isinstance(reply, Exception):
            with self._state:
                self._requests.pop(number, None)
            raise reply
        return number

    def events(self) -> Iterator[GenerationEvent]:
        """What happens until every submitted request has finished. Raises EngineError as the engine does."""
        while True:
            with self._state:
                self._state.wait_for(lambda: self._inbox or not self._requests or self._child.dead or self._closed)
                if self._closed or not (self._inbox or self._requests):
                    return
                event = self._inbox.popleft() if self._inbox else None
                if isinstance(event, GenerationEvent) and event.completion is not None:
                    self._requests.pop(event.request, None)
                    self._lost.discard(event.request)
                    self._cancelled.discard(event.request)
            if event is None:
                self._recover()
            elif isinstance(event, EngineError):
                raise event
            else:
                yield event

    def cancel(self, number: int) -> None:
        """End a request at the next step; unknown numbers are ignored."""
        with self._state:
            if number in self._requests:
                self._cancelled.add(number)
            child = self._child
        child.send((CANCEL, number))

    def stats(self) -> EngineStats:
        """Totals since the process was started; those of the last look when it has died."""
        number = next(self._numbers)
        with self._state:
            self._awaited.add(number)
            child = self._child
        child.send((STATS, number))
        with self._state:
            self._state.wait_for(lambda: number in self._replies or child.dead)
            self._awaited.discard(number)
            self._stats = self._replies.pop(number, self._stats)
        return self._stats

    def close(self) -> None:
        """End the process, after the step that is running."""
        with self._state:
            if self._closed:
                return
            self._closed = True
            self._inbox.clear()
            self._state.notify_all()
        self._child.end()

    def _start(self) -> _Child:
        child = _Child(self._make)
        kind, content = child.hello()
        if kind != READY:
            child.end()
            raise content
        self.notes = content
        threading.Thread(target=self._receive, args=(child,), daemon=True).start()
        return child

    def _receive(self, child: _Child) -> None:
        """Sort what a child says, until it says nothing any more."""
        for kind, number, content in child.messages():
            with self._state:
                if kind == EVENTS:
                    self._inbox.extend(content)
                elif kind == RAISED:
                    self._inbox.append(content)
                elif number in self._awaited:
                    self._replies[number] = content
                elif isinstance(content, Exception):  # refused when it was submitted again
                    self._inbox.append(_ended(number, FinishReason.FAILED, content))
                self._state.notify_all()
        with self._state:
            child.dead = True
            self._state.notify_all()

    def _reply(self, number: int) -> Any:
        """The answer to a SUBMIT, from a new process if the first one dies on it."""
        while True:
            with self._state:
                # A request that killed two processes before they replied has ended: no reply will come.
                self._state.wait_for(
                    lambda: number in self._replies or number not in self._requests or self._child.dead
                )
                answered = number in self._replies or number not in self._requests
                if answered or self._closed:
                    self._awaited.discard(number)
                    return self._replies.pop(number, None if answered else EngineError("the engine is closed"))
            self._recover()

    def _recover(self) -> None:
        """Start the process again and give it what the old one has not finished."""
        with self._starting:
            old = self._child
            if not old.dead or self._closed:
                return
            death = old.death()
            old.end()
            with self._state:
                for number in list(self._requests):
                    if number in self._cancelled or number in self._lost:
                        reason = FinishReason.CANCELLED if number in self._cancelled else FinishReason.FAILED
                        self._inbox.append(_ended(number, reason, death))
                        del self._requests[number]
                self._lost = set(self._requests)
            child = self._start()
            with self._state:
                # A request that came meanwhile was sent to the old process. Who finds the new one sends to it.
                again = dict(self._requests)
                self._child = child
                closed = self._closed
                self._state.notify_all()
            if closed:
                child.end()
                return
            for number, request in again.items():
                child.send((SUBMIT, number, request))


def _ended(number: int, reason: FinishReason, error: Exception) -> GenerationEvent:
    completion = Completion("", (), reason, 0.0, error=error if reason is FinishReason.FAILED else None)
    return GenerationEvent(number, "finished", completion=completion)


class _Child:
    """One process and the pipe to it."""

    def __init__(self, make: Callable[[], Engine]) -> None:
        context = multiprocessing.get_context("spawn")
        self.dead = False
        self._death: EngineDiedError | None = None
        self._pipe, theirs = context.Pipe()
        self._sending = threading.Lock()
        # What llama.cpp prints before it aborts goes past its log: only the file descriptor catches it.
        self._log = tempfile.NamedTemporaryFile(prefix="pagec-", suffix=".log", delete=False)  # noqa: SIM115
        self._process = context.Process(target=serve, args=(theirs, make, self._log.name), daemon=True)
        self._process.start()
        theirs.close()

    @property
    def pid(self) -> int:
        return self._process.pid or 0

    def hello(self) -> tuple[str, Any]:
        """Wait for the engine: READY and its notes, or RAISED and the error."""
        try:
            kind, _, content = self._pipe.recv()
        except (EOFError, OSError):
            kind, content = RAISED, self.death()
        Path(self._log.name).unlink(missing_ok=True)  # both sides have it open
        return kind, content

    def messages(self) -> Iterator[tuple[str, int, Any]]:
        """What the process says until it ends."""
        with contextlib.suppress(EOFError, OSError):
            while True:
                yield self._pipe.recv()

    def send(self, message: tuple[Any, ...]) -> None:
        """Send what a living process should do; a dead one is found out by who reads."""
        with self._sending, contextlib.suppress(OSError, ValueError):
            self._pipe.send(message)

    def death(self) -> EngineDiedError:
        """How the process ended, with what it printed; read once, before `end`."""
        if self._death is not None:
            return self._death
        self._process.join(CLOSE_SECONDS)
        code = self._process.exitcode
        how = f"signal {signal.Signals(-code).name}" if code is not None and code < 0 else f"exit code {code}"
        self._log.seek(0)
        printed = self._log.read().decode("utf-8", "replace")[-_NATIVE_LOG_CHARACTERS:]
        self._death = EngineDiedError(
            f"the process of the engine died ({how})",
            hint="run again; if it happens again, try another model file or --method plain",
            native_log=printed,
        )
        return self._death

    def end(self) -> None:
        """Let the process finish its step and free the model; end it if it does not."""
        self.send((CLOSE,))
        self._process.join(CLOSE_SECONDS)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._pipe.close()
        self._log.close()

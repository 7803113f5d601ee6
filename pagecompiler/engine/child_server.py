"""The other side of `child.py`: what runs in the process of the engine.

Messages are tuples. In: (SUBMIT, number, request), (CANCEL, number), (STATS, number), (CLOSE,). Out, always of
three: (READY, 0, notes), (RAISED, 0, error), (EVENTS, 0, events), and (REPLY, number, content) to SUBMIT and STATS.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import Connection
from time import perf_counter
from typing import Any

from pagecompiler.engine.base import Engine, EngineError
from pagecompiler.engine.types import GenerationEvent, Request

SUBMIT, CANCEL, STATS, CLOSE = "submit", "cancel", "stats", "close"
READY, RAISED, EVENTS, REPLY = "ready", "raised", "events", "reply"

_GATHER_SECONDS = 0.01


def serve(pipe: Connection, make: Callable[[], Engine], log: str) -> None:
    """Run an engine until the other side closes it or is gone."""
    # Ctrl-C goes to the whole process group; what happens then is for the other side to say.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    handle = os.open(log, os.O_WRONLY | os.O_APPEND)
    os.dup2(handle, 2)
    os.close(handle)
    try:
        engine = make()
    except Exception as error:
        pipe.send((RAISED, 0, _sendable(error)))
        return
    pipe.send((READY, 0, tuple(getattr(engine, "notes", ()))))
    _Server(pipe, engine).run()


class _Server:
    def __init__(self, pipe: Connection, engine: Engine) -> None:
        self._pipe = pipe
        self._engine = engine
        self._sending = threading.Lock()
        self._naming = threading.Lock()
        self._outer: dict[int, int] = {}
        self._inner: dict[int, int] = {}
        self._work = threading.Event()
        self._closed = False
        self._gathered: list[GenerationEvent] = []
        self._sent = 0.0

    def run(self) -> None:
        threading.Thread(target=self._listen, daemon=True).start()
        while True:
            self._work.wait()
            self._work.clear()
            if self._closed:
                break
            try:
                for event in self._engine.events():
                    self._tell(event)
            except EngineError as error:
                self._send(RAISED, 0, _sendable(error))
        self._engine.close()

    def _listen(self) -> None:
        try:
            while not self._closed:
                self._obey(self._pipe.recv())
        except (EOFError, OSError):
            # Nobody is there to read a result: no reason to finish the step.
            os._exit(1)

    def _obey(self, message: tuple[Any, ...]) -> None:
        kind, *rest = message
        if kind == SUBMIT:
            self._submit(*rest)
        elif kind == CANCEL:
            with self._naming:
                number = self._inner.get(rest[0])
            if number is not None:
                self._engine.cancel(number)
        elif kind == STATS:
            self._send(REPLY, rest[0], self._engine.stats())
        elif kind == CLOSE:
            self._closed = True
            self._engine.close()
            self._work.set()

    def _submit(self, number: int, request: Request) -> None:
        try:
            with self._naming:
                inner = self._engine.submit(request)
                self._outer[inner], self._inner[number] = number, inner
        except Exception as error:
            self._send(REPLY, number, _sendable(error))
            return
        self._send(REPLY, number, None)
        self._work.set()

    def _tell(self, event: GenerationEvent) -> None:
        """Gather events for a moment: one message a token would cost more than the token of a small model."""
        with self._naming:
            number = self._outer.get(event.request, 0)
            if event.completion is not None:
                self._outer.pop(event.request, None)
                self._inner.pop(number, None)
        completion = event.completion
        if completion is not None and completion.error is not None:
            completion = replace(completion, error=_sendable(completion.error))
        self._gathered.append(replace(event, request=number, completion=completion))
        now = perf_counter()
        if completion is not None or event.kind == "admitted" or now - self._sent >= _GATHER_SECONDS:
            self._send(EVENTS, 0, self._gathered)
            self._gathered, self._sent = [], now

    def _send(self, kind: str, number: int, content: Any) -> None:
        try:
            with self._sending:
                self._pipe.send((kind, number, content))
        except OSError:
            os._exit(1)


def _sendable(error: Exception) -> Exception:
    """The error itself, or one that says the same where it cannot go through a pipe."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return EngineError(f"{type(error).__name__}: {error}")
    return error

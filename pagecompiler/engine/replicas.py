"""Several engines of one model behind the protocol of one, each of them at work at the same time.

A small model keeps one core busy and no more; its further engines keep the other cores busy.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

from pagecompiler.engine.base import Engine, EngineError
from pagecompiler.engine.types import EngineStats, GenerationEvent, Request


class ReplicatedEngine:
    """The engines that `makes` make, side by side. A request goes to the one with the fewest tokens still to write.

    The engines must run in processes or on servers of their own: here each is only waited for, in a thread. Raises
    what making one of them raises, after the others were closed. `notes` are theirs, equal ones once.
    """

    def __init__(self, makes: Sequence[Callable[[], Engine]]) -> None:
        self._state = threading.Condition()
        self._inbox: deque[GenerationEvent | Exception] = deque()
        self._numbers = itertools.count(1)
        self._owners: dict[int, tuple[_Replica, int]] = {}  # and budgets, of requests that have not finished
        self._closed = False
        self._replicas = [_Replica(engine, self._hear) for engine in _made(makes)]
        notes = (note for replica in self._replicas for note in getattr(replica.engine, "notes", ()))
        self.notes = tuple(dict.fromkeys(notes))

    @property
    def engines(self) -> tuple[Engine, ...]:
        """The engines, in the order in which they were given."""
        return tuple(replica.engine for replica in self._replicas)

    def submit(self, request: Request) -> int:
        """Queue a request and return its number. Raises PromptTooLongError when it cannot fit."""
        with self._state:
            if self._closed:
                raise EngineError("the engine is closed")
            number = next(self._numbers)
            replica = min(self._replicas, key=lambda each: each.tokens_left)
            replica.tokens_left += request.max_tokens
            self._owners[number] = replica, request.max_tokens
        try:
            replica.submit(number, request)
        except BaseException:
            with self._state:
                self._forget(number)
                self._state.notify_all()
            raise
        return number

    def events(self) -> Iterator[GenerationEvent]:
        """What happens until every submitted request has finished. Raises EngineError as an engine does."""
        for replica in self._replicas:
            replica.wake()  # one that has raised may have more to tell
        while True:
            with self._state:
                self._state.wait_for(lambda: self._inbox or not self._owners or self._closed)
                if self._closed or not (self._inbox or self._owners):
                    return
                event = self._inbox.popleft()
                if isinstance(event, Exception):
                    raise event
                if event.completion is not None:
                    self._forget(event.request)
            yield event

    def cancel(self, number: int) -> None:
        """End a request at the next step; unknown numbers are ignored."""
        with self._state:
            owner = self._owners.get(number)
        if owner is not None:
            owner[0].cancel(number)

    def stats(self) -> EngineStats:
        """Totals of all engines; seconds are those of each of them, added up."""
        return sum((replica.engine.stats() for replica in self._replicas), EngineStats())

    def close(self) -> None:
        """Close every engine."""
        with self._state:
            self._closed = True
            self._inbox.clear()
            self._state.notify_all()
        for replica in self._replicas:
            replica.close()

    def _forget(self, number: int) -> None:
        replica, budget = self._owners.pop(number)
        replica.tokens_left -= budget

    def _hear(self, event: GenerationEvent | Exception) -> None:
        with self._state:
            self._inbox.append(event)
            self._state.notify_all()


class _Replica:
    """One engine and the thread that reads its events. Numbers of requests are those of the whole."""

    def __init__(self, engine: Engine, tell: Callable[[GenerationEvent | Exception], None]) -> None:
        self.engine = engine
        self.tokens_left = 0  # the budgets of its requests, guarded by whoever shares them out
        self._tell = tell
        self._naming = threading.Lock()
        self._outer: dict[int, int] = {}
        self._inner: dict[int, int] = {}
        self._work = threading.Event()
        self._closed = False
        threading.Thread(target=self._read, daemon=True).start()

    def submit(self, number: int, request: Request) -> None:
        with self._naming:  # the first event may come before the engine's number is known here
            inner = self.engine.submit(request)
            self._outer[inner], self._inner[number] = number, inner
        self.wake()

    def cancel(self, number: int) -> None:
        with self._naming:
            inner = self._inner.get(number)
        if inner is not None:
            self.engine.cancel(inner)

    def wake(self) -> None:
        self._work.set()

    def close(self) -> None:
        self._closed = True
        self.engine.close()
        self.wake()

    def _read(self) -> None:
        while True:
            self._work.wait()
            self._work.clear()
            if self._closed:
                return
            try:
                for event in self.engine.events():
                    self._hand_on(event)
            except Exception as error:  # whatever it is, whoever waits for events must hear of it
                self._tell(error)

    def _hand_on(self, event: GenerationEvent) -> None:
        with self._naming:
            number = self._outer.get(event.request)
            if event.completion is not None and number is not None:
                del self._outer[event.request], self._inner[number]
        if number is not None:  # else its submission was interrupted
            self._tell(replace(event, request=number))


def _made(makes: Sequence[Callable[[], Engine]]) -> list[Engine]:
    """The engines, made at the same time. When one cannot be made the others are closed."""
    futures: list[Future[Engine]] = []
    try:
        with ThreadPoolExecutor(len(makes)) as pool:
            futures += [pool.submit(make) for make in makes]
        return [future.result() for future in futures]
    except BaseException:
        for future in futures:
            with suppress(BaseException):
                future.result().close()
        raise

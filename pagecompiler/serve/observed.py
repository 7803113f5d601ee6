"""An engine that somebody listens to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol

from pagecompiler.engine.base import Engine
from pagecompiler.engine.types import EngineStats, GenerationEvent, Request


class Observer(Protocol):
    """Hears of every event; must be quick, the build waits for it."""

    def wants_trace(self, request: Request) -> bool:
        """Whether the story of each token is wanted, which costs time."""

    def hear(self, request: Request, event: GenerationEvent) -> None:
        """Something has happened to a request."""


class ObservedEngine:
    """Does what the engine does, and tells the observer of it."""

    def __init__(self, engine: Engine, observer: Observer) -> None:
        self._engine = engine
        self._observer = observer
        self._requests: dict[int, Request] = {}

    def submit(self, request: Request) -> int:
        request = replace(request, trace=self._observer.wants_trace(request))
        number = self._engine.submit(request)
        self._requests[number] = request
        return number

    def events(self) -> Iterator[GenerationEvent]:
        for event in self._engine.events():
            request = self._requests.get(event.request)
            if request is not None:
                self._observer.hear(request, event)
                if event.completion is not None:
                    del self._requests[event.request]
            yield event

    def cancel(self, number: int) -> None:
        self._engine.cancel(number)

    def stats(self) -> EngineStats:
        return self._engine.stats()

    def close(self) -> None:
        self._engine.close()

"""An engine that somebody listens to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple, Protocol

from pagecompiler.engine.around import EngineAround
from pagecompiler.engine.base import Engine
from pagecompiler.engine.types import GenerationEvent, Request


class Listener(NamedTuple):
    """Hears the events of one request, and must be quick, since the build waits for it.

    `trace` asks for the story of each token, which costs time.
    """

    hear: Callable[[GenerationEvent], None]
    trace: bool


class Observer(Protocol):
    """Who wants to know what an engine does."""

    def listen(self, request: Request) -> Listener | None:
        """Who hears of a request that is being submitted."""


class ObservedEngine(EngineAround):
    """Does what the engine does, and tells the observer of it."""

    def __init__(self, engine: Engine, observer: Observer) -> None:
        super().__init__(engine)
        self._observer = observer
        self._listeners: dict[int, Listener] = {}

    def submit(self, request: Request) -> int:
        listener = self._observer.listen(request)
        number = super().submit(replace(request, trace=listener is not None and listener.trace))
        if listener is not None:
            self._listeners[number] = listener
        return number

    def events(self) -> Iterator[GenerationEvent]:
        for event in super().events():
            listener = self._listeners.get(event.request)
            if listener is not None:
                listener.hear(event)
                if event.completion is not None:
                    del self._listeners[event.request]
            yield event

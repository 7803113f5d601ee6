"""Notes when an engine was asked for what, and what it answered, on the clock of the bench."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from pagecompiler.bench.figures import TracedRequest
from pagecompiler.engine.around import EngineAround
from pagecompiler.engine.base import Engine
from pagecompiler.engine.types import Completion, GenerationEvent, Request

Clock = Callable[[], float]


@dataclass(slots=True)
class Recorded:
    """One request: times in seconds on the clock; `events` only of a traced run."""

    request: Request
    submitted: float
    admitted: float = 0.0
    first_text: float | None = None
    ended: float = 0.0
    completion: Completion | None = None
    events: list[GenerationEvent] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """In a lane."""
        return self.ended - self.admitted


class Recorder(EngineAround):
    """Takes notes of what an engine does; with `trace` it asks for the story of tokens."""

    def __init__(self, engine: Engine, clock: Clock, *, trace: bool = False) -> None:
        super().__init__(engine)
        self.requests: dict[int, Recorded] = {}
        self._clock = clock
        self._trace = trace

    def submit(self, request: Request) -> int:
        """Queue a request and return its number."""
        if self._trace:
            request = replace(request, trace=True)
        submitted = self._clock()
        number = super().submit(request)
        self.requests[number] = Recorded(request, submitted)
        return number

    def events(self) -> Iterator[GenerationEvent]:
        """What happens in the engine."""
        for event in super().events():
            recorded = self.requests.get(event.request)
            if recorded is not None:
                self._note(recorded, event)
            yield event

    def traced(self) -> tuple[TracedRequest, ...]:
        """All requests with their events."""
        return tuple(
            TracedRequest(each.request.label, each.request.group, each.request.page, each.submitted, tuple(each.events))
            for each in self.requests.values()
        )

    def _note(self, recorded: Recorded, event: GenerationEvent) -> None:
        now = self._clock()
        if event.kind == "admitted":  # once more: what was written until then is void
            recorded.admitted, recorded.first_text = now, None
        elif event.kind == "text" and recorded.first_text is None:
            recorded.first_text = now
        if event.completion is not None:
            recorded.completion, recorded.ended = event.completion, now
        if self._trace:
            recorded.events.append(event)

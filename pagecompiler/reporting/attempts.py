"""The attempts at blocks, put together from what an engine says: when, in which lane, and every token."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from pagecompiler.engine.types import Completion, FinishReason, GenerationEvent, TracedToken
from pagecompiler.generate import Progress

State = Literal["writing", "done", "refused", "failed", "lost"]
"""`refused`: another attempt was needed. `lost`: its engine began anew, which is no fault of the answer."""


@dataclass(slots=True)
class Attempt:
    """One time that a block was written. Times are in seconds, on the clock of the engine's events.

    `lane` counts from 0. The prompt is in the model at `first`, when the first token came; None if none ever did.
    """

    block: str
    group: str
    number: int
    lane: int
    admitted: float
    first: float | None = None
    ended: float | None = None
    state: State = "writing"
    tokens: list[TracedToken] = field(default_factory=list)
    completion: Completion | None = None
    page: int = 0


class Attempts:
    """All attempts of a build, or of several at once, in order of admission. Events must come in order of their times.

    Engines give a request the lowest lane that is free, so which one it got follows from their events.
    """

    def __init__(self) -> None:
        self._all: list[Attempt] = []
        self._open: dict[int, Attempt] = {}
        self._ended: dict[int, Attempt] = {}

    def __iter__(self) -> Iterator[Attempt]:
        return iter(self._all)

    def hear(self, progress: Progress) -> None:
        """Note what happens to a block of a build."""
        if progress.event is None:  # never sent to the engine
            return
        self.take(progress.event, progress.block, progress.group, progress.page)
        if progress.state in ("refused", "failed"):
            self.refuse(progress.event.request)

    def take(self, event: GenerationEvent, block: str, group: str, page: int = 0) -> None:
        """Note an event of the request that writes `block` of a page."""
        if event.kind == "admitted":
            self._admit(event, block, group, page)
        attempt = self._open.get(event.request)
        if attempt is None:  # cancelled before it had a lane
            return
        if attempt.first is None and event.kind == "text":
            attempt.first = event.at
        attempt.tokens += event.trace
        if event.completion is not None:
            failed = event.completion.reason in (FinishReason.FAILED, FinishReason.CANCELLED)
            self._end(event, "failed" if failed else "done")
            attempt.completion = event.completion

    def refuse(self, request: int) -> None:
        """The answer of a request that has ended was not accepted, if there was one."""
        attempt = self._ended.get(request)
        if attempt is not None and attempt.state == "done":
            attempt.state = "refused"

    def take_out(self, page: int) -> list[Attempt]:
        """The attempts of a page that is finished, which are forgotten here."""
        own = [attempt for attempt in self._all if attempt.page == page]
        self._all = [attempt for attempt in self._all if attempt.page != page]
        self._ended = {request: attempt for request, attempt in self._ended.items() if attempt.page != page}
        return own

    def _admit(self, event: GenerationEvent, block: str, group: str, page: int) -> None:
        if event.request in self._open:
            self._end(event, "lost")
        taken = {attempt.lane for attempt in self._open.values()}
        lane = next(lane for lane in range(len(taken) + 1) if lane not in taken)
        before = [attempt for attempt in self._all if (attempt.page, attempt.block) == (page, block)]
        number = 1 + sum(attempt.state != "lost" for attempt in before)
        attempt = Attempt(block, group, number, lane, event.at, page=page)
        self._all.append(attempt)
        self._open[event.request] = attempt

    def _end(self, event: GenerationEvent, state: State) -> None:
        attempt = self._ended[event.request] = self._open.pop(event.request)
        attempt.ended, attempt.state = event.at, state

"""An engine that replays texts: for tests of everything above the engine."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Literal

from pagecompiler.engine.base import EngineError, PromptTooLongError
from pagecompiler.engine.types import (
    Completion,
    EngineStats,
    FinishReason,
    GenerationEvent,
    Request,
    TracedToken,
    Verdict,
)

DEFAULT_LANES = 5
PIECE_CHARACTERS = 8


@dataclass(frozen=True, slots=True)
class Failure:
    """A scripted failure: the request fails with `error` after it has written `text`."""

    error: EngineError
    text: str = ""


Answer = str | Failure
Script = Callable[[Request], Answer] | Mapping[str, Answer | Sequence[Answer]]

Tell = Callable[[str, int], TracedToken]
"""The story of a piece, given its text and its number in the answer."""


def _unguessed(piece: str, number: int) -> TracedToken:
    return TracedToken(piece)


class ScriptedEngine:
    """Answers requests from a script, a piece of eight characters at a time, `lanes` of them interleaved.

    The script is a function of the request, or maps labels to answers; a list of answers serves the attempts
    of one label in turn, its last one any further attempt. A piece counts as a token. A Failure with a
    PromptTooLongError is raised by `submit`. `requests` lists what was asked. `tell` makes up the guesses: they are
    counted, and are in the traces of requests that ask for one.

    >>> from pagecompiler.engine.types import Message
    >>> engine = ScriptedEngine({"hero": "<section><h1>{{1}}</h1></section>"})
    >>> number = engine.submit(Request((Message("user", "…"),), max_tokens=99, label="hero"))
    >>> [event.completion.text for event in engine.events() if event.completion]
    ['<section><h1>{{1}}</h1></section>']
    """

    def __init__(self, script: Script, *, lanes: int = DEFAULT_LANES, tell: Tell = _unguessed) -> None:
        self.requests: list[Request] = []
        self._script = script
        self._lanes = lanes
        self._tell = tell
        self._numbers = itertools.count(1)
        self._attempts: dict[str, int] = {}
        self._waiting: deque[_Replay] = deque()
        self._running: list[_Replay] = []
        self._cancelled: set[int] = set()
        self._events: deque[GenerationEvent] = deque()
        self._stats = EngineStats()
        self._lock = threading.Lock()
        self._closed = False

    def submit(self, request: Request) -> int:
        """Queue a request and return its number. Raises KeyError for a label that is not in the script."""
        with self._lock:
            if self._closed:
                raise EngineError("the engine is closed")
            answer = self._answer(request)
            if isinstance(answer, Failure) and isinstance(answer.error, PromptTooLongError):
                raise answer.error
            self.requests.append(request)
            number = next(self._numbers)
            self._waiting.append(_Replay(number, request, answer))
            return number

    def events(self) -> Iterator[GenerationEvent]:
        """Replay until every submitted request has finished; ends at once when the engine is closed."""
        while True:
            with self._lock:
                if not self._events and not self._closed:
                    self._step()
                if not self._events:
                    return
                event = self._events.popleft()
            yield event

    def cancel(self, number: int) -> None:
        """End a request at the next step; unknown numbers are ignored."""
        with self._lock:
            self._cancelled.add(number)

    def stats(self) -> EngineStats:
        """Totals since the engine was made."""
        return self._stats

    def close(self) -> None:
        """End `events()`. Calling it twice is allowed."""
        with self._lock:
            self._closed = True
            self._events.clear()

    def _answer(self, request: Request) -> Answer:
        if callable(self._script):
            return self._script(request)
        answers = self._script[request.label]
        if isinstance(answers, str | Failure):
            return answers
        attempt = self._attempts.get(request.label, 0)
        self._attempts[request.label] = attempt + 1
        return answers[min(attempt, len(answers) - 1)]

    def _step(self) -> None:
        """Admit what fits, then one piece for each running request, until something happened."""
        for replay in [*self._waiting, *self._running]:
            if replay.number in self._cancelled:
                self._finish(replay, FinishReason.CANCELLED)
        self._cancelled.clear()
        while self._waiting and len(self._running) < self._lanes:
            replay = self._waiting.popleft()
            self._running.append(replay)
            self._events.append(GenerationEvent(replay.number, "admitted"))
        self._stats.target_passes += bool(self._running)
        for replay in list(self._running):
            self._write(replay)

    def _write(self, replay: _Replay) -> None:
        piece = replay.take()
        if piece:
            self._stats.tokens += 1
            token = self._tell(piece, replay.pieces - 1)
            replay.accepted += token.accepted
            replay.drafted += token.accepted or token.refused_rank > 0
            trace = (token,) if replay.request.trace else ()
            self._events.append(replay.event("text", text=piece, trace=trace))
        verdict = replay.monitor.feed(piece) if replay.monitor and piece else Verdict.GO
        if verdict is not Verdict.GO:
            self._finish(replay, FinishReason(verdict.value))
        elif replay.over and replay.failure:
            self._finish(replay, FinishReason.FAILED)
        elif replay.over:
            self._finish(replay, FinishReason.END)
        elif replay.pieces >= replay.request.max_tokens:
            self._finish(replay, FinishReason.LENGTH)

    def _finish(self, replay: _Replay, reason: FinishReason) -> None:
        for place in (self._waiting, self._running):
            if replay in place:
                place.remove(replay)
        self._events.append(replay.event("finished", completion=replay.completion(reason)))


class _Replay:
    """One request and how much of its answer is written."""

    def __init__(self, number: int, request: Request, answer: Answer) -> None:
        self.number = number
        self.request = request
        self.failure = answer if isinstance(answer, Failure) else None
        self.monitor = request.monitor() if request.monitor else None
        self.pieces = 0
        self.drafted = 0
        self.accepted = 0
        self._text = answer.text if isinstance(answer, Failure) else answer
        self._started = perf_counter()

    @property
    def over(self) -> bool:
        return self.pieces * PIECE_CHARACTERS >= len(self._text)

    def take(self) -> str:
        start = self.pieces * PIECE_CHARACTERS
        piece = self._text[start : start + PIECE_CHARACTERS]
        self.pieces += bool(piece)
        return piece

    def event(
        self,
        kind: Literal["text", "finished"],
        *,
        text: str = "",
        completion: Completion | None = None,
        trace: tuple[TracedToken, ...] = (),
    ) -> GenerationEvent:
        return GenerationEvent(
            self.number,
            kind,
            text,
            tokens=self.pieces,
            drafted=self.drafted,
            accepted=self.accepted,
            completion=completion,
            trace=trace,
        )

    def completion(self, reason: FinishReason) -> Completion:
        return Completion(
            text=self._text[: self.pieces * PIECE_CHARACTERS],
            tokens=tuple(range(self.pieces)),
            reason=reason,
            seconds=perf_counter() - self._started,
            target_passes=self.pieces,
            drafted=self.drafted,
            accepted=self.accepted,
            error=self.failure.error if self.failure and reason is FinishReason.FAILED else None,
        )

"""The reference engine: each request is answered at once, by rule."""

from __future__ import annotations

from collections.abc import Iterator

from pagecompiler.engine.base import EngineError
from pagecompiler.engine.reference.blocks import write_block
from pagecompiler.engine.reference.description import parse_description
from pagecompiler.engine.reference.style import write_style
from pagecompiler.engine.types import Completion, EngineStats, FinishReason, GenerationEvent, Request


def write(description: str) -> str:
    """The fragment of a block description.

    >>> print(write("kind: nav\\n{{1}} brand short"))
    <p class="nav"><a class="brand" href="#top">{{1}}</a></p>
    """
    block = parse_description(description)
    return write_style(block) if block.kind == "style" else write_block(block)


class ReferenceEngine:
    """An `Engine` without a model. Tokens are not counted: nothing is decoded."""

    def __init__(self) -> None:
        self._waiting: dict[int, Request] = {}
        self._next = 0

    def submit(self, request: Request) -> int:
        self._next += 1
        self._waiting[self._next] = request
        return self._next

    def events(self) -> Iterator[GenerationEvent]:
        while self._waiting:
            number = min(self._waiting)
            request = self._waiting.pop(number)
            yield GenerationEvent(number, "admitted")
            completion = _complete(request)
            if completion.text:
                yield GenerationEvent(number, "text", completion.text)
            yield GenerationEvent(number, "finished", completion=completion)

    def cancel(self, number: int) -> None:
        self._waiting.pop(number, None)

    def stats(self) -> EngineStats:
        return EngineStats()

    def close(self) -> None:
        self._waiting.clear()


def _complete(request: Request) -> Completion:
    try:
        return Completion(write(request.messages[-1].content), (), FinishReason.END, 0.0)
    except (ValueError, KeyError) as error:
        reason = EngineError(f"no rule writes this block: {error}", hint="the reference engine knows no briefs")
        return Completion("", (), FinishReason.FAILED, 0.0, error=reason)

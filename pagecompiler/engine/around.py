"""An engine around another one."""

from __future__ import annotations

from collections.abc import Iterator

from pagecompiler.engine.base import Engine
from pagecompiler.engine.types import EngineStats, GenerationEvent, Request


class EngineAround:
    """Hands everything to the `engine` inside. What is put around one to change or to hear something overrides that."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def submit(self, request: Request) -> int:
        """Queue a request and return its number."""
        return self.engine.submit(request)

    def events(self) -> Iterator[GenerationEvent]:
        """What happens in the engine."""
        return self.engine.events()

    def cancel(self, number: int) -> None:
        """End a request at the next step."""
        self.engine.cancel(number)

    def stats(self) -> EngineStats:
        """Totals since the engine was made."""
        return self.engine.stats()

    def close(self) -> None:
        """Close the engine."""
        self.engine.close()

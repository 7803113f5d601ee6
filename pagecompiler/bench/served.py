"""A server as an engine whose statistics hold what the server counts of its guesses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from pagecompiler.engine.around import EngineAround
from pagecompiler.engine.base import Engine
from pagecompiler.engine.openai.counters import GuessCounters, read_counters
from pagecompiler.engine.types import EngineStats

ReadCounters = Callable[[Sequence[str]], GuessCounters | None]


class ServedEngine(EngineAround):
    """Around an engine of `servers`. Their counters are read when it is made and when it is asked for its
    statistics: what they say in between is taken for this engine's, so nobody else should use the servers meanwhile.
    """

    def __init__(self, engine: Engine, servers: Sequence[str], read: ReadCounters = read_counters) -> None:
        super().__init__(engine)
        self._servers = servers
        self._read = read
        self._before = read(servers)

    def stats(self) -> EngineStats:
        """Totals since the engine was made; `verify_passes` counts guesses, where the server counts them."""
        stats = replace(super().stats())
        after = self._read(self._servers) if self._before is not None else None
        if self._before is None or after is None:
            return stats
        spent = after - self._before
        return replace(
            stats,
            verify_passes=spent.passes,
            drafted=spent.drafted,
            accepted=spent.accepted,
            accepted_by_position=spent.accepted_by_position,
        )

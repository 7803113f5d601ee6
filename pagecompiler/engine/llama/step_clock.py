"""Where the time of a step goes, and whose it is."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from pagecompiler.engine.llama.drafting.combined import Guesses
from pagecompiler.engine.llama.lane import Lane
from pagecompiler.engine.types import EngineStats


class StepClock:
    """Times one step of an engine from its making on, into `stats`.

    Target decodes are timed by whoever makes them, drafts by their drafters; all other time is Python's.
    """

    def __init__(self, stats: EngineStats, guesses: Guesses) -> None:
        self._stats = stats
        self._guesses = guesses
        self._started = perf_counter()
        self._target = stats.target_seconds
        self._draft = guesses.seconds

    def divide(self, shares: Sequence[tuple[Lane, int]]) -> None:
        """Give each lane its part of the time so far, by its rows in the step."""
        total = sum(rows for _, rows in shares)
        target, draft, python = self._times()
        for lane, rows in shares:
            part = rows / total
            lane.target_seconds += target * part
            lane.draft_seconds += draft * part
            lane.python_seconds += python * part

    def stop(self) -> None:
        """The step is over."""
        _, draft, python = self._times()
        self._stats.draft_passes = self._guesses.passes
        self._stats.draft_seconds += draft
        self._stats.python_seconds += python

    def _times(self) -> tuple[float, float, float]:
        target, draft = self._stats.target_seconds - self._target, self._guesses.seconds - self._draft
        return target, draft, perf_counter() - self._started - target - draft

"""How many lanes to fill while more requests wait: as many as give most tokens a second.

A pass over more rows costs more in steps rather than in proportion, so the last lanes may cost more than they
bring. Only whoever wants tokens a second leaves lanes empty; a page alone is finished soonest with all of them.
"""

from __future__ import annotations

from typing import Protocol

from pagecompiler.engine.llama.depth import FIRST_REST, LONGEST_REST, TRIED_STEPS

FEWER_LANES_GAIN = 1.03  # so much more it must be: a lane that is left empty also makes its requests wait


class Rates(Protocol):
    """What is known of numbers of lanes: `Depth`, or `Ways`."""

    def judged(self, lanes: int) -> bool: ...

    def best_rate(self, lanes: int) -> float: ...


class LaneCount:
    """Chooses from measured `rates`, `most` at most and half of them at least.

    All lanes are measured first, then, one after the other and with rests between them, the smaller numbers that
    are not known; those of which the end of a run has told enough need no trial. Later the neighbours of the best
    number are tried again, ever more seldom while they lose. Fewer than half of the lanes are never tried: the
    same rows hold twice the lanes with shorter guesses, which are approved more often.
    """

    def __init__(self, rates: Rates, most: int) -> None:
        self._rates = rates
        self._most = most
        self._numbers = range((most + 1) // 2, most + 1)
        self._best = self._find_best()
        self._left = self._rest = FIRST_REST
        self._trial: int | None = None
        self._seen = 0
        self._turn = 0

    def choose(self) -> int:
        """How many lanes to fill now."""
        return self._trial if self._trial is not None else self._best

    def observed(self, lanes: int) -> None:
        """A step of so many lanes was measured; `rates` know of it."""
        if self._trial is None:
            self._left -= lanes == self._best
            if self._left <= 0:
                self._trial, self._seen = self._next_trial(), 0
                self._left = self._rest
            return
        self._seen += lanes == self._trial
        if self._seen >= TRIED_STEPS and self._rates.judged(self._trial):
            self._best = self._find_best()
            won = self._best == self._trial
            self._rest = FIRST_REST if won or self._unknown() else min(2 * self._rest, LONGEST_REST)
            self._left, self._trial = self._rest, None

    def _find_best(self) -> int:
        """The number with most tokens a second, as far as is known; in doubt all lanes."""
        if not self._rates.judged(self._most):
            return self._most
        rates = {lanes: self._rates.best_rate(lanes) for lanes in self._numbers if self._rates.judged(lanes)}
        best = max(rates, key=rates.__getitem__)
        return best if rates[best] > FEWER_LANES_GAIN * rates[self._most] else self._most

    def _unknown(self) -> list[int]:
        return [lanes for lanes in self._numbers if not self._rates.judged(lanes)]

    def _next_trial(self) -> int | None:
        """The largest unknown number, else the neighbour of the best one whose turn it is."""
        self._best = self._find_best()
        unknown = self._unknown()
        if unknown:
            return unknown[-1]
        others = [lanes for lanes in (self._best - 1, self._best + 1) if lanes in self._numbers]
        self._turn += 1
        return others[self._turn % len(others)] if others else None

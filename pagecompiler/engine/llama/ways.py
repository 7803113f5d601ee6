"""Which way to guess: each way has depths of its own, and the one that gives most tokens a second is taken.

A model that drafts costs its passes also where a match in the text would have done. So with both at hand there are
two ways, the model with matches before it and matches alone; only measurement says which one pays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pagecompiler.engine.llama.depth import (
    FIRST_REST,
    KEPT_SAMPLES,
    LONGEST_REST,
    PATIENCE,
    SECOND_LOOK,
    TRIED_STEPS,
    Depth,
    Measured,
)


class Ways:
    """Chooses a way and its depth for a number of live lanes, from one `Depth` for each way.

    A way whose depths are not all known is tried first, but not for numbers of lanes that a run only passes through.
    Later the others are tried again, ever more seldom while they lose. `opening` says for numbers of lanes with which
    way and depth to begin: what a bench found best there is kept to for as long as a depth that won.
    """

    def __init__(self, depths: Sequence[Depth], opening: Mapping[int, tuple[int, int]] | None = None) -> None:
        self.depths = tuple(depths)
        self._opening = {lanes: (*choice, FIRST_REST) for lanes, choice in (opening or {}).items()}
        self._visits: dict[int, int] = {lanes: 0 for depth in self.depths for lanes in depth.visited}  # lanes → steps
        self._trials: dict[int, int] = {}  # lanes → the way on trial
        self._counts: dict[int, int] = {}  # lanes → steps until the next trial, or steps of the trial
        self._rests: dict[int, int] = {}
        self._turn = 0
        self._seen: dict[tuple[int, int], int] = {}  # (lanes, way) → steps until its last one
        self._held: dict[int, int] = {}  # lanes → the way in use
        self._former: dict[int, int] = {}  # lanes → the one before it, until its second look
        self._challenged: set[int] = set()  # lanes whose trial is none of the seldom ones

    @property
    def deepest(self) -> int:
        """The most tokens that are ever guessed."""
        return max(depth.deepest for depth in self.depths)

    def choose(self, lanes: int) -> tuple[int, int]:
        """The way and the depth of the next step of so many lanes."""
        if lanes in self._opening:
            way, depth, _ = self._opening[lanes]
            return way, min(depth, self.depths[way].deepest)
        if len(self.depths) == 1:
            return 0, self.depths[0].choose(lanes)
        known = self._known_near(lanes)
        if known is not None:
            way = self.best(known)
            return way, self.depths[way].best(known)
        for way, each in enumerate(self.depths):
            if not each.judged(lanes):
                return way, each.choose(lanes, patient=False)
        best = self.best(lanes)
        way = self._trials.get(lanes, best)
        if lanes not in self._trials and best != self._held.get(lanes, best) and self._stale(lanes, best):
            self._challenged.add(lanes)
            self._begin_trial(lanes, best)
        return way, self.depths[way].choose(lanes)

    def expected(self) -> tuple[int, int] | None:
        """The choice for the largest number of lanes of which enough is known; None when nothing is."""
        known = [*self._opening, *(lanes for lanes in self._visits if self.judged(lanes))]
        return self.choose(max(known)) if known else None

    def _known_near(self, lanes: int) -> int | None:
        """As `Depth.known_near`, of all ways together."""
        if self._visits.get(lanes, 0) >= PATIENCE or self.judged(lanes):
            return None
        judged = [other for other in self._visits if self.judged(other)]
        return min(judged, key=lambda other: abs(other - lanes), default=None)

    def best(self, lanes: int) -> int:
        """The way of most tokens a second; only where all are judged."""
        return max(range(len(self.depths)), key=lambda way: self.depths[way].best_rate(lanes))

    def judged(self, lanes: int) -> bool:
        """Whether every depth of every way was tried with so many lanes."""
        return all(depth.judged(lanes) for depth in self.depths)

    def best_rate(self, lanes: int) -> float:
        """Tokens a second of so many lanes with the best way; only where all are judged."""
        return max(depth.best_rate(lanes) for depth in self.depths)

    def observed(self, lanes: int, way: int, depth: int, seconds: float) -> None:
        """A step of so many lanes took `seconds`, drafting included."""
        self.depths[way].observed(lanes, depth, seconds)
        self._visits[lanes] = self._seen[lanes, way] = self._visits.get(lanes, 0) + 1
        if lanes in self._opening:
            first, deep, left = self._opening.pop(lanes)
            if left > 1:
                self._opening[lanes] = (first, deep, left - 1)
            return
        if len(self.depths) == 1 or not self.judged(lanes):
            return
        if lanes in self._trials:
            self._counts[lanes] += way == self._trials[lanes]
            if self._counts[lanes] >= TRIED_STEPS:
                self._end_trial(lanes)
            return
        held = self._held.get(lanes, way)
        left = self._counts.get(lanes, self._rests.get(lanes, FIRST_REST))
        if way != held:
            self._former[lanes] = held
            left = SECOND_LOOK
        self._held[lanes], self._counts[lanes] = way, left - 1
        if left <= 1:
            self._begin_trial(lanes, self._next_trial(lanes))

    def _stale(self, lanes: int, way: int) -> bool:
        """As `Depth` has it."""
        return self._visits[lanes] - self._seen.get((lanes, way), -KEPT_SAMPLES) >= KEPT_SAMPLES

    def _next_trial(self, lanes: int) -> int:
        if lanes in self._former:
            return self._former.pop(lanes)
        others = [other for other in range(len(self.depths)) if other != self.best(lanes)]
        self._turn += 1
        return others[self._turn % len(others)]

    def _begin_trial(self, lanes: int, way: int) -> None:
        self._trials[lanes], self._counts[lanes] = way, 0
        self.depths[way].challenge(lanes)

    def _end_trial(self, lanes: int) -> None:
        trial, rest = self._trials.pop(lanes), self._rests.get(lanes, FIRST_REST)
        if self.best(lanes) == trial:
            rest = FIRST_REST
        elif lanes not in self._challenged:
            rest = min(2 * rest, LONGEST_REST)
        self._challenged.discard(lanes)
        self._rests[lanes] = self._counts[lanes] = rest

    def measured(self) -> list[Measured]:
        """What is worth keeping of each way."""
        return [depth.measured() for depth in self.depths]

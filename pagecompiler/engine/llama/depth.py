"""How many tokens to draft: chosen from what steps have cost and how many guesses were approved.

With acceptance p(i) at position i a lane gets 1 + p1 + p1·p2 + … tokens from a step of depth K. A step costs
what a pass over its rows costs, a step function of the rows rather than a line, and K draft passes. Depth 0 is
plain decoding. After SmartSpec (arXiv 2406.14066): cost is looked up, acceptance is followed while running.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

KEPT_SAMPLES = 9
TRIED_STEPS = 3  # samples of a depth before it is judged
PATIENCE = 24  # steps with the depth of a number of lanes that is known, before the depths of another one are tried
FIRST_REST = 128  # steps at one depth before another one is tried again; doubles each time
LONGEST_REST = 4096
SECOND_LOOK = 16  # steps with a new winner before the old one is tried again
FORGET = 0.995
KNOWN_GUESSES = 50.0  # the weight of a stored share
PRIOR = 0.7


@dataclass(frozen=True, slots=True)
class Measured:
    """What is known of a machine, a model and a build: seconds by (lanes, depth), acceptance by position."""

    steps: Mapping[tuple[int, int], float]
    acceptance: tuple[float, ...]


class Acceptance:
    """The share of guesses that were approved at each position, of those whose predecessors were; recent ones count
    more."""

    def __init__(self, known: Iterable[float] = ()) -> None:
        self._tried: list[float] = []
        self._approved: list[float] = []
        for share in known:
            self._tried.append(KNOWN_GUESSES)
            self._approved.append(KNOWN_GUESSES * share)

    def add(self, drafted: int, accepted: int) -> None:
        """A guess of `drafted` tokens was verified; the first `accepted` were approved."""
        tried, approved = self._tried, self._approved
        while len(tried) < drafted:
            tried.append(0.0)
            approved.append(0.0)
        for position in range(accepted):
            tried[position] = tried[position] * FORGET + 1
            approved[position] = approved[position] * FORGET + 1
        if accepted < drafted:
            tried[accepted] = tried[accepted] * FORGET + 1
            approved[accepted] *= FORGET

    def share(self, position: int) -> float:
        """The share at a position from 0; of one not tried yet that of the position before it."""
        for at in range(min(position, len(self._tried) - 1), -1, -1):
            if self._tried[at]:
                return self._approved[at] / self._tried[at]
        return PRIOR

    def expected(self, depth: int) -> float:
        """The tokens that a lane gets from a step of this depth."""
        tokens = run = 1.0
        for position in range(depth):
            run *= self.share(position)
            tokens += run
        return tokens

    def shares(self) -> tuple[float, ...]:
        """All shares that were tried."""
        return tuple(self.share(position) for position, tried in enumerate(self._tried) if tried)


def _middle(samples: Sequence[float]) -> float:
    """The mean of the middle half: unlike the mean it does not see a few outliers, unlike the median it sees that some
    steps of the same depth have no guess and fewer rows."""
    quarter = len(samples) // 4
    middle = sorted(samples)[quarter : len(samples) - quarter]
    return sum(middle) / len(middle)


class Depth:
    """Chooses the depth for a number of live lanes, `deepest` at most.

    `least` 1 is for a method that was asked for by name: it always drafts. `fixed` switches the choice off.
    Steps of an unknown depth are tried first; later the others are tried again, seldom. A depth that loses
    stays out longer each time. Other work on the machine slows all depths down, but shows only in the one that is in
    use: before another one takes its place it must have been as fast now, and the old one soon gets a second look.
    Numbers of lanes that a run only passes through are not worth trials: they take the depth of the nearest number that
    is known.
    """

    def __init__(
        self, *, deepest: int, least: int = 0, fixed: int | None = None, known: Measured | None = None
    ) -> None:
        self.deepest = deepest
        self._fixed = fixed
        self._depths = range(least, deepest + 1) if fixed is None else range(fixed, fixed + 1)
        self._steps: dict[tuple[int, int], deque[float]] = {}
        self._seconds: dict[tuple[int, int], float] = {}  # what these say
        self._visits: dict[int, int] = {}  # lanes → steps
        self._rests: dict[int, tuple[int, int]] = {}  # lanes → steps until the next trial, length of a rest
        self._trials: dict[int, int] = {}  # lanes → the depth on trial
        self._fresh: dict[int, list[float]] = {}  # lanes → what steps of the trial took
        self._turns: dict[int, int] = {}
        self._seen: dict[tuple[int, int], int] = {}  # steps until the last sample
        self._held: dict[int, int] = {}  # lanes → the depth in use
        self._former: dict[int, int] = {}  # lanes → the one before it, until its second look
        self._challenged: set[int] = set()  # lanes whose trial is none of the seldom ones
        self.acceptance = Acceptance(known.acceptance if known else ())
        for key, seconds in (known.steps if known else {}).items():
            self._steps[key] = deque([seconds] * TRIED_STEPS, KEPT_SAMPLES)
            self._seconds[key] = seconds
            self._visits[key[0]] = 0

    def choose(self, lanes: int, *, patient: bool = True) -> int:
        """The depth of the next step of so many lanes; without patience an unknown one is tried at once."""
        if self._fixed is not None:
            return self._fixed
        known = self.known_near(lanes) if patient else None
        if known is not None:
            return self.best(known)
        for depth in self._depths:
            if len(self._steps.get((lanes, depth), ())) < TRIED_STEPS:
                return depth
        if lanes not in self._trials:
            best = self.best(lanes)
            if best == self._held.get(lanes, best) or not self._stale(lanes, best):
                return best
            self.challenge(lanes)
        return self._trials[lanes]

    def known_near(self, lanes: int) -> int | None:
        """The nearest number of lanes that was judged, for one that was not and that a run may only pass through."""
        if self._visits.get(lanes, 0) >= PATIENCE or self.judged(lanes):
            return None
        judged = [other for other in self._visits if self.judged(other)]
        return min(judged, key=lambda other: abs(other - lanes), default=None)

    def best(self, lanes: int) -> int:
        """The depth of which a lane gets most tokens a second, as far as is known."""
        best, most, tokens, run = self._depths[0], 0.0, 1.0, 1.0
        for depth in range(self._depths[-1] + 1):
            if depth:
                run *= self.acceptance.share(depth - 1)
                tokens += run
            seconds = self._seconds.get((lanes, depth))
            if seconds is not None and depth in self._depths and tokens > most * seconds:
                best, most = depth, tokens / seconds
        return best

    def rate(self, lanes: int, depth: int) -> float:
        """Tokens a second of all lanes together at a depth that was measured."""
        return lanes * self.acceptance.expected(depth) / self._seconds[lanes, depth]

    @property
    def visited(self) -> list[int]:
        """The numbers of lanes of which anything is known."""
        return list(self._visits)

    def judged(self, lanes: int) -> bool:
        """Whether every depth of so many lanes was tried."""
        return all(len(self._steps.get((lanes, depth), ())) >= TRIED_STEPS for depth in self._depths)

    def best_rate(self, lanes: int) -> float:
        """Tokens a second of so many lanes at their best depth; only for a number that was judged."""
        return self.rate(lanes, self.best(lanes))

    def observed(self, lanes: int, depth: int, seconds: float) -> None:
        """A step of so many lanes at this depth took `seconds`, drafting included."""
        if self._trials.get(lanes) == depth:
            self._try(lanes, depth, seconds)
            return
        samples = self._steps.setdefault((lanes, depth), deque(maxlen=KEPT_SAMPLES))
        samples.append(seconds)
        self._visits[lanes] = self._seen[lanes, depth] = self._visits.get(lanes, 0) + 1
        self._seconds[lanes, depth] = _middle(samples)
        left, rest = self._rests.get(lanes, (FIRST_REST, FIRST_REST))
        if lanes in self._trials:
            return
        held = self._held.get(lanes, depth)
        if depth != held and self.judged(lanes):
            self._former[lanes] = held
            left, rest = SECOND_LOOK, FIRST_REST
        self._held[lanes] = depth
        self._rests[lanes] = (left - 1, rest)
        if left <= 1 and len(self._depths) > 1:
            self._trials[lanes] = self._next_trial(lanes)

    def challenge(self, lanes: int) -> None:
        """Measure the best depth anew, before it is believed."""
        self._trials[lanes] = self.best(lanes)
        self._fresh.pop(lanes, None)
        self._challenged.add(lanes)

    def _stale(self, lanes: int, depth: int) -> bool:
        """Whether the samples of a depth are older than those of the depth in use."""
        return self._visits[lanes] - self._seen.get((lanes, depth), -KEPT_SAMPLES) >= KEPT_SAMPLES

    def _next_trial(self, lanes: int) -> int:
        """The depth that was in use before; else neighbours of the best depth take turns with plain decoding, which
        costs no drafts and so may win where depth 1 loses.
        """
        if lanes in self._former:
            return self._former.pop(lanes)
        best = self.best(lanes)
        others = [d for d in dict.fromkeys((best - 1, best + 1, 0)) if d in self._depths and d != best]
        self._turns[lanes] = self._turns.get(lanes, -1) + 1
        return others[self._turns[lanes] % len(others)]

    def _try(self, lanes: int, depth: int, seconds: float) -> None:
        """A step of a trial: what was measured before, maybe long ago, counts no more."""
        fresh = self._fresh.setdefault(lanes, [])
        fresh.append(seconds)
        if len(fresh) < TRIED_STEPS:
            return
        self._steps[lanes, depth] = deque(self._fresh.pop(lanes), KEPT_SAMPLES)
        self._seconds[lanes, depth] = _middle(fresh)
        self._visits[lanes] = self._seen[lanes, depth] = self._visits.get(lanes, 0) + TRIED_STEPS
        del self._trials[lanes]
        if self.best(lanes) == depth:
            self._rests[lanes] = (FIRST_REST, FIRST_REST)
        elif lanes not in self._challenged:
            rest = min(2 * self._rests[lanes][1], LONGEST_REST)
            self._rests[lanes] = (rest, rest)
        self._challenged.discard(lanes)

    def measured(self) -> Measured:
        """What is worth keeping."""
        steps = {key: self._seconds[key] for key, samples in self._steps.items() if len(samples) >= TRIED_STEPS}
        return Measured(steps, self.acceptance.shares())

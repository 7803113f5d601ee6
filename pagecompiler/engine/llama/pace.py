"""How fast an engine was all in all, to compare kinds of engines (`kinds.py`).

`Depth` compares steps within one engine. There a step without guesses costs more than in an engine that never guesses,
which notes no hidden rows, keeps no snapshots and reads each prompt once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

READING = 0  # in place of a number of lanes: the tokens of prompts
WHOLE_RUN = 200.0  # so many tokens are a run, fewer are a part of one
FEWEST_TOKENS = 20.0  # of a number of lanes, to compare two paces there
KEPT = 0.5  # the weight of all that was before a run


@dataclass(frozen=True, slots=True)
class Part:
    """Tokens and the seconds that they took."""

    tokens: float
    seconds: float


_NOTHING = Part(0.0, 0.0)


@dataclass(slots=True)
class Pace:
    """Tokens and the seconds of their steps, trials included, by the number of live lanes; of `runs` whole runs.

    Strides over a previous answer are left out: their cost is that of the edit.

    >>> slow, fast = Pace({5: Part(100, 2.0), 1: Part(10, 1.0)}), Pace({5: Part(50, 0.5)})
    >>> fast.against(slow)
    0.5
    """

    parts: dict[int, Part] = field(default_factory=dict)
    runs: float = 0.0

    def add(self, lanes: int, tokens: int, seconds: float) -> None:
        """A step of so many lanes."""
        part = self.parts.get(lanes, _NOTHING)
        self.parts[lanes] = Part(part.tokens + tokens, part.seconds + seconds)

    @property
    def size(self) -> float:
        """What was written, in runs: at most one."""
        return min(1.0, sum(part.tokens for lanes, part in self.parts.items() if lanes != READING) / WHOLE_RUN)

    def after(self, former: Pace) -> Pace:
        """What this engine did together with what others did before it."""
        kept = KEPT**self.size
        parts: dict[int, Part] = {lanes: Part(kept * p.tokens, kept * p.seconds) for lanes, p in former.parts.items()}
        pace = Pace(parts, former.runs + self.size)
        for lanes, part in self.parts.items():
            known = parts.get(lanes, _NOTHING)
            parts[lanes] = Part(known.tokens + part.tokens, known.seconds + part.seconds)
        return pace

    def against(self, other: Pace) -> float | None:
        """Its time in units of the other's for the same work, as far as both have done it; None when they have not."""
        own, others = self._of(other.parts), other._of(self.parts)
        if not own.keys() - {READING}:
            return None
        weights = {lanes: self.parts[lanes].tokens + other.parts[lanes].tokens for lanes in own}
        return sum(weights[n] * own[n] for n in own) / sum(weights[n] * others[n] for n in own)

    def _of(self, wanted: Mapping[int, Part]) -> dict[int, float]:
        """Seconds a token, for these numbers of lanes."""
        return {
            lanes: part.seconds / part.tokens
            for lanes, part in self.parts.items()
            if min(part.tokens, wanted.get(lanes, _NOTHING).tokens) >= FEWEST_TOKENS
        }

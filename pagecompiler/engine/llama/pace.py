"""How fast an engine was all in all, to compare one that has a model that drafts with one that has none.

`Depth` compares steps within one engine. There a step without guesses costs more than in an engine without a drafter,
which notes no hidden rows, keeps no snapshots and reads each prompt once. So both are made, on real builds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

READING = 0  # in place of a number of lanes: the tokens of prompts
FEWEST_TOKENS = 200.0  # a shorter run says nothing
KEPT = 0.5  # the weight of all former runs together


@dataclass(frozen=True, slots=True)
class Part:
    """Tokens and the seconds that they took."""

    tokens: float
    seconds: float


@dataclass(slots=True)
class Pace:
    """Tokens and the seconds of their steps, trials included, by the number of live lanes; of `runs` engines.

    >>> slow, fast = Pace({5: Part(100, 2.0), 1: Part(10, 1.0)}), Pace({5: Part(50, 0.5)})
    >>> fast.against(slow)
    0.5
    """

    parts: dict[int, Part] = field(default_factory=dict)
    runs: int = 0

    def add(self, lanes: int, tokens: int, seconds: float) -> None:
        """A step of so many lanes."""
        part = self.parts.get(lanes, Part(0, 0))
        self.parts[lanes] = Part(part.tokens + tokens, part.seconds + seconds)

    @property
    def tells(self) -> bool:
        """Whether enough was written to say anything."""
        return sum(part.tokens for lanes, part in self.parts.items() if lanes != READING) >= FEWEST_TOKENS

    def after(self, former: Pace) -> Pace:
        """This run together with the former ones."""
        parts: dict[int, Part] = {lanes: Part(KEPT * p.tokens, KEPT * p.seconds) for lanes, p in former.parts.items()}
        pace = Pace(parts, former.runs + 1)
        for lanes, part in self.parts.items():
            known = parts.get(lanes, Part(0, 0))
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
            if part.tokens > 0 and lanes in wanted and wanted[lanes].tokens > 0
        }

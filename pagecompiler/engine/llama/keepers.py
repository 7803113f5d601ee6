"""Keeper sequences: shared beginnings of prompts, decoded once and then only copied.

On a hybrid model a copy takes the source's current recurrent state. So a shared beginning must stand still:
it lives in a parked sequence that is never decoded further.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(slots=True)
class Keeper:
    """A parked sequence; `decoded` of its `tokens` are in memory, `used` orders keepers by use."""

    sequence: int
    tokens: tuple[int, ...] = ()
    decoded: int = 0
    used: int = 0

    @property
    def ready(self) -> bool:
        """Whether it can be copied."""
        return self.decoded == len(self.tokens)


class Keepers:
    """Decides which beginnings are kept. `room` bounds the tokens of all keepers together."""

    def __init__(self, sequences: Sequence[int], room: int) -> None:
        self._keepers = [Keeper(sequence) for sequence in sequences]
        self._room = room
        self._uses = 0

    def find(self, prefix: tuple[int, ...], waiting: Sequence[tuple[int, ...]]) -> Keeper | None:
        """The keeper for a beginning, or None: decode it with the prompt. `waiting` are all beginnings in demand.

        A free keeper is given to whoever comes. A taken one changes hands when several wait for the new beginning
        and fewer for the old one; it comes back with `decoded` 0, and its sequence must be cleared.
        """
        if not prefix:
            return None
        keeper = next((k for k in self._keepers if k.tokens == prefix), None)
        if keeper is None:
            keeper = min(self._keepers, key=lambda k: (waiting.count(k.tokens) if k.tokens else -1, k.used))
            demand = waiting.count(prefix)
            gain = not keeper.tokens or (demand > 1 and demand > waiting.count(keeper.tokens))
            others = sum(len(k.tokens) for k in self._keepers if k is not keeper)
            if not gain or others + len(prefix) > self._room:
                return None
            keeper.tokens, keeper.decoded = prefix, 0
        self._uses += 1
        keeper.used = self._uses
        return keeper

    def forget(self, keeper: Keeper | None = None) -> None:
        """The memory of this keeper (or of all) is gone."""
        for lost in self._keepers if keeper is None else (keeper,):
            lost.tokens, lost.decoded, lost.used = (), 0, 0

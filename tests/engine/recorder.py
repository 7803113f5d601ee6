"""A target that remembers which logits followed which tokens."""

from __future__ import annotations

import numpy as np

from pagecompiler.engine.llama.library import Context
from pagecompiler.engine.llama.target import Batch, Logits, Rows, SavedState


class Recorder:
    """Passes everything on to a context; `rows` maps the tokens of a sequence to the logits behind them."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.rollback = context.rollback
        self.rows: dict[tuple[int, ...], np.ndarray] = {}
        self.restores = 0
        self._held: dict[int, list[int]] = {}

    def decode(self, batch: Batch) -> Logits:
        logits = self.context.decode(batch)
        found = iter(logits)
        for token, sequence, wanted in zip(batch.tokens, batch.sequences, batch.wanted, strict=True):
            held = self._held.setdefault(sequence, [])
            held.append(token)
            if wanted:
                self.rows[tuple(held)] = next(found).copy()
        for sequence, held in self._held.items():
            assert self.context.memory.last_position(sequence) == len(held) - 1
        return logits

    def hidden(self, tap: int) -> Rows:
        return self.context.hidden(tap)

    def save(self, sequence: int) -> SavedState | None:
        return self.context.save(sequence)

    def restore(self, sequence: int, state: SavedState) -> None:
        self.context.restore(sequence, state)
        self.restores += 1
        del self._held[sequence][state.length :]

    def remove(self, sequence: int, start: int = 0) -> None:
        self.context.remove(sequence, start)
        del self._held.setdefault(sequence, [])[start:]

    def copy(self, source: int, destination: int) -> None:
        self.context.copy(source, destination)
        self._held[destination] = list(self._held[source])

    def clear(self) -> None:
        self.context.clear()
        self._held.clear()

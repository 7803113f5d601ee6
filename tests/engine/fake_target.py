"""A target and a vocabulary without a model: logits are a fixed function of a sequence's tokens."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence

import numpy as np

from pagecompiler.engine.llama.rules import SequenceRules
from pagecompiler.engine.llama.target import Batch, Logits, SavedState

END = 0
PIECES = [b"", b"{{", b"1", b"2", b"}}", b"12}}", b"}}</", b"<p>", b" word", "\u00e9".encode()[:1], b"\xa9", b"x"]


def random_logits(tokens: Sequence[int]) -> Logits:
    """A row that depends on every token and their order."""
    seed = zlib.crc32(np.array(tokens, np.int32).tobytes())
    return np.random.default_rng(seed).normal(size=len(PIECES)).astype(np.float32)


class FakeVocabulary:
    """Twelve tokens; number 0 ends an answer."""

    size = len(PIECES)

    def piece(self, token: int) -> bytes:
        return PIECES[token]

    def token_text(self, token: int) -> str:
        return "<end>" if token == END else PIECES[token].decode("latin-1")

    def is_end(self, token: int) -> bool:
        return token == END


class FakeTarget:
    """Keeps what each sequence holds and refuses what llama.cpp would do wrongly.

    `failures` maps the number of a decode (from 1) to the error it raises. `rollback` None allows any cut.
    """

    def __init__(
        self,
        logits: Callable[[Sequence[int]], Logits] = random_logits,
        failures: dict[int, Exception] | None = None,
        rollback: int | None = 0,
    ) -> None:
        self.rollback = rollback
        self.held: dict[int, list[int]] = {}
        self.batches: list[Batch] = []
        self._logits = logits
        self._failures = failures or {}
        self._rules = SequenceRules(rollback)

    def decode(self, batch: Batch) -> Logits:
        self.batches.append(batch)
        if len(self.batches) in self._failures:
            raise self._failures[len(self.batches)]
        self._rules.check(batch)
        self._rules.decoded(batch)
        rows = []
        for token, sequence, wanted in zip(batch.tokens, batch.sequences, batch.wanted, strict=True):
            held = self.held.setdefault(sequence, [])
            held.append(token)
            if wanted:
                rows.append(self._logits(held))
        return np.array(rows, np.float32).reshape(len(rows), len(PIECES))

    def hidden(self, tap: int) -> Logits:
        raise NotImplementedError

    def save(self, sequence: int) -> SavedState | None:
        return None if self.rollback is None else SavedState(self._rules.length(sequence), self.held[sequence].copy())

    def restore(self, sequence: int, state: SavedState) -> None:
        self._rules.restored(sequence, state.length)
        self.held[sequence] = state.data.copy()

    def remove(self, sequence: int, start: int = 0) -> None:
        self._rules.remove(sequence, start)
        held = self.held.pop(sequence, [])[:start]
        if held:
            self.held[sequence] = held

    def copy(self, source: int, destination: int) -> None:
        self._rules.copy(source, destination)
        self.held[destination] = list(self.held[source])

    def clear(self) -> None:
        self._rules.clear()
        self.held.clear()

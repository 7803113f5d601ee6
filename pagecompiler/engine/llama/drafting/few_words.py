"""A trimmed draft head behind the ids of its model: tokens go in by their mirror rows, logits come out in place."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pagecompiler.engine.base import ModelLoadError
from pagecompiler.engine.llama.library import Context
from pagecompiler.engine.llama.target import Batch, Logits, Rows, SavedState
from pagecompiler.engine.trimmed import Trimmed, read_trimmed


def trimmed_tables(path: Path) -> Trimmed | None:
    """The tables of a trimmed file; None for a file that has its whole vocabulary."""
    try:
        return read_trimmed(path)
    except ModelLoadError:
        return None


class FewWords:
    """A context of a trimmed head that takes and gives ids of the whole vocabulary.

    Words without a row are never guessed: their logits are minus infinity.
    """

    def __init__(self, context: Context, tables: Trimmed, *, outputs: int) -> None:
        self._context = context
        self._mirror = tables.mirror
        self._rows = tables.rows
        self._logits = np.full((outputs, len(tables.mirror)), -np.inf, np.float32)

    def decode(self, batch: Batch, hidden: Rows | None = None) -> Logits:
        """Evaluate the batch; a view that the next decode overwrites."""
        whole = batch.tokens
        batch.tokens = self._mirror[whole].tolist()
        try:
            found = self._context.decode(batch, hidden)
        finally:
            batch.tokens = whole
        logits = self._logits[: len(found)]
        logits[:, self._rows] = found
        return logits

    def hidden(self, tap: int) -> Rows:
        """The hidden rows of the last decode."""
        return self._context.hidden(tap)

    def save(self, sequence: int) -> SavedState | None:
        """What a cut could not bring back."""
        return self._context.save(sequence)

    def restore(self, sequence: int, state: SavedState) -> None:
        """Put a sequence back to where it was saved."""
        self._context.restore(sequence, state)

    def remove(self, sequence: int, start: int = 0) -> None:
        """Forget the tokens of a sequence from position `start` on."""
        self._context.remove(sequence, start)

    def copy(self, source: int, destination: int) -> None:
        """Make an empty sequence equal to another one."""
        self._context.copy(source, destination)

    def clear(self) -> None:
        """Forget all sequences."""
        self._context.clear()

    def close(self) -> None:
        """Free the context."""
        self._context.close()

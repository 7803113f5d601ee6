"""A trimmed draft head behind the ids of its model: tokens go in by their mirror rows, guesses come out as words."""

from __future__ import annotations

from pathlib import Path

from pagecompiler.engine.base import ModelLoadError
from pagecompiler.engine.llama.library import Context
from pagecompiler.engine.llama.target import Batch, Rows, SavedState
from pagecompiler.engine.trimmed import Trimmed, read_trimmed


def trimmed_tables(path: Path) -> Trimmed | None:
    """The tables of a trimmed file; None for a file that has its whole vocabulary."""
    try:
        return read_trimmed(path)
    except ModelLoadError:
        return None


class FewWords:
    """A context of a trimmed head that takes and gives ids of the whole vocabulary. Words without a row are never
    guessed."""

    def __init__(self, context: Context, tables: Trimmed) -> None:
        self._context = context
        self._mirror = tables.mirror
        self._rows = tables.rows

    def best(self, batch: Batch, hidden: Rows | None = None) -> list[int]:
        """Evaluate the batch; the likeliest word of those that have a row, for each wanted row."""
        whole = batch.tokens
        batch.tokens = self._mirror[whole].tolist()
        try:
            found = self._context.best(batch, hidden)
        finally:
            batch.tokens = whole
        words: list[int] = self._rows[found].tolist()
        return words

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

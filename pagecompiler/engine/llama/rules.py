"""Which operations on a sequence would silently corrupt it, known before they are made.

On a hybrid model a copy shares the source's *current* recurrent state, a cut only notes a rollback for the
next decode, and a cut of a shared cell moves all who share it. llama.cpp reports none of these. The rules are
the same for all architectures, so that what works on one works on the others.
"""

from __future__ import annotations

from pagecompiler.engine.llama.target import Batch


class MemoryRuleError(RuntimeError):
    """An operation that llama.cpp would carry out wrongly: a defect of the caller, not of the model."""


class SequenceRules:
    """Follows copies, cuts and decodes. `rollback` bounds a cut, in tokens; None: no bound."""

    def __init__(self, rollback: int | None) -> None:
        self._rollback = rollback
        self._length: dict[int, int] = {}
        self._last_rows: dict[int, int] = {}
        self._pending: set[int] = set()
        self._sharing: dict[int, set[int]] = {}

    def length(self, sequence: int) -> int:
        """The number of tokens in a sequence."""
        return self._length.get(sequence, 0)

    def copy(self, source: int, destination: int) -> None:
        """`destination` will be made equal to `source`."""
        self._settled(source, "copy from")
        if self.length(destination):
            raise MemoryRuleError(f"sequence {destination} must be empty before it becomes a copy")
        self._length[destination] = self.length(source)
        self._sharing[source] = self._sharing[destination] = {source, destination}

    def remove(self, sequence: int, start: int) -> None:
        """The tokens from `start` on will be removed; from 0 on is always allowed."""
        if start == 0:
            self._forget(sequence)
            return
        cut = self.length(sequence) - start
        if cut <= 0:
            return
        self._settled(sequence, "cut")
        if self._rollback is not None:
            bound = min(self._rollback, self._last_rows.get(sequence, 0) - 1)
            if cut > bound:
                raise MemoryRuleError(f"sequence {sequence}: cannot roll back {cut} tokens, at most {bound}")
            self._pending.add(sequence)
        self._length[sequence] = start

    def restored(self, sequence: int, length: int) -> None:
        """A saved state of `length` tokens was put back: nothing can be rolled back before the next decode."""
        self._length[sequence] = length
        self._last_rows.pop(sequence, None)
        self._pending.discard(sequence)
        self._leave(sequence)

    def check(self, batch: Batch) -> None:
        """The batch will be decoded; llama.cpp does not always refuse a gap in the positions."""
        for sequence, (position, _) in batch.spans.items():
            if position != self.length(sequence):
                raise MemoryRuleError(
                    f"sequence {sequence} has {self.length(sequence)} tokens, its rows begin at {position}"
                )

    def decoded(self, batch: Batch) -> None:
        """The batch was decoded: rollbacks are done, shared cells are their own now."""
        for sequence, (position, rows) in batch.spans.items():
            self._length[sequence] = position + rows
            self._last_rows[sequence] = rows
            if self._sharing:
                self._leave(sequence)
        self._pending.difference_update(batch.spans)

    def clear(self) -> None:
        """All sequences are gone."""
        for state in (self._length, self._last_rows, self._pending, self._sharing):
            state.clear()

    def _settled(self, sequence: int, action: str) -> None:
        if sequence in self._pending:
            raise MemoryRuleError(f"cannot {action} sequence {sequence}: its rollback is pending")
        if sequence in self._sharing:
            raise MemoryRuleError(f"cannot {action} sequence {sequence}: it shares its cell")

    def _forget(self, sequence: int) -> None:
        self._length.pop(sequence, None)
        self._last_rows.pop(sequence, None)
        self._pending.discard(sequence)
        self._leave(sequence)

    def _leave(self, sequence: int) -> None:
        group = self._sharing.pop(sequence, None)
        if group is None:
            return
        group.discard(sequence)
        if len(group) == 1:
            self._sharing.pop(group.pop())

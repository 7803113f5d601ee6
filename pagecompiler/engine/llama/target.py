"""What the scheduler asks of a model: rows in, logits out, and sequences that can be copied and cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pagecompiler.engine.base import DecodeError

Logits = npt.NDArray[np.float32]
Rows = npt.NDArray[np.float32]

NEXTN = -1
"""The tap of a hidden row that a multi-token-prediction block reads; other taps are numbers of inner layers."""


class LostStateError(DecodeError):
    """A failed decode left every sequence undefined: clear the memory, rebuild the keepers."""


@dataclass(frozen=True, slots=True)
class SavedState:
    """The part of a sequence that cannot be cut, as it was at `length` tokens."""

    length: int
    data: Any


class Batch:
    """The rows of one decode: prompt chunks, steps, guesses to verify and replays are all filled here.

    The rows of one sequence must be added together, so that they are adjacent.
    """

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.positions: list[int] = []
        self.sequences: list[int] = []
        self.wanted: list[bool] = []
        self.spans: dict[int, tuple[int, int]] = {}  # sequence → first position, rows
        self.starts: dict[int, int] = {}  # sequence → its first row
        self.outputs = 0

    def add(self, sequence: int, tokens: Sequence[int], position: int, *, wanted: int, padding: int = 0) -> slice:
        """Add `tokens` of `sequence`, the first one at `position`; logits are wanted for the last `wanted`
        rows. `padding` rows behind them fill the sequence up and are to be cut again.

        Returns where these logits will be in the result of the decode.
        """
        count = len(tokens) + padding
        self.starts[sequence] = len(self.tokens)
        self.tokens.extend(tokens)
        self.tokens.extend([tokens[-1]] * padding)
        self.positions.extend(range(position, position + count))
        self.sequences.extend([sequence] * count)
        self.wanted.extend([False] * (len(tokens) - wanted) + [True] * wanted + [False] * padding)
        self.spans[sequence] = (position, count)
        first = self.outputs
        self.outputs += wanted
        return slice(first, self.outputs)

    def __len__(self) -> int:
        return len(self.tokens)


class Target(Protocol):
    """A model with its memory of sequences.

    `rollback` is the most tokens of its last decode that can be cut from a sequence; None: any number.
    """

    @property
    def rollback(self) -> int | None: ...

    def hidden(self, tap: int) -> Rows:
        """The hidden rows of the last decode, one a row of its batch; valid until the next decode."""

    def save(self, sequence: int) -> SavedState | None:
        """What is needed to go back further than `rollback`; None where nothing is."""

    def restore(self, sequence: int, state: SavedState) -> None:
        """Put a sequence back to where it was saved, after a decode."""

    def decode(self, batch: Batch) -> Logits:
        """Evaluate the batch; one row of logits for each wanted row, valid until the next decode.

        Raises DecodeError; after a LostStateError nothing but `clear` is allowed.
        """

    def remove(self, sequence: int, start: int = 0) -> None:
        """Forget the tokens of a sequence from position `start` on."""

    def copy(self, source: int, destination: int) -> None:
        """Make an empty sequence equal to another one."""

    def clear(self) -> None:
        """Forget all sequences."""


class Vocabulary(Protocol):
    """What the scheduler must know of tokens."""

    @property
    def size(self) -> int:
        """The number of tokens."""

    def piece(self, token: int) -> bytes:
        """The bytes that a token writes; control tokens write nothing. May end within a character."""

    def token_text(self, token: int) -> str:
        """How the vocabulary itself writes a token, control tokens too."""

    def is_end(self, token: int) -> bool:
        """Whether the token ends an answer."""

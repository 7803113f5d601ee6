"""The story of each token of a traced request: who guessed it, and what else the model might have written."""

from __future__ import annotations

import numpy as np

from pagecompiler.engine.llama.drafting.base import Drafter, Guess
from pagecompiler.engine.llama.sampling import largest
from pagecompiler.engine.llama.target import Logits, Vocabulary
from pagecompiler.engine.types import Candidate, TracedToken

CANDIDATES = 5


class Trace:
    """Notes the tokens of one request; false while there is nothing to take.

    Probabilities are those of the model: the softmax of the whole row, before temperature, filters and the slot
    mask. So at a temperature, or inside a slot, the token that was written need not be the first candidate.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._noted: list[TracedToken] = []

    def __bool__(self) -> bool:
        return bool(self._noted)

    def note(self, row: Logits, token: int, guess: Guess, source: Drafter | None) -> None:
        """The target wrote `token` at a row; `guess` holds what `source` had guessed for it, or nothing."""
        weights = np.exp(row - row.max())
        total = weights.sum(dtype=np.float64)
        refused = guess[0] if guess and guess[0] != token else None
        self._noted.append(
            TracedToken(
                self._text(token),
                source=source.name if guess and source is not None else "",
                accepted=bool(guess) and refused is None,
                refused="" if refused is None else self._text(refused),
                refused_rank=0 if refused is None else _rank(row, refused),
                candidates=tuple(
                    Candidate(self._text(int(each)), float(weights[each] / total)) for each in largest(row, CANDIDATES)
                ),
            )
        )

    def take(self) -> tuple[TracedToken, ...]:
        """What was noted since the last call."""
        noted, self._noted = tuple(self._noted), []
        return noted

    def _text(self, token: int) -> str:
        """What a token writes; of one that writes nothing, as the end of an answer, its name."""
        return self._vocabulary.piece(token).decode("utf-8", "replace") or self._vocabulary.token_text(token)


def _rank(row: Logits, token: int) -> int:
    """The place of a token by its logit, from 1; of equals the first one comes first.

    >>> _rank(np.array([1.0, 3.0, 3.0], np.float32), 2)
    2
    """
    return 1 + int((row > row[token]).sum()) + int((row[:token] == row[token]).sum())

"""Whether a recurrent state can be rolled back here: tried once when a model is loaded, never assumed."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from pagecompiler.engine.base import DecodeError
from pagecompiler.engine.llama.target import Batch, Logits

TOLERANCE = 0.02
"""Of the range of the logits; another shape of batch rounds differently, a wrong state is far off."""


class Probed(Protocol):
    """A context with empty sequences."""

    @property
    def rollback(self) -> int | None: ...

    def decode(self, batch: Batch) -> Logits: ...

    def remove(self, sequence: int, start: int = 0) -> None: ...


def rollback_problem(context: Probed, tokens: tuple[int, ...], wanted: int) -> str:
    """What is wrong with rolling back `wanted` tokens, in a few words; empty when nothing is.

    `tokens` are any six tokens. Two tokens (one, if only one snapshot is kept) are decoded and rolled back, and
    what follows must have the logits of a sequence that never held them.
    """
    if context.rollback is None:
        return ""
    if context.rollback < wanted:
        return f"llama.cpp keeps {context.rollback} snapshots of the state instead of {wanted}"
    cut = min(2, wanted)
    kept, following = len(tokens) - 1, tokens[-1]
    try:
        _decode(context, tokens[:-1][: kept - 1], 0)
        _decode(context, tokens[kept - 1 : kept] + tokens[:cut], kept - 1)
        context.remove(0, kept)
        rolled = _decode(context, (following,), kept)
        context.remove(0)
        fresh = _decode(context, tokens, 0)
        context.remove(0)
    except DecodeError as error:
        return error.message
    if np.abs(rolled - fresh).max() > TOLERANCE * np.ptp(fresh):
        return "a rolled back state gives other logits"
    return ""


def _decode(context: Probed, tokens: tuple[int, ...], position: int) -> Logits:
    batch = Batch()
    batch.add(0, tokens, position, wanted=1)
    return context.decode(batch).copy()

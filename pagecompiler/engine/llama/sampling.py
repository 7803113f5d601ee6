"""Picking a token from one row of logits: numpy on whole rows."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from pagecompiler.engine.base import DecodeError
from pagecompiler.engine.llama.target import Logits
from pagecompiler.engine.types import Sampling

Ids = npt.NDArray[np.intp]
Probabilities = npt.NDArray[np.float64]

_FIRST_CANDIDATES = 256


class Sampler:
    """The sampler of one request. It draws one random number a token, from its own generator.

    So a request's answer depends on its seed and its logits, never on what other lanes do.
    """

    def __init__(self, sampling: Sampling) -> None:
        self._sampling = sampling
        self._random = np.random.default_rng(sampling.seed)

    def pick(self, row: Logits, allowed: Ids | None = None, best: int | None = None) -> int:
        """The next token: the arg-max at temperature 0 (the first one of equals), else a draw.

        `allowed`, ascending, restricts the choice. `best` is the row's arg-max where that is known already: all
        rows of a step are searched at once. Raises DecodeError when a logit is not finite.
        """
        if best is not None and allowed is None and self._sampling.temperature <= 0:
            if not math.isfinite(row[best]):  # the arg-max of a row with a NaN is the NaN
                raise _not_finite()
            return best
        if not np.isfinite(row).all():
            raise _not_finite()
        candidates = row if allowed is None else row[allowed]
        if self._sampling.temperature <= 0:
            index = int(candidates.argmax())
        else:
            kept, probabilities = distribution(candidates, self._sampling)
            cumulative = probabilities.cumsum()
            drawn = cumulative.searchsorted(self._random.random() * cumulative[-1], side="right")
            index = int(kept[min(int(drawn), len(kept) - 1)])
        return index if allowed is None else int(allowed[index])


def _not_finite() -> DecodeError:
    return DecodeError("the model returned logits that are not finite", hint="the model file may be damaged")


def distribution(row: Logits, sampling: Sampling) -> tuple[Ids, Probabilities]:
    """The tokens left by top-k, top-p and min-p, in this order, and their probabilities at the temperature.

    Probabilities sum to 1. Of tokens with equal logits the first ones are kept. At least one token is left.

    >>> ids, p = distribution(np.array([0.0, 2.0, 1.0], np.float32), Sampling(temperature=1.0, top_k=2))
    >>> ids.tolist(), p.round(2).tolist()
    ([1, 2], [0.73, 0.27])
    """
    logits = row.astype(np.float64)
    logits -= logits.max()
    kept: Ids = np.arange(len(logits))
    if 0 < sampling.top_k < len(kept):
        kept = largest(logits, sampling.top_k)
    if sampling.top_p < 1:
        kept = _nucleus(logits, kept, sampling.top_p)
    if sampling.min_p > 0:
        kept = kept[logits[kept] >= np.log(min(sampling.min_p, 1.0))]
    weights = np.exp(logits[kept] / sampling.temperature)
    return kept, weights / weights.sum()


def largest(logits: Logits | Probabilities, count: int) -> Ids:
    """The `count` largest, largest first, equals in order of their index."""
    if count >= len(logits):
        return np.argsort(-logits, kind="stable")
    bound = np.partition(logits, len(logits) - count)[len(logits) - count]
    above = np.flatnonzero(logits > bound)
    equal = np.flatnonzero(logits == bound)[: count - len(above)]
    found: Ids = np.concatenate([above, equal])
    return found[np.lexsort((found, -logits[found]))]


def _nucleus(logits: Probabilities, kept: Ids, top_p: float) -> Ids:
    """The fewest largest of `kept` that hold `top_p` of its probability."""
    mass = top_p * np.exp(logits[kept]).sum()
    count = _FIRST_CANDIDATES
    # A whole vocabulary is never sorted unless its distribution is nearly flat.
    while True:
        best = kept[largest(logits[kept], count)]
        cumulative = np.exp(logits[best]).cumsum()
        if cumulative[-1] >= mass or len(best) == len(kept):
            break
        count *= 8
    return best[: int(cumulative.searchsorted(mass)) + 1]

"""Batches of samples of about equal length, so that next to nothing is computed on padding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from training.shards import Shard

_GRAIN = 32  # rows are padded to a multiple of it: few shapes, so the kernels made for them are reused
_USUAL = 320


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of ids (rows, T), padded with 0; which of them belong to an answer (bool); how many are no padding."""

    ids: Tensor
    is_answer: Tensor
    tokens: int

    def to(self, device: str) -> Batch:
        """The same batch, its tensors on a device."""
        return Batch(self.ids.to(device), self.is_answer.to(device), self.tokens)


class Batches:
    """All shards, sorted into buckets by length; `draw` takes a batch from a random bucket.

    Samples of up to `_USUAL` tokens are seen equally often, longer ones less often: they are rare on pages and dear.
    While `limit` is set, samples longer than it are left out: short samples come first.
    """

    def __init__(self, shards: list[Shard], tokens: int, seed: int) -> None:
        """`tokens` is the size of a batch, padding included."""
        self._ids = np.concatenate([shard.ids for shard in shards])
        offsets = np.cumsum([0, *(len(shard.ids) for shard in shards)])
        parts = zip(shards, offsets[:-1], strict=True)
        bounds = [(shard.starts[:-1] + at, shard.starts[1:] + at, shard.answers + at) for shard, at in parts]
        self._starts, self._ends, self._answers = (np.concatenate(column) for column in zip(*bounds, strict=True))
        self._tokens = tokens
        self._random = np.random.default_rng(seed)
        lengths = self._ends - self._starts
        order = np.argsort(-(-lengths // _GRAIN), kind="stable")
        groups = -(-lengths[order] // _GRAIN)
        cuts = np.flatnonzero(np.diff(groups)) + 1
        self._buckets: list[np.ndarray] = np.split(order, cuts)
        self._lengths = np.array([-(-lengths[bucket].max() // _GRAIN) * _GRAIN for bucket in self._buckets])
        self._weights = np.array([lengths[bucket].sum() for bucket in self._buckets]) * np.minimum(
            1.0, (_USUAL / self._lengths) ** 0.5
        )
        self._queues: list[Iterator[int]] = [iter(()) for _ in self._buckets]

    def draw(self, limit: int | None = None) -> Batch:
        weights = self._weights * (self._lengths <= (limit or self._lengths[-1]))
        bucket = int(self._random.choice(len(self._buckets), p=weights / weights.sum()))
        rows = max(1, self._tokens // int(self._lengths[bucket]))
        return self._collate([self._next(bucket) for _ in range(rows)], int(self._lengths[bucket]))

    def _next(self, bucket: int) -> int:
        for sample in self._queues[bucket]:
            return sample
        self._queues[bucket] = iter(self._random.permutation(self._buckets[bucket]).tolist())
        return next(self._queues[bucket])

    def _collate(self, samples: list[int], longest: int) -> Batch:
        ids = np.zeros((len(samples), longest), dtype=np.int64)
        lengths, prompts = np.zeros((2, len(samples), 1), dtype=np.int64)
        for row, sample in enumerate(samples):
            start, end = self._starts[sample], self._ends[sample]
            ids[row, : end - start] = self._ids[start:end]
            lengths[row], prompts[row] = end - start, self._answers[sample] - start
        at = np.arange(longest)[None]
        is_answer = (at >= prompts) & (at < lengths)
        return Batch(torch.from_numpy(ids), torch.from_numpy(is_answer), int(lengths.sum()))

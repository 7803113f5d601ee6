"""Encoded samples in files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from training.corpus import Sample
from training.tokenizer import SampleEncoder


@dataclass(frozen=True, slots=True)
class Shard:
    """Encoded samples end to end: sample i is `ids[starts[i]:starts[i + 1]]`, its answer begins at `answers[i]`."""

    ids: np.ndarray
    starts: np.ndarray
    answers: np.ndarray

    def save(self, path: Path) -> None:
        np.savez(path, ids=self.ids, starts=self.starts, answers=self.answers)

    @staticmethod
    def load(path: Path) -> Shard:
        with np.load(path) as data:
            return Shard(data["ids"], data["starts"], data["answers"])


def encode_shard(tokenizer: Tokenizer, samples: Iterator[Sample], count: int, longest: int) -> Shard:
    """Encode `count` samples of at most `longest` tokens; longer ones are left out."""
    encoder = SampleEncoder(tokenizer)
    ids: list[np.ndarray] = []
    starts: list[int] = [0]
    answers: list[int] = []
    while len(answers) < count:
        sample = next(samples)
        prompt = encoder.prompt(sample.messages)
        row = prompt + encoder.answer(sample.answer)
        if len(row) > longest:
            continue
        ids.append(np.array(row, dtype=np.uint16))
        answers.append(starts[-1] + len(prompt))
        starts.append(starts[-1] + len(row))
    return Shard(np.concatenate(ids), np.array(starts, dtype=np.int64), np.array(answers, dtype=np.int64))


def seen_prompts(folder: Path) -> set[bytes]:
    """The encoded prompts of all samples in a folder that were not renumbered, as `prompt_key` gives them."""
    seen: set[bytes] = set()
    for path in folder.glob("shard-*.npz"):
        shard = Shard.load(path)
        seen.update(shard.ids[a:b].tobytes() for a, b in zip(shard.starts[:-1], shard.answers, strict=True))
    return seen


def prompt_key(ids: list[int]) -> bytes:
    """What a prompt is known by."""
    return np.array(ids, dtype=np.uint16).tobytes()

"""Training samples: random structures, their prompts as pagec writes them, and the reference engine's answers.

Held out from training is a fixed share of all descriptions, chosen by their hash, so a test never needs a list of
what was seen. Kinds with so few descriptions that all of them can be learnt are never held out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer

from pagecompiler.engine.reference import write
from pagecompiler.engine.types import Message
from pagecompiler.prompts import block_messages
from training.structures import StructureMaker
from training.tokenizer import SampleEncoder

SMALL_KINDS = frozenset({"style", "prose", "code", "figure"})
_HELD_OUT_OF_256 = 8


@dataclass(frozen=True, slots=True)
class Sample:
    """What the model is asked and what it shall answer; `slots` are the numbers of the block's slots."""

    kind: str
    messages: tuple[Message, ...]
    answer: str
    slots: frozenset[int]

    @property
    def description(self) -> str:
        return self.messages[-1].content

    @property
    def held_out(self) -> bool:
        return is_held_out(self.kind, self.description)


def is_held_out(kind: str, description: str) -> bool:
    """Whether a description is for tests only: one in 32, by its hash."""
    digest = hashlib.sha256(description.encode()).digest()
    return kind not in SMALL_KINDS and digest[0] < _HELD_OUT_OF_256


def generate(seed: int, *, held_out: bool = False) -> Iterator[Sample]:
    """Samples without end; equal seeds give equal samples. Small kinds are in both parts."""
    maker = StructureMaker(seed)
    while True:
        structure = maker.structure()
        description = structure.description
        if structure.kind not in SMALL_KINDS and is_held_out(structure.kind, description) != held_out:
            continue
        slots = frozenset(slot.number for slot in structure.slots)
        yield Sample(structure.kind, block_messages(structure), write(description), slots)


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
    starts, answers = [0], []
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

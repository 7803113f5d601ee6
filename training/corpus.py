"""Training samples: random structures, their prompts as pagec writes them, and the reference engine's answers.

Held out from training is a fixed share of all descriptions, chosen by their hash, so a test never needs a list of
what was seen. Kinds with so few descriptions that all of them can be learnt are never held out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from pagecompiler.engine.reference import write
from pagecompiler.engine.types import Message
from pagecompiler.prompts import block_messages
from pagecompiler.slots import Structure
from training.structures import StructureMaker

SMALL_KINDS = frozenset({"style", "prose", "code", "figure"})
_HELD_OUT_OF_256 = 8


@dataclass(frozen=True, slots=True)
class Sample:
    """A structure, what the model is asked for it, and what it shall answer."""

    structure: Structure
    messages: tuple[Message, ...]
    answer: str

    @property
    def description(self) -> str:
        return self.messages[-1].content


def is_held_out(kind: str, description: str) -> bool:
    """Whether a description is for tests only: one in 32, by its hash."""
    digest = hashlib.sha256(description.encode()).digest()
    return kind not in SMALL_KINDS and digest[0] < _HELD_OUT_OF_256


def generate(seed: int, *, held_out: bool = False) -> Iterator[Sample]:
    """Samples without end; equal seeds give equal samples. Small kinds are in both parts."""
    maker = StructureMaker(seed)
    while True:
        structure = maker.structure()
        small = structure.kind in SMALL_KINDS
        if small or is_held_out(structure.kind, structure.description) == held_out:
            yield Sample(structure, block_messages(structure), write(structure.description))

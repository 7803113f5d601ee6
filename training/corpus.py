"""Training samples: random structures, their prompts as pagec writes them, and the reference engine's answers.

Held out from training is a fixed share of all descriptions, chosen by their hash, so a test never needs a list of
what was seen. Kinds with so few descriptions that all of them can be learnt are trained on in whole.
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


def is_held_out(description: str) -> bool:
    """Whether a description is for tests: one in 32, by its hash."""
    return hashlib.sha256(description.encode()).digest()[0] < _HELD_OUT_OF_256


def generate(seed: int, *, held_out: bool = False) -> Iterator[Sample]:
    """Samples without end; equal seeds give equal samples. What is held out of small kinds is in both parts."""
    maker = StructureMaker(seed)
    while True:
        structure = maker.structure()
        for_tests = is_held_out(structure.description)
        if for_tests == held_out or (structure.kind in SMALL_KINDS and not held_out):
            yield Sample(structure, block_messages(structure), write(structure.description))

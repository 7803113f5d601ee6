"""Training samples: random structures, their prompts as pagec writes them, and the reference engine's answers.

Held out from training is a fixed share of all descriptions, chosen by their hash, so a test never needs a list of
what was seen. Kinds with so few descriptions that all of them can be learnt are trained on in whole.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pagecompiler.engine.reference import write
from pagecompiler.engine.types import Message
from pagecompiler.prompts import block_messages
from pagecompiler.slots import Structure
from training.structures import StructureMaker

WORK = Path(__file__).parent / "work"
"""The folder of everything that is made on the way to a model."""

SMALL_KINDS = frozenset({"style", "prose", "code", "figure"})
_HELD_OUT_OF_256 = 8
_SLOT = re.compile(r"\{\{(\d+)\}\}")


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


def renumbered(samples: Iterator[Sample], seed: int) -> Iterator[Sample]:
    """The same samples with other slot numbers: some skipped, and in every third sample in any order.

    Real numbers are consecutive, so a model can count instead of looking. Here it must find each slot in the
    description, and once it can find slots it also sees what stands beside them.
    """
    chance = random.Random(seed)
    for sample in samples:
        count = len(sample.structure.slots)
        numbers = chance.sample(range(1, 2 * count + 9), count)
        if chance.random() < 2 / 3:
            numbers.sort()
        names = {str(i): str(number) for i, number in enumerate(numbers, start=1)}
        yield replace(
            sample,
            messages=tuple(replace(m, content=_renumber(m.content, names)) for m in sample.messages),
            answer=_renumber(sample.answer, names),
        )


def _renumber(text: str, names: dict[str, str]) -> str:
    return _SLOT.sub(lambda match: f"{{{{{names[match[1]]}}}}}", text)

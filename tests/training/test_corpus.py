"""The training corpus: same seed, same samples; nothing held out is trained on; answers are whole."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

import pytest

from training.corpus import SMALL_KINDS, Sample, generate, is_held_out
from training.structures import KINDS, StructureMaker


def take(count: int, seed: int = 5, *, held_out: bool = False) -> Sequence[Sample]:
    return list(islice(generate(seed, held_out=held_out), count))


def test_equal_seeds_give_equal_samples() -> None:
    assert take(50) == take(50)
    assert take(50) != take(50, seed=6)


def test_the_parts_are_disjoint() -> None:
    train = {s.description for s in take(2000) if s.structure.kind not in SMALL_KINDS}
    held_out = {s.description for s in take(100, held_out=True) if s.structure.kind not in SMALL_KINDS}
    assert held_out
    assert not train & held_out


def test_a_fixed_share_is_held_out() -> None:
    maker = StructureMaker(1)
    structures = [maker.structure("pricing") for _ in range(2000)]
    share = sum(is_held_out(s.description) for s in structures) / len(structures)
    assert 0.02 < share < 0.05


@pytest.mark.parametrize("kind", KINDS)
def test_answers_place_every_slot_once(kind: str) -> None:
    samples = [s for s in take(600) if s.structure.kind == kind]
    assert samples
    for sample in samples:
        placed = [int(number) for number in re.findall(r"\{\{(\d+)\}\}", sample.answer)]
        assert sorted(placed) == [slot.number for slot in sample.structure.slots]


def test_prompts_hold_no_texts() -> None:
    sample = next(s for s in generate(3) if s.structure.kind == "pricing")
    values = {value for slot in sample.structure.slots for value in slot.values if len(value.split()) > 1}
    assert values
    assert not any(value in message.content for value in values for message in sample.messages)

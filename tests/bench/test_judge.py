"""When an arm is faster, and when nothing can be said."""

from __future__ import annotations

import pytest

from pagecompiler.bench.figures import Judgement
from pagecompiler.bench.judge import judge, noise_of


@pytest.mark.parametrize(
    ("ratios", "noise", "expected"),
    [
        ([1.2, 1.3, 1.25, 1.22, 0.99], 0.03, Judgement.FASTER),  # one round of five may be disturbed
        ([1.2, 1.3, 1.25, 0.9, 0.95], 0.03, Judgement.NOISE),
        ([0.8, 0.7, 0.9, 0.85, 0.8], 0.03, Judgement.SLOWER),
        ([1.02, 1.02, 1.02], 0.03, Judgement.NOISE),
        ([1.5], 0.03, Judgement.NONE),
        ([1.5, 1.5], None, Judgement.NONE),
    ],
)
def test_judgement(ratios: list[float], noise: float | None, expected: Judgement) -> None:
    assert judge(ratios, noise) is expected


def test_the_noise_leaves_out_one_round_of_five() -> None:
    pairs = [(100.0, 101.0), (100.0, 99.0), (100.0, 100.5), (100.0, 102.0), (100.0, 140.0)]
    assert noise_of(pairs) == pytest.approx(0.02)
    assert noise_of(pairs[:1]) is None

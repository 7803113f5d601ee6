"""Predictions from sizes, costs and acceptance."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pagecompiler.bench.arms import AUTO, PLAIN
from pagecompiler.bench.figures import Arm
from pagecompiler.bench.predict import PassCosts, predict

from .scripted import FIGURES, MACHINE

COSTS = PassCosts(plain=0.02, verify=0.03, draft=0.013, plain_rows=4.8, verify_rows=14.4)


def test_a_draft_pass_costs_what_its_bytes_and_layers_do() -> None:
    prediction = predict(Arm("draft", 2), (0.9, 0.8), COSTS, FIGURES, MACHINE, fixed_share=0.0)
    # Half of a plain pass is memory (1 MB at 100 MB/s), half is not; 0.6 of the bytes, 0.6 of the layers.
    assert prediction is not None and prediction.draft_cost == pytest.approx(0.6)
    assert prediction.step_ratio == pytest.approx(2.7 / (1.5 + 2 * 0.6)) == prediction.ratio
    assert prediction.measured_draft_cost == pytest.approx(0.65) and "size explains" not in prediction.words
    assert "14.4 rows instead of 4.8 costs 1.50" in prediction.words
    half_fixed = predict(Arm("draft", 2), (0.9, 0.8), COSTS, FIGURES, MACHINE, fixed_share=0.5)
    assert half_fixed is not None and half_fixed.ratio == pytest.approx(1 / (0.5 + 0.5 / half_fixed.step_ratio))


def test_a_loss_is_explained() -> None:
    prediction = predict(Arm("draft", 2), (0.86, 0.3), COSTS, FIGURES, MACHINE, fixed_share=0.0)
    assert prediction is not None and prediction.step_ratio < 1
    assert "It loses because guessing costs more than the approved guesses save" in prediction.words


def test_what_sizes_do_not_explain_is_said() -> None:
    slow = replace(COSTS, draft=0.04)
    prediction = predict(Arm("mtp", 2), (0.9, 0.8), slow, FIGURES, MACHINE, fixed_share=0.0)
    assert prediction is not None and prediction.draft_cost == pytest.approx(0.15)
    assert "a draft pass took 2.00 plain passes, more than its size explains" in prediction.words
    assert "That makes it 0.49. It loses because guessing costs more" in prediction.words


@pytest.mark.parametrize("arm", [PLAIN, AUTO, Arm("lookup", 2)])
def test_arms_whose_guesses_cost_no_pass_have_no_prediction(arm: Arm) -> None:
    assert predict(arm, (0.9,), COSTS, FIGURES, MACHINE, fixed_share=0.0) is None

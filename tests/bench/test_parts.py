"""The parts of a bench: arms, the edit, judgement, predictions, memory, servers' counters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pagecompiler.bench.arms import AUTO, PLAIN, choose_arms, decoding_of
from pagecompiler.bench.edit import longest_group, one_item_more
from pagecompiler.bench.figures import Arm, Judgement
from pagecompiler.bench.judge import judge, noise_of
from pagecompiler.bench.machine import describe_model, measure_bandwidth
from pagecompiler.bench.memory import forget_peak, peak_memory
from pagecompiler.bench.predict import PassCosts, predict
from pagecompiler.bench.served import ServedEngine
from pagecompiler.engine.openai.counters import GuessCounters
from pagecompiler.engine.scripted import ScriptedEngine
from pagecompiler.engine.types import Decoding, Message, Method, Request
from pagecompiler.models import resolve_model
from pagecompiler.spec import LoadedSpec
from tests.engine.tiny_models import write_llama

from .scripted import FIGURES, MACHINE


def test_the_embedded_model_has_every_arm() -> None:
    arms = choose_arms(resolve_model("pagec-mini", "test"), (), (1, 2), None)
    names = [arm.name for arm in arms.page]
    assert names == ["plain", "draft 1", "draft 2", "mtp 1", "mtp 2", "lookup 1", "lookup 2", "auto"]
    assert arms.draft is not None and arms.notes == ()


def test_what_a_model_cannot_do_is_left_out_and_said(tmp_path: Path) -> None:
    model = resolve_model(str(write_llama(tmp_path / "m.gguf")), "test")
    arms = choose_arms(model, (), (3,), None)
    assert [arm.name for arm in arms.page] == ["plain", "lookup 3", "auto"]
    assert len(arms.notes) == 2 and "--draft-model" in arms.notes[0]


def test_only_the_methods_that_were_asked_for() -> None:
    arms = choose_arms(resolve_model("pagec-mini", "test"), [Method.MTP], (2,), None)
    assert [arm.name for arm in arms.page] == ["plain", "mtp 2"] and arms.draft is None


def test_only_the_draft_arm_has_the_draft_model() -> None:
    draft = Path("small.gguf")
    assert decoding_of(Arm("draft", 2), Decoding(), draft).draft_model == draft
    for arm in (PLAIN, AUTO, Arm("mtp", 1), Arm("previous")):
        assert decoding_of(arm, Decoding(), draft).draft_model is None
    assert decoding_of(Arm("previous"), Decoding(), draft).previous
    assert not decoding_of(PLAIN, Decoding(), draft).previous


def test_the_edit_duplicates_an_item_in_the_middle(loaded: LoadedSpec) -> None:
    edit = one_item_more(loaded)
    assert edit is not None and edit.block == "why" and edit.items == 4
    titles = [item.title for item in edit.loaded.page.sections[0].items]  # type: ignore[union-attr]
    assert titles == ["One", "Two", "Two", "Three"]
    assert [item.title for item in loaded.page.sections[0].items] == ["One", "Two", "Three"]  # type: ignore[union-attr]
    assert longest_group(loaded) in ("top", "upper", "lower", "bottom")


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


def test_sizes_of_the_embedded_models() -> None:
    model = resolve_model("pagec-mini", "test")
    draft = resolve_model("pagec-mini-draft", "test").path
    assert model.path is not None and draft is not None
    figures = describe_model(model, draft)
    assert figures.file_bytes == model.path.stat().st_size
    assert 0 < figures.mtp_bytes + figures.mtp_head_bytes < figures.target_bytes < figures.file_bytes
    assert 0 < figures.draft_bytes < figures.target_bytes and figures.draft_name == "pagec-mini-draft"
    assert figures.layers > figures.draft_layers > 0


def test_bandwidth_is_that_of_copying() -> None:
    assert measure_bandwidth(2, size=1 << 20) > 0


def test_the_peak_begins_anew() -> None:
    if peak_memory() is None:
        pytest.skip("this system does not tell")
    size = 64 << 20
    block = np.ones(size, np.uint8)
    before = peak_memory()
    del block
    forget_peak()
    after = peak_memory()
    assert before is not None and after is not None and before - after > size // 2


def counting(*found: GuessCounters | None) -> Callable[[object], GuessCounters | None]:
    answers = iter(found)
    return lambda servers: next(answers)


def test_a_server_s_counters_are_taken_from_before_to_after() -> None:
    engine = ServedEngine(
        ScriptedEngine({"hero": "<p>x</p>"}),
        ["http://one"],
        counting(GuessCounters(10, 20, 15, (9, 6)), GuessCounters(14, 28, 21, (12, 9))),
    )
    engine.submit(Request((Message("user", "x"),), 9, "hero"))
    assert [event.completion.text for event in engine.events() if event.completion] == ["<p>x</p>"]
    stats = engine.stats()
    assert (stats.verify_passes, stats.drafted, stats.accepted, stats.accepted_by_position) == (4, 8, 6, (3, 3))


def test_a_server_without_counters_is_measured_all_the_same() -> None:
    engine = ServedEngine(ScriptedEngine({}), ["http://one"], counting(None))
    assert engine.stats().drafted == 0

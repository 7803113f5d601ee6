"""Which arms there are."""

from __future__ import annotations

from pathlib import Path

from pagecompiler.bench.arms import AUTO, PLAIN, choose_arms, decoding_of
from pagecompiler.bench.figures import Arm
from pagecompiler.engine.types import Decoding, Method
from pagecompiler.models import resolve_model
from tests.engine.tiny_models import write_llama


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

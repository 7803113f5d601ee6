"""The GGUF that comes with pagec: what it says about itself, and how it writes slots."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import pagecompiler
from pagecompiler.engine.gguf_header import read_metadata
from pagecompiler.engine.llama.library import Model
from pagecompiler.prompts import FORMAT

FOLDER = Path(pagecompiler.__file__).parent / "data" / "models"
PATH = FOLDER / "pagec-mini.gguf"
DRAFT_PATH = FOLDER / "pagec-mini-draft.gguf"
LARGEST_BYTES = 16_000_000


@pytest.fixture(scope="module")
def model() -> Iterator[Model]:
    model = Model(PATH)
    yield model
    model.close()


def test_the_header() -> None:
    metadata = read_metadata(PATH)
    assert PATH.stat().st_size <= LARGEST_BYTES
    assert metadata["general.architecture"] == "qwen35"
    assert metadata["general.name"] == "pagec-mini"
    assert metadata["pagec.format"] == FORMAT
    assert metadata["qwen35.nextn_predict_layers"] == 1


@pytest.mark.parametrize("path", [PATH, DRAFT_PATH], ids=lambda path: path.stem)
def test_every_rotary_pair_belongs_to_a_part(path: Path) -> None:
    """Interleaved M-RoPE: pair i belongs to part i mod 3. A pair beyond its part would not be rotated, silently."""
    metadata = read_metadata(path)
    sections, rotary = metadata["qwen35.rope.dimension_sections"], metadata["qwen35.rope.dimension_count"]
    assert isinstance(sections, tuple) and isinstance(rotary, int)
    assert all(pair // 3 < int(sections[pair % 3]) for pair in range(rotary // 2))


def test_slots_are_ordinary_tokens(model: Model) -> None:
    tokens = model.tokenize("{{137}}", parse_special=True)
    assert [model.piece(token) for token in tokens] == [b"{{", b"1", b"3", b"7", b"}}"]


def test_control_tokens(model: Model) -> None:
    assert len(model.tokenize("<|im_start|><|im_end|>", parse_special=True)) == 2
    assert len(model.tokenize("<|im_start|><|im_end|>", parse_special=False)) > 2
    assert model.is_end(model.tokenize("<|im_end|>", parse_special=True)[0])
    assert not model.adds_begin


@pytest.mark.parametrize("text", ["Straße, 東京 & \U0001f600", "a\tb\r\nc", "</script>{% raw %}"])
def test_every_text_comes_back(model: Model, text: str) -> None:
    tokens = model.tokenize(text, parse_special=False)
    assert b"".join(model.piece(token) for token in tokens).decode() == text


def test_the_draft_model_has_the_same_vocabulary(model: Model) -> None:
    metadata = read_metadata(DRAFT_PATH)
    assert metadata["general.name"] == "pagec-mini-draft"
    assert metadata["pagec.format"] == FORMAT
    draft = Model(DRAFT_PATH)
    try:
        assert draft.nextn_layers == 0
        assert draft.chat_template() == model.chat_template()
        assert [draft.token_text(i) for i in range(draft.size)] == [model.token_text(i) for i in range(model.size)]
    finally:
        draft.close()

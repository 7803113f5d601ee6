"""A trimmed head drafts: the text stays what plain decoding writes, and guesses are still accepted."""

from __future__ import annotations

from pathlib import Path

import pytest

from pagecompiler.engine.base import ModelLoadError
from pagecompiler.engine.llama.engine import LlamaEngine
from pagecompiler.engine.trimmed import find_trimmed, write_trimmed
from pagecompiler.engine.types import Completion, Decoding, Message, Method, Request


def complete(path: Path, decoding: Decoding) -> list[Completion]:
    found: dict[int, Completion] = {}
    with LlamaEngine(path, lanes=3, context_tokens=256, decoding=decoding) as engine:
        for text in ("one", "two", "three"):
            engine.submit(Request((Message("user", text),), max_tokens=48, label=text))
        for event in engine.events():
            if event.completion is not None:
                found[event.request] = event.completion
    return [found[number] for number in sorted(found)]


@pytest.mark.parametrize("step", [1, 2])
def test_the_text_is_that_of_plain_decoding(hybrid_path: Path, tmp_path: Path, step: int) -> None:
    rows = range(0, 272, step)
    write_trimmed(hybrid_path, tmp_path / "few.gguf", rows, "digest")
    plain = complete(hybrid_path, Decoding(method=Method.PLAIN))
    few = complete(hybrid_path, Decoding(method=Method.MTP, depth=2, draft_model=tmp_path / "few.gguf"))
    assert [completion.tokens for completion in few] == [completion.tokens for completion in plain]
    assert all(completion.drafted > 0 for completion in few)


def test_with_all_words_its_guesses_are_those_of_the_block(hybrid_path: Path, tmp_path: Path) -> None:
    write_trimmed(hybrid_path, tmp_path / "few.gguf", range(273), "digest")
    own = complete(hybrid_path, Decoding(method=Method.MTP, depth=2))
    few = complete(hybrid_path, Decoding(method=Method.MTP, depth=2, draft_model=tmp_path / "few.gguf"))
    assert [(c.drafted, c.accepted) for c in few] == [(c.drafted, c.accepted) for c in own]


def test_the_head_of_another_model_is_refused(hybrid_path: Path, models: dict[str, Path], tmp_path: Path) -> None:
    write_trimmed(hybrid_path, tmp_path / "few.gguf", range(64), "digest")
    with pytest.raises(ModelLoadError, match=r"rows of 128 for 273 tokens") as caught:
        complete(models["llama"], Decoding(method=Method.MTP, draft_model=tmp_path / "few.gguf"))
    assert "same model" in caught.value.hint


def test_a_head_beside_its_model_is_found_by_the_digest(hybrid_path: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.gguf"
    assert find_trimmed(model, "digest") is None
    write_trimmed(hybrid_path, tmp_path / "m.mtp-64.gguf", range(64), "digest")
    assert find_trimmed(model, "digest") == tmp_path / "m.mtp-64.gguf"
    assert find_trimmed(model, "another") is None

"""llama.cpp itself: tokens, sequences, errors, and passes over the weights."""

from __future__ import annotations

import re

import numpy as np
import pytest
from llama_cpp import llama_cpp_ext

from pagecompiler.engine.base import DecodeError, ModelLoadError
from pagecompiler.engine.llama.library import SUPPORTED_VERSION, Context, Model, native_support
from pagecompiler.engine.llama.native_log import LOG_DEBUG, native_log
from pagecompiler.engine.llama.rules import MemoryRuleError
from pagecompiler.engine.llama.support import native
from pagecompiler.engine.llama.target import NEXTN, Batch

from .tiny_models import CONTROL, TRAINED_CONTEXT, vocabulary

TOKENS = list(range(20, 60))


@pytest.fixture
def model(hybrid_path):
    model = Model(hybrid_path)
    yield model
    model.close()
    model.close()


@pytest.fixture
def context(model):
    context = make_context(model)
    yield context
    context.close()
    context.close()


def make_context(model, **changes) -> Context:
    settings = {"tokens": 1024, "sequences": 7, "rows": 256, "outputs": 256, "threads": 1}
    return Context(model, **(settings | changes))


def decode(context, sequence, tokens, position=0, wanted=1) -> np.ndarray:
    batch = Batch()
    batch.add(sequence, tokens, position, wanted=wanted)
    return context.decode(batch).copy()


def test_what_the_library_offers():
    support = native_support()
    assert support.version == SUPPORTED_VERSION
    assert support.nextn
    assert "CPU" in support.system


def test_another_version_is_refused(hybrid_path, monkeypatch):
    monkeypatch.setattr("llama_cpp.__version__", "0.3.37")
    with pytest.raises(ModelLoadError, match=r"0\.3\.37") as caught:
        Model(hybrid_path)
    assert SUPPORTED_VERSION in caught.value.hint


def test_what_a_model_tells(model):
    tokens, _ = vocabulary()
    assert model.size == len(tokens)
    assert model.trained_context == TRAINED_CONTEXT
    assert model.recurrent
    assert model.metadata("general.architecture") == "qwen35"
    assert model.metadata("no.such.key") is None
    assert model.token_text(model.end_token) == "<|im_end|>"
    assert model.is_end(tokens.index("<|im_end|>"))
    assert not model.is_end(tokens.index("{{"))


def test_the_mtp_block_is_an_option(hybrid_path):
    with_block = Model(hybrid_path, load_mtp=True)
    assert with_block.nextn_layers == 1
    with_block.close()


def test_special_text_is_parsed_only_on_request(model):
    tokens, _ = vocabulary()
    end = tokens.index("<|im_end|>")
    assert model.tokenize("a<|im_end|>", parse_special=True)[-1] == end
    plain = model.tokenize("a<|im_end|>", parse_special=False)
    assert not {tokens.index(control) for control in CONTROL} & set(plain)
    assert b"".join(map(model.piece, plain)) == b"a<|im_end|>"
    assert model.piece(end) == b""


@pytest.mark.parametrize("text", ["", "{{1}}</p>", "é 漢字 🙂", "a" * 500, "{{12}}"])
def test_tokens_write_their_text(model, text):
    assert b"".join(map(model.piece, model.tokenize(text, parse_special=False))).decode() == text


def test_a_file_that_is_no_model(tmp_path, hybrid_path):
    path = tmp_path / "cut.gguf"
    path.write_bytes(hybrid_path.read_bytes()[:-1000])
    with pytest.raises(ModelLoadError, match="cannot load") as caught:
        Model(path)
    assert "tensor" in caught.value.native_log
    with pytest.raises(ModelLoadError, match="cannot read"):
        Model(tmp_path / "missing.gguf")


def test_a_copy_of_a_keeper_goes_on_like_a_fresh_prefill(context):
    decode(context, 5, TOKENS[:20], wanted=0)
    context.copy(5, 0)
    first = decode(context, 0, TOKENS[20:], position=20)
    decode(context, 0, TOKENS[:9], position=40)
    context.copy(5, 1)
    again = decode(context, 1, TOKENS[20:], position=20)
    context.clear()
    fresh = decode(context, 0, TOKENS)
    assert np.array_equal(first, again)
    assert np.abs(first - fresh).max() < 1e-3 * np.ptp(fresh)
    assert context.memory.last_position(0) == len(TOKENS) - 1
    assert context.memory.last_position(1) == -1


def test_a_rollback_gives_the_logits_of_what_is_left(model):
    context = make_context(model, rollback=3)
    assert context.rollback == 3
    decode(context, 0, TOKENS[:30])
    decode(context, 0, TOKENS[30:34], position=30)
    context.remove(0, 32)
    with pytest.raises(MemoryRuleError):
        context.copy(0, 1)
    rolled = decode(context, 0, TOKENS[34:35], position=32)
    context.remove(0)
    fresh = decode(context, 0, [*TOKENS[:32], TOKENS[34]])
    assert np.abs(rolled - fresh).max() < 1e-3 * np.ptp(fresh)
    context.close()


def test_the_last_layer_is_computed_for_all_rows_only_where_they_are_read(model, monkeypatch):
    asked = []
    monkeypatch.setattr(
        llama_cpp_ext, "llama_set_embeddings_nextn", lambda _, kept, masked: asked.append((kept, masked))
    )
    make_context(model).close()
    make_context(model, taps=(NEXTN,)).close()
    make_context(model, taps=(0,)).close()
    assert asked == [(False, True), (True, False)]


def test_what_is_not_computed_changes_nothing(model_path):
    model = Model(model_path)
    found = []
    for masked in (True, False):
        context = make_context(model)
        context._set_nextn(False, masked=masked)
        decode(context, 0, TOKENS[:30], wanted=0)
        found.append(decode(context, 0, TOKENS[30:], position=30))
        context.close()
    model.close()
    np.testing.assert_allclose(*found, atol=0.02)


def test_a_row_says_the_same_whatever_others_are_wanted(model_path):
    model = Model(model_path)
    alone, all_rows, late = make_context(model), make_context(model), make_context(model)
    last = decode(alone, 0, TOKENS)[-1]
    decode(late, 0, TOKENS[:30], wanted=0)
    np.testing.assert_allclose(decode(all_rows, 0, TOKENS, wanted=len(TOKENS))[-1], last, atol=0.02)
    np.testing.assert_allclose(decode(late, 0, TOKENS[30:], position=30)[-1], last, atol=0.02)
    for context in (alone, all_rows, late):
        context.close()
    model.close()


def test_forbidden_operations_raise_before_they_do_harm(context):
    decode(context, 0, TOKENS)
    with pytest.raises(MemoryRuleError, match="roll back"):
        context.remove(0, 30)
    context.copy(0, 1)
    with pytest.raises(MemoryRuleError, match="shares"):
        context.copy(0, 2)
    with pytest.raises(MemoryRuleError, match="begin at"):
        decode(context, 0, TOKENS, position=99)


def test_a_full_context_changes_nothing(model):
    context = make_context(model, tokens=256)
    decode(context, 0, TOKENS * 6)
    with pytest.raises(DecodeError, match="no room"):
        decode(context, 1, TOKENS)
    context.remove(0)
    decode(context, 1, TOKENS)
    context.close()


def test_a_refused_batch_changes_nothing(context):
    with pytest.raises(DecodeError, match="refused") as caught:
        decode(context, 0, [10**6])
    assert "invalid token" in caught.value.native_log
    with pytest.raises(ValueError, match="room for"):
        decode(context, 0, TOKENS * 10)
    decode(context, 0, TOKENS)


def test_five_lanes_are_one_pass_over_the_weights(model, monkeypatch):
    monkeypatch.setenv("LLAMA_BATCH_DEBUG", "1")
    monkeypatch.setattr(native_log, "level", LOG_DEBUG)
    context = make_context(model)
    for sequence in range(5):
        decode(context, sequence, TOKENS[sequence:])
    for lanes in ([0, 1, 2, 3, 4], [0, 1, 3, 4], [4, 2]):
        batch = Batch()
        for sequence in lanes:
            batch.add(sequence, [30 + sequence], context.memory.rules.length(sequence), wanted=1)
        native_log.lines.clear()
        context.decode(batch)
        assert ubatch_sizes() == [len(lanes)]
    context.close()


def ubatch_sizes() -> list[int]:
    """The rows of each pass that llama.cpp has reported."""
    return [int(size) for size in re.findall(r"added ubatch.*?n_tokens\s*=\s*(\d+)", native_log.text(), re.DOTALL)]


def test_threads_are_those_of_the_caller_or_fit_the_size_of_the_model(model):
    assert model.parameters < 1_000_000
    for wanted, threads in ((3, 3), (None, 1)):
        context = make_context(model, threads=wanted)
        assert native.llama_n_threads(context._pointer) == native.llama_n_threads_batch(context._pointer) == threads
        context.close()

"""How a model is laid onto the machine: what goes together, and how many threads there are to give."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pagecompiler.engine import hardware
from pagecompiler.engine.base import ModelLoadError, OutOfMemoryError
from pagecompiler.engine.hardware import (
    KV_TYPES,
    FlashAttention,
    Hardware,
    SplitMode,
    model_threads,
    parse_kv_types,
    usable_threads,
)
from pagecompiler.engine.llama.engine import LlamaEngine
from pagecompiler.engine.types import Decoding, Message, Method, Request

from .tiny_models import write_llama


def write(path: Path, model: Hardware) -> str:
    """What a model writes first, with its block drafting."""
    decoding = Decoding(method=Method.MTP, hardware=model)
    with LlamaEngine(path, lanes=2, context_tokens=256, decoding=decoding) as engine:
        engine.submit(Request((Message("user", "a"),), max_tokens=12, label="a"))
        (ended,) = [event.completion for event in engine.events() if event.completion]
    assert ended.error is None
    return ended.text


@pytest.mark.parametrize("name", KV_TYPES)
def test_every_format_of_the_cache_runs(hybrid_path: Path, name: str) -> None:
    assert write(hybrid_path, Hardware(kv_k=name, kv_v=name))


@pytest.mark.parametrize("attention", FlashAttention)
@pytest.mark.parametrize("mode", SplitMode)
def test_every_attention_and_every_split_runs(hybrid_path: Path, attention: FlashAttention, mode: SplitMode) -> None:
    assert write(hybrid_path, Hardware(threads=1, split_mode=mode, flash_attention=attention, ubatch=32))


def test_quantised_values_need_flash_attention() -> None:
    with pytest.raises(ValueError, match="without flash attention the values of the KV cache cannot be q8_0"):
        Hardware(kv_v="q8_0", flash_attention=FlashAttention.OFF)
    assert Hardware(kv_k="q8_0", flash_attention=FlashAttention.OFF).kv_types[0].name == "Q8_0"


def test_heads_that_are_too_small_for_a_format_are_no_lack_of_memory(tmp_path: Path) -> None:
    model = write_llama(tmp_path / "m.gguf")
    with pytest.raises(ModelLoadError, match=r"cannot be q8_0: .* 32 .* a head of this model has 16") as caught:
        LlamaEngine(model, context_tokens=256, decoding=Decoding(Method.PLAIN, hardware=Hardware(kv_k="q8_0")))
    assert not isinstance(caught.value, OutOfMemoryError) and "--kv-type" in caught.value.hint


def test_names_of_formats() -> None:
    assert parse_kv_types("Q8_0, f16") == ("q8_0", "f16")
    for text in ("", "q3", "f16,", "f16,f16,f16"):
        with pytest.raises(ValueError, match="no format of the KV cache"):
            parse_kv_types(text)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four CPUs, two to a core."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2, 3}, raising=False)
    monkeypatch.setattr(hardware, "_CPUS", tmp_path)
    monkeypatch.setattr(hardware, "_CPU_LIMIT", tmp_path / "cpu.max")
    for cpu in range(4):
        (tmp_path / f"cpu{cpu}" / "topology").mkdir(parents=True)
        (tmp_path / f"cpu{cpu}" / "topology" / "thread_siblings_list").write_text("0-1\n" if cpu < 2 else "2-3\n")
    return tmp_path


@pytest.mark.parametrize(
    ("limit", "threads"), [(None, 2), ("max 100000", 2), ("50000 100000", 1), ("150000 100000", 2)]
)
def test_threads_are_cores_within_the_limit_of_a_container(machine: Path, limit: str | None, threads: int) -> None:
    if limit is not None:
        (machine / "cpu.max").write_text(limit + "\n")
    assert usable_threads() == threads


def test_where_nothing_is_said_of_cores_every_cpu_is_one(machine: Path) -> None:
    for cpu in range(4):
        (machine / f"cpu{cpu}" / "topology" / "thread_siblings_list").unlink()
    assert usable_threads() == 4


def test_a_small_model_runs_on_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pagecompiler.engine.hardware.usable_threads", lambda: 8)
    assert [model_threads(size) for size in (600_000, 3_600_000, 135_000_000, 9_000_000_000)] == [1, 1, 8, 8]

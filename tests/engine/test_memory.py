"""The memory formula against what llama.cpp reports, on small files and on the shape of Qwen3.5-9B without data."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks.synthetic_model import QWEN35_9B, SMALL, write_model
from pagecompiler.engine.hardware import DEFAULT_HARDWARE, FlashAttention, Hardware
from pagecompiler.engine.llama import native_log as log
from pagecompiler.engine.llama.library import Context, Model
from pagecompiler.engine.llama.target import NEXTN
from pagecompiler.engine.memory import MIB, Load, device_need, memory_need, token_bytes
from pagecompiler.engine.shape import HEAD, MTP_BLOCK, Shape, read_shape

QUANTISED = Hardware(kv_k="q8_0", kv_v="q4_0")
UNFUSED = Hardware(flash_attention=FlashAttention.OFF)

LOADS = [
    Load(lanes=5, depth=0, context=1024, chunk=128, outputs=67, mtp=False),
    Load(lanes=5, depth=3, context=1024, chunk=128, outputs=20, mtp=True),
    Load(lanes=1, depth=1, context=4096, chunk=512, outputs=67, mtp=True),
    Load(lanes=5, depth=2, context=2048, chunk=256, outputs=15, mtp=True, kv=QUANTISED.kv_types),
    Load(lanes=5, depth=1, context=2048, chunk=128, outputs=10, mtp=True, fused=False),
]


@pytest.fixture(scope="module")
def qwen_9b(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The header of Qwen3.5-9B over holes: it takes no space on the disk."""
    return write_model(tmp_path_factory.mktemp("shape") / "9b.gguf", QWEN35_9B, data=False)


@contextmanager
def reported() -> Iterator[dict[str, float]]:
    """What llama.cpp says in the block, in MiB, summed up by kind."""
    sizes: dict[str, float] = {}
    level, lines = log.native_log.level, log.native_log.lines
    log.native_log.level, log.native_log.lines = 2, deque(maxlen=10_000)
    try:
        yield sizes
        text = log.native_log.text()
        for kind in ("model", "output", "KV", "RS", "compute"):
            sizes[kind] = sum(float(size) for size in re.findall(rf"{kind} buffer size = +([\d.]+) MiB", text))
    finally:
        log.native_log.level, log.native_log.lines = level, lines


def contexts(model: Model, load: Load) -> None:
    hardware = UNFUSED if not load.fused else QUANTISED if load.kv == QUANTISED.kv_types else DEFAULT_HARDWARE
    kind = {
        "tokens": load.tokens, "sequences": load.sequences, "rows": max(load.chunk, load.outputs), "hardware": hardware
    }  # fmt: skip
    taps = (NEXTN,) if load.mtp else ()
    Context(model, **kind, outputs=load.outputs, threads=1, rollback=load.depth, taps=taps).close()
    if load.mtp:
        Context(model, **kind, outputs=load.outputs, threads=1, mtp=True).close()


@pytest.mark.parametrize("load", LOADS)
def test_the_formula_holds_on_a_small_model(hybrid_path: Path, load: Load) -> None:
    shape = read_shape(hybrid_path)
    with reported() as sizes:
        model = Model(hybrid_path, load_mtp=load.mtp)
        contexts(model, load)
        model.close()
    need = memory_need(shape, load)
    assert need.cache / MIB == pytest.approx(sizes["KV"], abs=0.02)
    assert need.states / MIB == pytest.approx(sizes["RS"], abs=0.02)
    assert sizes["model"] <= need.weights / MIB + 0.02
    assert sizes["compute"] <= need.working / MIB < 2 * sizes["compute"] + 1
    assert sizes["output"] <= need.output / MIB


@pytest.mark.parametrize("load", LOADS)
def test_the_formula_holds_for_the_shape_of_qwen35_9b(qwen_9b: Path, load: Load) -> None:
    shape = read_shape(qwen_9b)
    with reported() as sizes:
        model = Model(qwen_9b, load_mtp=load.mtp, measure_only=True)
        contexts(model, load)
        model.close()
    need = memory_need(shape, load)
    assert need.states / MIB == pytest.approx(sizes["RS"], abs=0.02)
    assert sizes["compute"] <= need.working / MIB < 2 * sizes["compute"]


def test_the_shape_of_qwen35_9b(qwen_9b: Path) -> None:
    shape = read_shape(qwen_9b)
    assert (shape.attention_layers, shape.recurrent_layers, shape.mtp_layers) == (8, 24, 1)
    assert shape.state_bytes == 50.25 * MIB
    load = LOADS[0]
    assert (token_bytes(shape.kv_numbers, load), token_bytes(shape.mtp_kv_numbers, load)) == (32 * 1024, 4 * 1024)
    head, block = shape.part(HEAD), shape.part(MTP_BLOCK)
    assert head is not None and head.types == (("Q6_K", 834_355_200),)
    assert block is not None and {name for name, _ in block.types} == {"Q4_K", "Q6_K", "F32"}
    assert (shape.vocabulary, shape.trained_context, shape.missing_bytes) == (248_320, 262_144, 0)


@pytest.mark.parametrize(("depth", "sequences", "mebibytes"), [(0, 5, 251), (2, 5, 754), (4, 6, 1508), (16, 5, 4271)])
def test_snapshots_cost_what_was_published(qwen_9b: Path, depth: int, sequences: int, mebibytes: int) -> None:
    load = Load(lanes=sequences - 2, depth=depth, context=256, chunk=1, outputs=1, mtp=False)
    assert round(memory_need(read_shape(qwen_9b), load).states / MIB) == mebibytes


def test_a_file_without_a_block_and_without_states(models: dict[str, Path]) -> None:
    shape: Shape = read_shape(models["llama"])
    assert (shape.architecture, shape.attention_layers, shape.recurrent_layers, shape.mtp_layers) == ("llama", 2, 0, 0)
    assert (token_bytes(shape.kv_numbers, LOADS[0]), shape.state_bytes) == (2 * 2 * 16 * 2 * 2, 0)
    assert shape.has_template and not shape.thinking


def test_fewer_layers_need_less_of_a_device(tmp_path: Path) -> None:
    shape = read_shape(write_model(tmp_path / "small.gguf", SMALL, data=False))
    load = Load(lanes=5, depth=1, context=1024, chunk=512, outputs=67, mtp=True)
    needs = [device_need(shape, load, layers) for layers in range(shape.layers + 1)]
    assert needs == sorted(needs) and needs[0] == 0
    assert needs[-1] < memory_need(shape, load).total

"""Models of the Qwen3.5 architecture with random weights: costs are real, texts are not.

`python -m benchmarks.synthetic_model 9b FILE` writes 5.6 GB of the shape of Qwen3.5-9B in formats as Q4_K_M has
them. There is no tokenizer in it: token ids go in and come out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pagecompiler.engine.ggml_types import TYPES
from pagecompiler.engine.gguf_writer import NewTensor, pair, write_gguf

F32, Q8_0, Q4_K, Q6_K = 0, 8, 12, 14
_PIECE_BLOCKS = 4096


@dataclass(frozen=True, slots=True)
class Dimensions:
    """Of a model; every fourth layer has attention. `groups` and `state_heads` are heads of `state` numbers."""

    layers: int
    width: int
    inner: int
    heads: int
    kv_heads: int
    head: int
    groups: int
    state_heads: int
    state: int
    vocabulary: int


QWEN35_9B = Dimensions(32, 4096, 12288, 16, 4, 256, 16, 32, 128, 248_320)
SMALL = Dimensions(8, 512, 1536, 4, 2, 256, 4, 8, 64, 32_768)


def write_model(path: Path, size: Dimensions, *, data: bool = True, seed: int = 1) -> Path:
    """Write the file; without `data` it has holes where the weights would be."""
    random = np.random.default_rng(seed)
    tensors = [
        NewTensor(name, shape, kind, (lambda n=name, s=shape, k=kind: _pieces(n, s, k, random)) if data else None)
        for name, shape, kind in _tensors(size)
    ]
    write_gguf(path, _pairs(size), tensors)
    return path


def _pairs(size: Dimensions) -> list[bytes]:
    rotary = size.head // 4
    pairs: dict[str, str | int | float | list[int]] = {
        "general.architecture": "qwen35",
        "general.name": "synthetic",
        "tokenizer.ggml.model": "none",
        "qwen35.vocab_size": size.vocabulary,
        "qwen35.block_count": size.layers + 1,
        "qwen35.context_length": 262_144,
        "qwen35.embedding_length": size.width,
        "qwen35.feed_forward_length": size.inner,
        "qwen35.attention.head_count": size.heads,
        "qwen35.attention.head_count_kv": size.kv_heads,
        "qwen35.attention.key_length": size.head,
        "qwen35.attention.value_length": size.head,
        "qwen35.attention.layer_norm_rms_epsilon": 1e-6,
        "qwen35.rope.freq_base": 1e7,
        "qwen35.rope.dimension_count": rotary,
        "qwen35.rope.dimension_sections": [*(len(range(part, rotary // 2, 3)) for part in range(3)), 0],
        "qwen35.ssm.conv_kernel": 4,
        "qwen35.ssm.inner_size": size.state_heads * size.state,
        "qwen35.ssm.state_size": size.state,
        "qwen35.ssm.time_step_rank": size.state_heads,
        "qwen35.ssm.group_count": size.groups,
        "qwen35.full_attention_interval": 4,
        "qwen35.nextn_predict_layers": 1,
    }
    return [pair(key, value) for key, value in pairs.items()]


def _tensors(size: Dimensions) -> Iterator[tuple[str, tuple[int, ...], int]]:
    """Names, shapes and formats; half of the layers have finer formats where Q4_K_M has them."""
    width, inner = size.width, size.inner
    value = size.state_heads * size.state
    mixed = value + 2 * size.groups * size.state
    yield "token_embd.weight", (width, size.vocabulary), Q4_K
    yield "output_norm.weight", (width,), F32
    yield "output.weight", (width, size.vocabulary), Q6_K
    for layer in range(size.layers + 1):
        block = f"blk.{layer}."
        fine = Q6_K if layer % 2 == 0 else Q4_K
        yield block + "attn_norm.weight", (width,), F32
        yield block + "post_attention_norm.weight", (width,), F32
        if layer == size.layers or layer % 4 == 3:
            yield block + "attn_q.weight", (width, 2 * size.heads * size.head), Q4_K
            yield block + "attn_k.weight", (width, size.kv_heads * size.head), Q4_K
            yield block + "attn_v.weight", (width, size.kv_heads * size.head), fine
            yield block + "attn_output.weight", (size.heads * size.head, width), Q4_K
            yield block + "attn_q_norm.weight", (size.head,), F32
            yield block + "attn_k_norm.weight", (size.head,), F32
        else:
            yield block + "attn_qkv.weight", (width, mixed), Q4_K
            yield block + "attn_gate.weight", (width, value), Q4_K
            yield block + "ssm_conv1d.weight", (4, mixed), F32
            yield block + "ssm_dt.bias", (size.state_heads,), F32
            yield block + "ssm_a", (size.state_heads,), F32
            yield block + "ssm_beta.weight", (width, size.state_heads), Q8_0
            yield block + "ssm_alpha.weight", (width, size.state_heads), Q8_0
            yield block + "ssm_norm.weight", (size.state,), F32
            yield block + "ssm_out.weight", (value, width), Q4_K
        yield block + "ffn_gate.weight", (width, inner), Q4_K
        yield block + "ffn_up.weight", (width, inner), Q4_K
        yield block + "ffn_down.weight", (inner, width), fine
    block = f"blk.{size.layers}.nextn."
    yield block + "eh_proj.weight", (2 * width, width), Q4_K
    for name in ("enorm", "hnorm", "shared_head_norm"):
        yield f"{block}{name}.weight", (width,), F32


def _pieces(name: str, shape: tuple[int, ...], kind: int, random: np.random.Generator) -> Iterator[bytes]:
    rows = int(np.prod(shape[1:], dtype=np.int64))
    if kind == F32:
        values = np.ones((rows, shape[0]), np.float32)
        if name.endswith("ssm_a"):
            values *= -1
        elif not name.endswith("norm.weight"):
            values = random.normal(0, 0.3, (rows, shape[0])).astype(np.float32)
        yield values.tobytes()
        return
    blocks = rows * shape[0] // TYPES[kind].block
    piece = _blocks(kind, min(blocks, _PIECE_BLOCKS), shape[0], random).tobytes()
    size = TYPES[kind].size
    for start in range(0, blocks, _PIECE_BLOCKS):
        yield piece[: min(_PIECE_BLOCKS, blocks - start) * size]


def _blocks(kind: int, count: int, row: int, random: np.random.Generator) -> np.ndarray:
    """Random blocks; their scales keep a product with a row of ones near one."""
    data = random.integers(0, 256, (count, TYPES[kind].size), dtype=np.uint8)
    spread = row**-0.5
    if kind == Q8_0:
        data[:, :2] = _half(spread / 74)
    elif kind == Q6_K:
        data[:, -2:] = _half(spread / (18 * 74))
    elif kind == Q4_K:
        # Six-bit scales and minima of 32 each: (q - 7.5) * scale.
        data[:, :2], data[:, 2:4] = _half(spread / (4.6 * 32)), _half(7.5 * spread / (4.6 * 32))
        data[:, 4:12] = 32
        data[:, 12:16] = 0
        data[:, 4:12] |= 2 << 6
    return data


def _half(value: float) -> np.ndarray:
    return np.frombuffer(np.float16(value).tobytes(), np.uint8)


def main() -> None:
    """Write a model as the command line says."""
    sizes = {"9b": QWEN35_9B, "small": SMALL}
    if len(sys.argv) != 3 or sys.argv[1] not in sizes:
        sys.exit(f"usage: python -m benchmarks.synthetic_model {'|'.join(sizes)} FILE")
    path = write_model(Path(sys.argv[2]), sizes[sys.argv[1]])
    print(f"{path}: {path.stat().st_size / 1e9:.2f} GB")


if __name__ == "__main__":
    main()

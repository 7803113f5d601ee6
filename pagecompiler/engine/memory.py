"""What a model takes in memory with so many lanes, so deep a guess and so long a context: the formula.

Weights, caches and states are exact; the working memory of a pass is an upper bound that was held against what
llama.cpp reports for small models and for the shape of Qwen3.5-9B.
"""

from __future__ import annotations

from dataclasses import dataclass

from pagecompiler.engine.ggml_types import TensorType
from pagecompiler.engine.hardware import DEFAULT_HARDWARE
from pagecompiler.engine.shape import EMBEDDING, MTP_BLOCK, Shape

KEEPER_SEQUENCES = 2
"""Sequences besides the lanes: they hold what prompts have in common."""

MIB = 1 << 20
_CELLS = 256  # llama.cpp rounds a context up to a multiple of this
_F16, _F32 = 2, 4


@dataclass(frozen=True, slots=True)
class Load:
    """How a model is used. `context` is the room of one lane in tokens, `kept` that of what prompts share (0: as a
    lane), `chunk` the most rows of a pass, `outputs` the most rows with logits; `mtp` means that its MTP block drafts;
    `kv` are the formats of keys and of values in the cache, `fused` that attention is computed in one kernel, without a
    table of all pairs."""

    lanes: int
    depth: int
    context: int
    chunk: int
    outputs: int
    mtp: bool
    kv: tuple[TensorType, TensorType] = DEFAULT_HARDWARE.kv_types
    fused: bool = True
    kept: int = 0

    @property
    def sequences(self) -> int:
        """Lanes and keepers."""
        return self.lanes + KEEPER_SEQUENCES

    @property
    def tokens(self) -> int:
        """The cells of the cache; guesses reach over the end of an answer."""
        wanted = self.lanes * (self.context + self.depth) + (self.kept or self.context)
        return -(-wanted // _CELLS) * _CELLS


@dataclass(frozen=True, slots=True)
class Need:
    """Bytes. `output` is always in the memory of the host, the rest where the layers are."""

    weights: int
    cache: int
    states: int
    working: int
    output: int

    @property
    def total(self) -> int:
        return self.weights + self.cache + self.states + self.working + self.output


def memory_need(shape: Shape, load: Load) -> Need:
    """What the model takes in all."""
    mtp = shape.part(MTP_BLOCK) if not load.mtp else None
    kv = token_bytes(shape.kv_numbers, load) + (token_bytes(shape.mtp_kv_numbers, load) if load.mtp else 0)
    contexts = 2 if load.mtp else 1
    return Need(
        weights=shape.weights - (mtp.size if mtp is not None else 0),
        cache=kv * load.tokens,
        states=shape.state_bytes * load.sequences * (1 + load.depth),
        working=contexts * _working(shape, load),
        output=contexts * load.outputs * (shape.vocabulary + shape.width) * _F32,
    )


def token_bytes(numbers: tuple[int, int], load: Load) -> int:
    """Bytes of so many numbers of keys and of values in the cache; a row that is no whole block is rounded up."""
    return sum(-(-count * kind.size // kind.block) for count, kind in zip(numbers, load.kv, strict=True))


def device_need(shape: Shape, load: Load, layers: int) -> int:
    """Bytes on the GPUs when the last `layers` layers are there; with all of them the head is as well.

    Like llama.cpp's own rule, but the embedding is looked up on the host and stays there.
    """
    if layers <= 0 or not shape.layers:
        return 0
    need = memory_need(shape, load)
    share = min(1.0, layers / shape.layers)
    embedding = shape.part(EMBEDDING)
    outside = 0 if embedding is None or shape.tied_head else embedding.size
    return int((need.weights - outside + need.cache + need.states) * share) + need.working


def _working(shape: Shape, load: Load) -> int:
    """The buffers of a pass: the mask of the attention, its table of pairs, and the logits or the widest layer."""
    rows = max(load.chunk, load.outputs) + load.sequences  # llama.cpp reserves for a multiple of the sequences
    logits = load.outputs * shape.vocabulary * _F32
    widest = rows * (8 * shape.width + 3 * shape.feed_forward) * _F32
    states = 2 * load.sequences * shape.state_bytes // max(1, shape.recurrent_layers)
    mask = load.tokens * rows * (_F16 if load.fused else _F32)
    pairs = 0 if load.fused else load.tokens * rows * shape.heads * _F32
    return mask + max(logits, widest + pairs) + states

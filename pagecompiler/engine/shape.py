"""What a GGUF file is, from its header alone: its parts, their formats, and what a sequence takes in memory."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path

from pagecompiler.engine.gguf_header import Header, LongArray, MetadataValue, Tensor, read_header

EMBEDDING, HEAD, MTP_BLOCK = "embedding", "output head", "MTP block"
_BLOCK = re.compile(r"blk\.(\d+)\.")
_F32 = 4


@dataclass(frozen=True, slots=True)
class Part:
    """A group of tensors; `types` has the bytes in each number format, the largest first."""

    name: str
    size: int
    types: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes are in bytes. `attention_layers` and `recurrent_layers` do not count the MTP block.

    `kv_numbers` are the numbers of keys and of values of one token in the caches of all attention layers,
    `mtp_kv_numbers` those of the MTP block; `state_bytes` those of the recurrent state of one sequence, once.
    `tied_head` means that the embedding is the output head as well. `thinking` says whether the chat template has
    thinking that can be switched off.
    """

    architecture: str
    name: str
    file_size: int
    missing_bytes: int
    parameters: int
    parts: tuple[Part, ...]
    width: int
    heads: int
    feed_forward: int
    vocabulary: int
    trained_context: int
    attention_layers: int
    recurrent_layers: int
    mtp_layers: int
    kv_numbers: tuple[int, int]
    mtp_kv_numbers: tuple[int, int]
    state_bytes: int
    tied_head: bool
    has_template: bool
    thinking: bool
    pagec_format: int | None

    @property
    def weights(self) -> int:
        """Bytes of all tensors."""
        return sum(part.size for part in self.parts)

    def part(self, name: str) -> Part | None:
        """A part by its name."""
        return next((part for part in self.parts if part.name == name), None)

    @property
    def layers(self) -> int:
        """All layers that can be on a GPU, the MTP block included."""
        return self.attention_layers + self.recurrent_layers + self.mtp_layers


def read_shape(path: Path) -> Shape:
    """The shape of a GGUF file. Raises ModelLoadError for a file that is no GGUF.

    >>> read_shape(Path("Qwen3.5-9B-Q4_K_M.gguf")).recurrent_layers  # doctest: +SKIP
    24
    """
    return make_shape(read_header(path))


def make_shape(header: Header) -> Shape:
    """The shape that a header tells; what it does not tell is 0 or empty."""
    keys = _Keys(header.metadata)
    names = {tensor.name for tensor in header.tensors}
    blocks = sorted({int(found[1]) for name in names if (found := _BLOCK.match(name))})
    mtp = {block for block in blocks if any(name.startswith(f"blk.{block}.nextn.") for name in names)}
    recurrent = {block for block in blocks if any(name.startswith(f"blk.{block}.ssm_") for name in names)}
    attention = [block for block in blocks if block not in mtp | recurrent]
    # A file that was cut to its MTP block says the full number of layers and has one.
    template = keys.text("tokenizer.chat_template")
    pagec = header.metadata.get("pagec.format")
    return Shape(
        architecture=keys.architecture,
        name=keys.text("general.name"),
        file_size=header.file_size,
        missing_bytes=header.missing_bytes,
        parameters=sum(prod(tensor.shape) for tensor in header.tensors),
        parts=_parts(header.tensors, mtp, recurrent),
        width=keys.number("embedding_length"),
        heads=keys.largest("attention.head_count"),
        feed_forward=keys.largest("feed_forward_length"),
        vocabulary=_vocabulary(header.tensors, keys),
        trained_context=keys.number("context_length"),
        attention_layers=len(attention),
        recurrent_layers=len(recurrent),
        mtp_layers=len(mtp),
        kv_numbers=_kv_numbers(keys, attention),
        mtp_kv_numbers=_kv_numbers(keys, mtp),
        state_bytes=len(recurrent) * _state_bytes(keys),
        tied_head="token_embd.weight" in names and "output.weight" not in names,
        has_template=bool(template),
        thinking="enable_thinking" in template,
        pagec_format=pagec if isinstance(pagec, int) else None,
    )


class _Keys:
    """Metadata of the file's architecture by the ends of their names."""

    def __init__(self, metadata: Mapping[str, MetadataValue]) -> None:
        self._metadata = metadata
        self.architecture = self.text("general.architecture")

    def text(self, key: str) -> str:
        value = self._metadata.get(key)
        return value if isinstance(value, str) else ""

    def count(self, key: str) -> int:
        """The length of an array."""
        value = self._metadata.get(key)
        if isinstance(value, LongArray):
            return value.length
        return len(value) if isinstance(value, tuple) else 0

    def number(self, name: str, block: int | None = None, default: int = 0) -> int:
        """A number, or that of a block where every block has its own."""
        value = self._metadata.get(f"{self.architecture}.{name}", default)
        if isinstance(value, tuple) and block is not None and block < len(value):
            value = value[block]
        return value if isinstance(value, int) and value >= 0 else default

    def largest(self, name: str) -> int:
        value = self._metadata.get(f"{self.architecture}.{name}")
        if isinstance(value, tuple):
            return max((entry for entry in value if isinstance(entry, int)), default=0)
        return self.number(name)


def _vocabulary(tensors: Iterable[Tensor], keys: _Keys) -> int:
    rows = [t.shape[1] for t in tensors if t.name in ("token_embd.weight", "output.weight") and len(t.shape) > 1]
    return max(rows, default=keys.number("vocab_size") or keys.count("tokenizer.ggml.tokens"))


def _kv_numbers(keys: _Keys, blocks: Iterable[int]) -> tuple[int, int]:
    found = [0, 0]
    for block in blocks:
        heads = keys.number("attention.head_count", block)
        pairs = keys.number("attention.head_count_kv", block, default=heads)
        each = keys.number("embedding_length") // heads if heads else 0
        found[0] += pairs * keys.number("attention.key_length", default=each)
        found[1] += pairs * keys.number("attention.value_length", default=each)
    return found[0], found[1]


def _state_bytes(keys: _Keys) -> int:
    """Of one recurrent layer: the state itself and the last inputs of its convolution, both F32."""
    inner, state = keys.number("ssm.inner_size"), keys.number("ssm.state_size")
    inputs = max(0, keys.number("ssm.conv_kernel") - 1) * (inner + 2 * keys.number("ssm.group_count") * state)
    return (state * inner + inputs) * _F32


def _parts(tensors: Iterable[Tensor], mtp: set[int], recurrent: set[int]) -> tuple[Part, ...]:
    sizes: dict[str, Counter[str]] = {}
    for tensor in tensors:
        sizes.setdefault(_part_name(tensor.name, mtp, recurrent), Counter())[tensor.type.name] += tensor.size
    return tuple(Part(name, types.total(), tuple(types.most_common())) for name, types in sizes.items())


def _part_name(name: str, mtp: set[int], recurrent: set[int]) -> str:
    found = _BLOCK.match(name)
    if found is None:
        return {"token_embd.weight": EMBEDDING, "output.weight": HEAD}.get(name, "other")
    block = int(found[1])
    if block in mtp:
        return MTP_BLOCK
    if "ffn" in name:
        return "feed-forward"
    return "recurrent layers" if block in recurrent else "attention layers"

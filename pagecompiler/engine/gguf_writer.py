"""Writes GGUF files: keys as bytes that were copied or made here, tensors from pieces of data."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import BinaryIO

from pagecompiler.engine.ggml_types import TYPES
from pagecompiler.engine.gguf_header import DEFAULT_ALIGNMENT, MAGIC

Value = str | bool | int | float | Sequence[int]
_UINT32, _INT32, _FLOAT32, _BOOL, _STRING, _ARRAY = 4, 5, 6, 7, 8, 9


@dataclass(frozen=True, slots=True)
class NewTensor:
    """A tensor to write. `shape` has the length of a row first; `pieces` gives its bytes, None leaves zeros."""

    name: str
    shape: tuple[int, ...]
    type_number: int
    pieces: Callable[[], Iterable[bytes]] | None = None

    @property
    def size(self) -> int:
        """Bytes, without padding."""
        return TYPES[self.type_number].row_bytes(self.shape[0]) * prod(self.shape[1:])


def pair(key: str, value: Value) -> bytes:
    """A key with its value as a file has it: whole numbers are unsigned, those of lists signed, of 32 bits."""
    head = _string(key)
    if isinstance(value, str):
        return head + struct.pack("<I", _STRING) + _string(value)
    if isinstance(value, bool):
        return head + struct.pack("<I?", _BOOL, value)
    if isinstance(value, int):
        return head + struct.pack("<II", _UINT32, value)
    if isinstance(value, float):
        return head + struct.pack("<If", _FLOAT32, value)
    return head + struct.pack("<IIQ", _ARRAY, _INT32, len(value)) + struct.pack(f"<{len(value)}i", *value)


def write_gguf(path: Path, pairs: Sequence[bytes], tensors: Sequence[NewTensor]) -> None:
    """Write a file. Raises OSError, and ValueError when a tensor's data is not as long as its shape says."""
    infos, offset = b"", 0
    for tensor in tensors:
        infos += _string(tensor.name) + struct.pack("<I", len(tensor.shape))
        infos += struct.pack(f"<{len(tensor.shape)}Q", *tensor.shape)
        infos += struct.pack("<IQ", tensor.type_number, offset)
        offset += _padded(tensor.size)
    with path.open("wb") as file:
        file.write(MAGIC + struct.pack("<IQQ", 3, len(tensors), len(pairs)) + b"".join(pairs) + infos)
        start = _padded(file.tell())
        for tensor in tensors:
            file.truncate(start)
            file.seek(start)
            start += _padded(_write_data(file, tensor))
        file.truncate(start)


def _write_data(file: BinaryIO, tensor: NewTensor) -> int:
    if tensor.pieces is not None:
        written = sum(file.write(piece) for piece in tensor.pieces())
        if written != tensor.size:
            raise ValueError(f"{tensor.name} has {written} bytes instead of {tensor.size}")
    return tensor.size


def _padded(size: int) -> int:
    return -(-size // DEFAULT_ALIGNMENT) * DEFAULT_ALIGNMENT


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data

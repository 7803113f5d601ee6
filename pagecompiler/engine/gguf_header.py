"""The header of a GGUF file, read without llama.cpp: which model is this, before anything is loaded."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path

from pagecompiler.engine.base import ModelLoadError
from pagecompiler.engine.ggml_types import TYPES, TensorType

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MAX_KEYS = 65_536
MAX_TENSORS = 65_536
MAX_DIMENSIONS = 4
DEFAULT_ALIGNMENT = 32
MAX_STRING_BYTES = 16 * 1024 * 1024
LONGEST_KEPT_ARRAY = 256

_SCALARS = {
    0: "<B",
    1: "<b",
    2: "<H",
    3: "<h",
    4: "<I",
    5: "<i",
    6: "<f",
    7: "<?",
    10: "<Q",
    11: "<q",
    12: "<d",
}
_STRING, _ARRAY = 8, 9

Scalar = str | int | float | bool


@dataclass(frozen=True, slots=True)
class LongArray:
    """Stands for an array that was skipped, such as the vocabulary; `length` is its number of elements."""

    length: int


MetadataValue = Scalar | tuple[Scalar, ...] | LongArray


@dataclass(frozen=True, slots=True)
class Tensor:
    """Where a tensor lies. `shape` has the length of a row first; `offset` counts from the begin of the file."""

    name: str
    shape: tuple[int, ...]
    type: TensorType
    type_number: int
    offset: int

    @property
    def size(self) -> int:
        """Bytes, without padding."""
        return self.type.row_bytes(self.shape[0]) * prod(self.shape[1:])


@dataclass(frozen=True, slots=True)
class Header:
    """All that stands before the data. `key_spans` are the bytes of each pair of `metadata`, for copying."""

    metadata: dict[str, MetadataValue]
    tensors: tuple[Tensor, ...]
    key_spans: dict[str, tuple[int, int]]
    file_size: int

    @property
    def missing_bytes(self) -> int:
        """How many bytes of tensors the file lacks; 0 for a whole one."""
        return max(0, max((t.offset + t.size for t in self.tensors), default=0) - self.file_size)


def read_metadata(path: Path) -> dict[str, MetadataValue]:
    """The key-value pairs of a GGUF file. Arrays longer than 256 elements are only counted.

    Raises ModelLoadError when the file is missing, is no GGUF, or is damaged within its header.

    >>> read_metadata(Path("pagec-mini.gguf"))["general.architecture"]  # doctest: +SKIP
    'qwen35'
    """
    with _reader(path) as reader:
        return reader.metadata()


def read_header(path: Path) -> Header:
    """The key-value pairs of a GGUF file and where its tensors are. Raises ModelLoadError as `read_metadata` does."""
    with _reader(path) as reader:
        return reader.header()


def read_tensor_names(path: Path) -> tuple[str, ...]:
    """The names of the tensors, whatever their formats are. Raises ModelLoadError as `read_metadata` does."""
    with _reader(path) as reader:
        reader.metadata()
        return tuple(name for name, *_ in reader.tensors())


@contextmanager
def _reader(path: Path) -> Iterator[_Reader]:
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            yield _Reader(data)
    except OSError as error:
        raise ModelLoadError(f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:  # mmap of an empty file, _Reader's findings, not UTF-8
        raise ModelLoadError(
            f"{path} is not a usable GGUF file: {error}", hint="download or build the model file again"
        ) from error


class _Reader:
    """A cursor over the header; every read is checked against the end of the file."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self._at = 0
        self._tensor_count = 0
        self._spans: dict[str, tuple[int, int]] = {}

    def header(self) -> Header:
        metadata = self.metadata()
        tensors = self.tensors()
        for name, _, kind, _ in tensors:
            if kind not in TYPES:
                raise ValueError(f"the tensor {name} has the unknown type {kind}")
        alignment = metadata.get("general.alignment", DEFAULT_ALIGNMENT)
        if not isinstance(alignment, int) or not 0 < alignment <= 1 << 20:
            raise ValueError(f"an alignment of {alignment} is not possible")
        start = -(-self._at // alignment) * alignment
        placed = tuple(Tensor(name, shape, TYPES[kind], kind, start + at) for name, shape, kind, at in tensors)
        for tensor in placed:
            tensor.type.row_bytes(tensor.shape[0])
        return Header(metadata, placed, self._spans, len(self._data))

    def tensors(self) -> list[tuple[str, tuple[int, ...], int, int]]:
        """Name, shape, number of the format and offset of each tensor; the metadata must have been read."""
        if self._tensor_count > MAX_TENSORS:
            raise ValueError(f"{self._tensor_count} tensors are too many")
        return [self._tensor() for _ in range(self._tensor_count)]

    def _tensor(self) -> tuple[str, tuple[int, ...], int, int]:
        name = self._string()
        dimensions = self._number("<I")
        if not 1 <= dimensions <= MAX_DIMENSIONS:
            raise ValueError(f"a tensor of {dimensions} dimensions")
        shape = tuple(self._number("<Q") for _ in range(dimensions))
        return name, shape, self._number("<I"), self._number("<Q")

    def metadata(self) -> dict[str, MetadataValue]:
        if self._data[:4] != MAGIC:
            raise ValueError("it does not begin with GGUF")
        self._at = 4
        version = self._number("<I")
        if version not in VERSIONS:
            raise ValueError(f"version {version} of the format is not supported")
        self._tensor_count = self._number("<Q")
        count = self._number("<Q")
        if count > MAX_KEYS:
            raise ValueError(f"{count} keys are too many")
        values: dict[str, MetadataValue] = {}
        for _ in range(count):
            start = self._at
            key = self._string()
            values[key] = self._value(self._number("<I"))
            self._spans[key] = (start, self._at)
        return values

    def _number(self, form: str) -> int:
        return int(self._scalar(form))

    def _scalar(self, form: str) -> Scalar:
        size = struct.calcsize(form)
        self._need(size)
        (value,) = struct.unpack_from(form, self._data, self._at)
        self._at += size
        found: Scalar = value
        return found

    def _need(self, size: int) -> None:
        if size > len(self._data) - self._at:
            raise ValueError("it ends within its header")

    def _string_size(self) -> int:
        size = self._number("<Q")
        if size > MAX_STRING_BYTES:
            raise ValueError(f"a string of {size} bytes is too long")
        self._need(size)
        return size

    def _string(self) -> str:
        size = self._string_size()
        text = self._data[self._at : self._at + size].decode("utf-8")
        self._at += size
        return text

    def _skip_strings(self, count: int) -> None:
        # A vocabulary has 250,000 of them: no calls in this loop.
        data, at, end, length = self._data, self._at, len(self._data), struct.Struct("<Q").unpack_from
        for _ in range(count):
            if at + 8 > end:
                raise ValueError("it ends within its header")
            at += 8 + length(data, at)[0]
        self._at = at
        self._need(0)

    def _value(self, kind: int) -> MetadataValue:
        if kind == _STRING:
            return self._string()
        if kind == _ARRAY:
            return self._array()
        return self._scalar(self._form(kind))

    def _form(self, kind: int) -> str:
        if kind not in _SCALARS:
            raise ValueError(f"{kind} is not a type of value")
        return _SCALARS[kind]

    def _array(self) -> tuple[Scalar, ...] | LongArray:
        kind, length = self._number("<I"), self._number("<Q")
        if kind == _STRING:
            self._need(8 * length)
            if length <= LONGEST_KEPT_ARRAY:
                return tuple(self._string() for _ in range(length))
            self._skip_strings(length)
            return LongArray(length)
        form = self._form(kind)
        size = length * struct.calcsize(form)
        self._need(size)
        if length <= LONGEST_KEPT_ARRAY:
            return tuple(self._scalar(form) for _ in range(length))
        self._at += size
        return LongArray(length)

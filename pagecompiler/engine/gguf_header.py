"""The header of a GGUF file, read without llama.cpp: which model is this, before anything is loaded."""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path

from pagecompiler.engine.base import ModelLoadError

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MAX_KEYS = 65_536
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


def read_metadata(path: Path) -> dict[str, MetadataValue]:
    """The key-value pairs of a GGUF file. Arrays longer than 256 elements are only counted.

    Raises ModelLoadError when the file is missing, is no GGUF, or is damaged within its header.

    >>> read_metadata(Path("pagec-mini.gguf"))["general.architecture"]  # doctest: +SKIP
    'qwen35'
    """
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _Reader(data).metadata()
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

    def metadata(self) -> dict[str, MetadataValue]:
        if self._data[:4] != MAGIC:
            raise ValueError("it does not begin with GGUF")
        self._at = 4
        version = self._number("<I")
        if version not in VERSIONS:
            raise ValueError(f"version {version} of the format is not supported")
        self._number("<Q")  # the number of tensors
        count = self._number("<Q")
        if count > MAX_KEYS:
            raise ValueError(f"{count} keys are too many")
        values: dict[str, MetadataValue] = {}
        for _ in range(count):
            key = self._string()
            values[key] = self._value(self._number("<I"))
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

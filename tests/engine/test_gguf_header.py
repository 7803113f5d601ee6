"""The header reader: values, long arrays, damaged files."""

from __future__ import annotations

import struct
from pathlib import Path

import gguf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagecompiler.engine.base import ModelLoadError
from pagecompiler.engine.gguf_header import LongArray, read_metadata


@pytest.fixture(scope="module")
def small_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gguf") / "small.gguf"
    writer = gguf.GGUFWriter(path, "qwen35")
    writer.add_uint32("pagec.format", 3)
    writer.add_float64("a.float", 0.25)
    writer.add_bool("a.flag", True)
    writer.add_int64("a.negative", -5)
    writer.add_string("a.text", "{{ é }}")
    writer.add_array("a.numbers", [1, 2, 3])
    writer.add_array("a.words", ["x", "", "yz"])
    writer.add_array("a.long", list(range(1000)))
    writer.add_array("a.vocabulary", [f"token {i}" for i in range(1000)])
    writer.add_string("z.last", "end")
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return path


def test_values(small_file):
    assert read_metadata(small_file) == {
        "general.architecture": "qwen35",
        "pagec.format": 3,
        "a.float": 0.25,
        "a.flag": True,
        "a.negative": -5,
        "a.text": "{{ é }}",
        "a.numbers": (1, 2, 3),
        "a.words": ("x", "", "yz"),
        "a.long": LongArray(1000),
        "a.vocabulary": LongArray(1000),
        "z.last": "end",
    }


def test_a_missing_file_and_a_folder(tmp_path):
    for path in (tmp_path / "none.gguf", tmp_path):
        with pytest.raises(ModelLoadError, match="cannot read"):
            read_metadata(path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"GGML" + bytes(40), "does not begin"),
        (b"GGUF" + struct.pack("<IQQ", 1, 0, 0), "version 1"),
        (b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 40), "too many"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1 << 60), "too long"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1) + b"k" + struct.pack("<I", 77), "not a type"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1) + b"k" + struct.pack("<IIQ", 9, 9, 1), "not a type"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1) + b"k" + struct.pack("<IIQ", 9, 8, 1 << 50), "ends within"),
        (b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, 1) + b"\xff" + struct.pack("<IB", 0, 1), "utf-8"),
    ],
)
def test_damaged_files(tmp_path, content, reason):
    path = tmp_path / "damaged.gguf"
    path.write_bytes(content)
    with pytest.raises(ModelLoadError, match=reason):
        read_metadata(path)


def test_a_cut_file_is_an_error_wherever_it_is_cut(small_file, tmp_path):
    content = small_file.read_bytes()
    path = tmp_path / "cut.gguf"
    for end in (*range(0, 400, 7), *range(400, len(content) - 64, 997)):
        path.write_bytes(content[:end])
        with pytest.raises(ModelLoadError):
            read_metadata(path)


@settings(deadline=None)
@given(st.integers(0, 600), st.binary(min_size=1, max_size=9))
def test_any_damage_is_a_value_or_a_typed_error(small_file, tmp_path_factory, at, noise):
    content = bytearray(small_file.read_bytes())
    content[at : at + len(noise)] = noise
    path = tmp_path_factory.getbasetemp() / "noise.gguf"
    path.write_bytes(content)
    try:
        assert isinstance(read_metadata(path), dict)
    except ModelLoadError as error:
        assert error.message

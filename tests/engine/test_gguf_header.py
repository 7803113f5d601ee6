"""The header reader: values, long arrays, damaged files."""

from __future__ import annotations

import struct
from pathlib import Path

import gguf
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pagecompiler.engine.base import ModelLoadError
from pagecompiler.engine.ggml_types import TYPES
from pagecompiler.engine.gguf_header import LongArray, read_header, read_metadata, read_tensor_names


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


@pytest.fixture(scope="module")
def tensor_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("gguf") / "tensors.gguf"
    writer = gguf.GGUFWriter(path, "qwen35")
    writer.add_tensor("a.weight", np.arange(12, dtype=np.float32).reshape(3, 4))
    writer.add_tensor("b.bias", np.ones(5, np.float16))
    writer.add_tensor("c.weight", np.full((4, 2 * 34), 7, np.uint8), raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_tensors_are_found_where_they_are(tensor_file):
    header = read_header(tensor_file)
    assert [(t.name, t.shape, t.type.name, t.size) for t in header.tensors] == [
        ("a.weight", (4, 3), "F32", 48),
        ("b.bias", (5,), "F16", 10),
        ("c.weight", (64, 4), "Q8_0", 4 * 2 * 34),
    ]
    data = tensor_file.read_bytes()
    a, _, c = header.tensors
    assert np.frombuffer(data, np.float32, 12, a.offset).tolist() == list(range(12))
    assert set(data[c.offset : c.offset + c.size]) == {7}
    assert header.missing_bytes == 0


def test_names_are_read_whatever_the_formats_are(tmp_path):
    path = tmp_path / "new.gguf"
    tensor = struct.pack("<Q", 1) + b"t" + struct.pack("<IQIQ", 1, 4, 777, 0)
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + tensor)
    assert read_tensor_names(path) == ("t",)


def test_the_bytes_of_a_key_can_be_copied(small_file):
    data = small_file.read_bytes()
    start, end = read_header(small_file).key_spans["pagec.format"]
    assert data[start:end] == struct.pack("<Q", 12) + b"pagec.format" + struct.pack("<II", 4, 3)


def test_a_cut_file_says_how_much_is_missing(tensor_file, tmp_path):
    path = tmp_path / "cut.gguf"
    path.write_bytes(tensor_file.read_bytes()[:-100])
    assert 0 < read_header(path).missing_bytes <= 100


@pytest.mark.parametrize(
    ("tensor", "reason"),
    [
        (struct.pack("<I", 0), "0 dimensions"),
        (struct.pack("<I", 9), "9 dimensions"),
        (struct.pack("<IQIQ", 1, 4, 777, 0), "unknown type 777"),
        (struct.pack("<IQIQ", 1, 33, 8, 0), "cannot be Q8_0"),
        (struct.pack("<IQ", 1, 4), "ends within"),
    ],
)
def test_damaged_tensors(tmp_path, tensor, reason):
    path = tmp_path / "damaged.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + struct.pack("<Q", 1) + b"t" + tensor)
    with pytest.raises(ModelLoadError, match=reason):
        read_header(path)


def test_the_sizes_are_those_of_the_format():
    known = {kind.value: (kind.name, *size) for kind, size in gguf.GGML_QUANT_SIZES.items()}
    assert {number: (t.name, t.block, t.size) for number, t in TYPES.items()} == known


@settings(deadline=None)
@given(st.integers(0, 400), st.binary(min_size=1, max_size=9))
def test_any_damage_of_tensors_is_a_header_or_a_typed_error(tensor_file, tmp_path_factory, at, noise):
    content = bytearray(tensor_file.read_bytes())
    content[at : at + len(noise)] = noise
    path = tmp_path_factory.getbasetemp() / "tensor-noise.gguf"
    path.write_bytes(content)
    try:
        header = read_header(path)
        assert header.missing_bytes >= 0
    except ModelLoadError as error:
        assert error.message

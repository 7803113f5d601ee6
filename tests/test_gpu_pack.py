"""What is carried to a machine without a network."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path, PurePosixPath

from benchmarks.gpu_pack import _add, needed


def test_what_pagec_needs_and_nothing_of_its_extras() -> None:
    names = set(needed())
    assert {"llama-cpp-python", "numpy", "gguf", "jinja2", "markupsafe", "pydantic-core"} <= names
    assert not names & {"pagec", "pytest", "torch", "mypy"}


def test_a_library_under_three_names_is_packed_once(tmp_path: Path) -> None:
    seen: dict[bytes, PurePosixPath] = {}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name in ("lib/a.so.1", "lib/a.so", "lib/b.so"):
            _add(archive, PurePosixPath(name), b"b" if "b.so" in name else b"a", seen)
    packed.seek(0)
    with tarfile.open(fileobj=packed) as archive:
        assert [member.type for member in archive] == [tarfile.REGTYPE, tarfile.LNKTYPE, tarfile.REGTYPE]
        archive.extractall(tmp_path, filter="data")
    assert (tmp_path / "lib/a.so").read_bytes() == b"a"

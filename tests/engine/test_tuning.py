"""Measurements that are kept for the next run."""

from __future__ import annotations

import os

import pytest

from pagecompiler.engine.llama.depth import Measured
from pagecompiler.engine.llama.tuning import Tuning, tuning_key

MEASURED = Measured({(5, 2): 0.02, (1, 0): 0.004}, (0.9, 0.5))


def test_what_is_stored_is_found_again(tmp_path):
    path = tmp_path / "deep" / "tuning.json"
    assert Tuning(path).load("a") is None
    Tuning(path).store("a", MEASURED)
    Tuning(path).store("b", Measured({}, ()))
    assert Tuning(path).load("a") == MEASURED
    assert Tuning(path).load("c") is None
    assert [entry.name for entry in path.parent.iterdir()] == ["tuning.json"]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "3",
        '{"version": 9, "entries": {"a": {}}}',
        '{"version": 1, "entries": {"a": {"steps": 3}}}',
        "\0",
    ],
)
def test_a_damaged_file_is_as_good_as_none(tmp_path, content):
    path = tmp_path / "tuning.json"
    path.write_text(content)
    assert Tuning(path).load("a") is None
    Tuning(path).store("a", MEASURED)
    assert Tuning(path).load("a") == MEASURED


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path):
    (tmp_path / "file").touch()
    Tuning(tmp_path / "file" / "tuning.json").store("a", MEASURED)


def test_the_key_names_machine_file_build_and_method(tmp_path):
    model = tmp_path / "model.gguf"
    model.write_bytes(b"1")
    keys = {tuning_key(model, build=b, threads=t, method=m) for b in "12" for t in (1, 2) for m in ("mtp", "draft")}
    assert len(keys) == 8
    os.utime(model, ns=(1, 1))
    assert tuning_key(model, build="1", threads=1, method="mtp") not in keys

"""Which model writes, and its id."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pagecompiler import models
from pagecompiler.models import ModelNotFoundError, choose_model, file_digest


def test_the_option_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGEC_MODEL", "absent.gguf")
    assert choose_model("reference").source == "--model"
    with pytest.raises(ModelNotFoundError, match="PAGEC_MODEL"):
        choose_model(None)
    monkeypatch.setenv("PAGEC_MODEL", "reference")
    assert choose_model(None).source == "PAGEC_MODEL"


def test_the_default_is_the_embedded_model() -> None:
    choice = choose_model(None)
    assert (choice.name, choice.source, choice.format) == ("pagec-mini", "default", 1)
    assert choice.sampling.temperature == 0


def test_an_absent_file_names_what_there_is() -> None:
    with pytest.raises(ModelNotFoundError, match="known names: pagec-mini, reference"):
        choose_model("absent.gguf")


def test_a_digest_is_remembered_until_the_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"one")
    first = file_digest(path)
    monkeypatch.setattr(models.hashlib, "file_digest", None)  # any further hashing would fail
    assert file_digest(path) == first
    monkeypatch.undo()
    path.write_bytes(b"two")
    os.utime(path, ns=(1, 1))
    assert file_digest(path) != first


def test_a_damaged_memory_only_costs_time(tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(b"one")
    first = file_digest(path)
    (memory,) = (tmp_path / "cache-home" / "pagec").iterdir()
    memory.write_bytes(b"[1")
    assert file_digest(path) == first

"""Which model writes, and its id."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from pagecompiler import model_store, models
from pagecompiler.config import Config, Setting, user_file
from pagecompiler.engine.base import ModelLoadError
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
    with pytest.raises(ModelNotFoundError, match="known names: pagec-mini, pagec-mini-draft, reference"):
        choose_model("absent.gguf")


@pytest.mark.parametrize("name", ["qwen3.5-9b", "Qwen3.5-0.8B", "hf:owner/repo:Q8_0"])
def test_a_model_that_can_be_pulled_says_so(name: str) -> None:
    with pytest.raises(ModelNotFoundError, match=f"`pagec model pull {name}` downloads it"):
        choose_model(name)


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


@pytest.fixture
def gguf_file(tmp_path: Path) -> Path:
    """A header without keys."""
    path = tmp_path / "some.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 0))
    return path


def store(gguf_file: Path, name: str, origin: str = "") -> Path:
    path = model_store.models_dir() / "owner--repo" / f"{name}.gguf"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gguf_file.read_bytes())
    if origin:
        model_store.record_model(model_store.StoredModel(name, path, path.stat().st_size, origin, "c0ffee", "00"))
    return path


def config(**values: str) -> Config:
    return Config({key: Setting(value, "pagec.toml") for key, value in values.items()})


def test_precedence_from_the_option_to_the_embedded_model(gguf_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store(gguf_file, model_store.DEFAULT_NAME, "hf:unsloth/Qwen3.5-9B-MTP-GGUF:Q4_K_M")
    project = config(model="reference")
    assert choose_model(None).source == "pulled"
    assert choose_model(None).name == "qwen3.5-9b"
    assert choose_model(None, project).source == "pagec.toml"
    monkeypatch.setenv("PAGEC_MODEL", str(gguf_file))
    assert choose_model(None, project).source == "PAGEC_MODEL"
    assert choose_model("reference", project).source == "--model"


@pytest.mark.parametrize("name", ["my-model", "MY-MODEL", "hf:Owner/Repo-GGUF", "hf:owner/repo-gguf:q4_k_m"])
def test_a_pulled_model_goes_by_its_name_and_its_origin(gguf_file: Path, name: str) -> None:
    path = store(gguf_file, "my-model", "hf:owner/repo-GGUF:Q4_K_M")
    assert choose_model(name).path == path


def test_a_file_put_there_by_hand_goes_by_its_stem(gguf_file: Path) -> None:
    path = store(gguf_file, "by-hand")
    assert choose_model("by-hand").path == path
    assert [model.origin for model in model_store.stored_models()] == [""]


def test_an_incomplete_file_is_not_there(gguf_file: Path) -> None:
    path = store(gguf_file, "cut", "hf:o/r:Q8_0")
    path.write_bytes(path.read_bytes()[:-1])
    assert model_store.stored_models() == []


def test_what_was_not_pulled_names_the_command() -> None:
    with pytest.raises(ModelNotFoundError, match="pagec model pull hf:o/r:Q8_0"):
        choose_model("hf:o/r:Q8_0")


def test_a_project_does_not_choose_a_file_of_the_working_folder(
    gguf_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(gguf_file.parent)
    gguf_file.rename("evil")
    assert choose_model("evil").path == Path("evil")
    with pytest.raises(ModelNotFoundError, match=r"pagec\.toml"):
        choose_model(None, config(model="evil"))


def test_a_path_of_the_user_is_relative_to_his_file(gguf_file: Path) -> None:
    user_file().parent.mkdir(parents=True)
    path = gguf_file.rename(user_file().parent / "own.gguf")
    assert choose_model(None, Config({"model": Setting("own.gguf", "user config")})).path == path


def test_a_damaged_file_is_no_choice(tmp_path: Path) -> None:
    path = tmp_path / "damaged.gguf"
    path.write_bytes(b"nothing")
    with pytest.raises(ModelLoadError):
        choose_model(str(path))

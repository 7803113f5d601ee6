"""`pagec model pull` against a hub on loopback: resumes, checks, refuses, and leaves nothing half-done in use."""

from __future__ import annotations

import builtins
from collections import namedtuple
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pagecompiler import cli, hub, model_store, models
from pagecompiler.hub import PullError, parse_name
from pagecompiler.models import choose_model
from tests.engine.tiny_models import write_llama, write_qwen35
from tests.hub.server import REVISION, Hub, Repository

pytest.importorskip("huggingface_hub")
NAME = "unsloth/Qwen3.5-9B-MTP-GGUF"
FILE = "Qwen3.5-9B-Q4_K_M.gguf"
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return write_qwen35(tmp_path_factory.mktemp("hub") / "q.gguf").read_bytes()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    found = Hub()
    monkeypatch.setenv("HF_ENDPOINT", found.url)
    # A test must not wait between the tries of a client.
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    yield found
    found.close()


@pytest.fixture
def repository(server: Hub, model: bytes) -> Repository:
    files = {FILE: model, "Qwen3.5-9B-Q8_0.gguf": model + b"8", "mmproj-F16.gguf": b"x", "README.md": b"x"}
    server.repositories[NAME] = Repository(files)
    return server.repositories[NAME]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def runner(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            cli.main(("model", "pull", *arguments))
        captured = capsys.readouterr()
        return int(caught.value.code or 0), captured.out, captured.err

    return runner


def partials() -> list[Path]:
    return list(model_store.models_dir().rglob("*.part"))


def test_the_default_is_pulled_and_is_then_the_default(run: Run, repository: Repository, model: bytes) -> None:
    code, out, err = run()
    path = Path(out.strip())
    assert code == 0 and path.read_bytes() == model and path.name == FILE
    assert "with an MTP block" in err
    (stored,) = model_store.stored_models()
    assert (stored.name, stored.origin, stored.revision) == ("qwen3.5-9b", f"hf:{NAME}:Q4_K_M", REVISION)
    for name in (None, "qwen3.5-9b", f"hf:{NAME}", f"hf:{NAME}:q4_k_m", str(path)):
        assert choose_model(name).path == path
    assert not partials()


def test_its_hash_is_not_computed_again(run: Run, repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    run()
    monkeypatch.setattr(models.hashlib, "file_digest", None)
    assert choose_model(None).id == model_store.stored_models()[0].sha256


def test_what_is_there_is_not_pulled_again(run: Run, repository: Repository) -> None:
    run()
    downloads = len(repository.ranges)
    code, _, err = run()
    assert code == 0 and "already there" in err and len(repository.ranges) == downloads


def test_a_new_version_on_the_hub_replaces_the_old_one(run: Run, repository: Repository) -> None:
    run()
    repository.files[FILE] += bytes(64)
    out = run()[1]
    assert Path(out.strip()).read_bytes() == repository.files[FILE]
    assert len(model_store.stored_models()) == 1


def test_a_connection_that_breaks_is_taken_up_again(
    run: Run, repository: Repository, model: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 100_000)
    repository.cut_after, repository.cuts = 300_000, 3
    code, out, _ = run()
    assert code == 0 and Path(out.strip()).read_bytes() == model
    assert repository.ranges == ["", "bytes=300000-", "bytes=600000-", "bytes=900000-"]


def test_a_process_that_was_interrupted_goes_on_from_there(
    run: Run, repository: Repository, model: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import file_download

    real = file_download.http_get

    def interrupted(url: str, file: Any, **keys: Any) -> None:
        file.write(model[:500_000])
        raise KeyboardInterrupt

    monkeypatch.setattr(file_download, "http_get", interrupted)
    assert run()[0] == 130
    assert [path.stat().st_size for path in partials()] == [500_000]
    assert model_store.stored_models() == []
    monkeypatch.setattr(file_download, "http_get", real)
    code, out, err = run()
    assert code == 0 and "of it are here" in err and repository.ranges[-1] == "bytes=500000-"
    assert Path(out.strip()).read_bytes() == model


def test_a_server_without_ranges(run: Run, repository: Repository, model: bytes) -> None:
    repository.ignores_ranges, repository.cut_after, repository.cuts = True, 1000, 1
    code, out, _ = run()
    assert code == 0 and Path(out.strip()).read_bytes() == model


def test_a_connection_that_always_breaks_ends_with_words_and_keeps_what_came(run: Run, repository: Repository) -> None:
    repository.cut_after, repository.cuts = 0, 100
    code, out, err = run()
    assert (code, out) == (1, "") and "broke off" in err and "it goes on from there" in err


def test_a_wrong_checksum_is_refused_and_deleted(run: Run, repository: Repository) -> None:
    repository.wrong_digest = True
    code, out, err = run()
    assert (code, out) == (1, "") and "not what the hub promised" in err
    assert not partials() and not model_store.stored_models()


def test_damage_in_what_was_there_is_found(run: Run, repository: Repository, model: bytes) -> None:
    repository.cuts, repository.cut_after = 100, 0
    run()
    (partial,) = partials()
    partial.write_bytes(b"damage")
    repository.cuts = 0
    assert run()[0] == 1
    code, out, _ = run()
    assert code == 0 and Path(out.strip()).read_bytes() == model


def test_a_hub_that_tells_no_digest_is_checked_by_size(run: Run, repository: Repository) -> None:
    repository.without_digest = True
    assert run()[0] == 0
    assert len(model_store.stored_models()[0].sha256) == 64


def test_a_full_disk_is_noticed_before(run: Run, repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(hub.shutil, "disk_usage", lambda path: usage(10, 9, 1_000_000))
    code, out, err = run()
    assert (code, out) == (1, "") and "are free in" in err and "PAGEC_MODELS" in err
    assert repository.ranges == []


def test_a_folder_that_cannot_be_written(
    run: Run, repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("PAGEC_MODELS", str(tmp_path / "file" / "folder"))
    code, _, err = run()
    assert code == 1 and "cannot write into" in err


def test_a_token_opens_and_goes_to_no_other_host(
    run: Run, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.token = "hf_secret"
    code, _, err = run()
    assert code == 2 and "or it is not open to you" in err and "HF_TOKEN" in err
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    assert run()[0] == 0
    assert set(repository.tokens) == {"hf_secret", "cdn:"}


def test_terms_that_were_not_accepted(run: Run, repository: Repository) -> None:
    repository.gated = True
    code, _, err = run()
    assert code == 1 and "terms" in err and f"/{NAME}" in err


@pytest.mark.parametrize("status", [403, 404, 500])
def test_other_answers(run: Run, repository: Repository, status: int) -> None:
    repository.status = status
    code, out, err = run()
    assert (code, out) == (1, "") and str(status) in err


def test_no_server_at_all(run: Run, monkeypatch: pytest.MonkeyPatch, server: Hub) -> None:
    server.close()
    monkeypatch.setattr(server, "close", lambda: None)
    code, out, err = run()
    assert (code, out) == (1, "") and "cannot reach http://127.0.0.1" in err and "HF_ENDPOINT" in err


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("gpt-5", "qwen3.5-9b"),
        ("hf:only", "no model to pull"),
        ("hf:none/none", "no repository none/none"),
        (f"hf:{NAME}:Q2_K", "it has Q4_K_M, Q8_0"),
    ],
)
def test_what_does_not_exist(run: Run, repository: Repository, name: str, reason: str) -> None:
    code, _, err = run(name)
    assert code == 2 and reason in err


def test_a_quantisation_by_name(run: Run, repository: Repository) -> None:
    out = run(f"hf:{NAME}:q8_0")[1]
    assert Path(out.strip()).name == "Qwen3.5-9B-Q8_0.gguf"
    assert choose_model("Qwen3.5-9B-Q8_0").name == "Qwen3.5-9B-Q8_0"


def test_the_draft_model(run: Run, server: Hub, repository: Repository, model: bytes) -> None:
    server.repositories["unsloth/Qwen3.5-0.8B-GGUF"] = Repository({"Qwen3.5-0.8B-Q4_K_M.gguf": model})
    assert run("--draft")[1].strip().endswith("Qwen3.5-0.8B-Q4_K_M.gguf")
    assert choose_model("qwen3.5-0.8b").path is not None
    assert len(run("qwen3.5-9b", "--draft")[1].splitlines()) == 2


def test_two_files_of_one_name_keep_apart(run: Run, server: Hub, model: bytes) -> None:
    for owner in ("a", "b"):
        server.repositories[f"{owner}/r"] = Repository({"same-Q4_K_M.gguf": model + owner.encode()})
        run(f"hf:{owner}/r")
    assert [stored.name for stored in model_store.stored_models()] == ["same-Q4_K_M", "same-Q4_K_M.b"]


def test_a_file_in_parts_is_refused(run: Run, server: Hub) -> None:
    server.repositories["a/r"] = Repository({"m-Q4_K_M-00001-of-00002.gguf": b"", "m-Q4_K_M-00002-of-00002.gguf": b""})
    code, _, err = run("hf:a/r")
    assert code == 1 and "split" in err


def test_offline(run: Run, repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert run()[0] == 1
    monkeypatch.delenv("HF_HUB_OFFLINE")
    run()
    asked = len(repository.tokens)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    code, out, err = run()
    assert code == 0 and out and "offline" in err and len(repository.tokens) == asked


def test_what_is_no_chat_model_is_said(run: Run, server: Hub, tmp_path: Path) -> None:
    base = write_llama(tmp_path / "base.gguf", template="").read_bytes()
    server.repositories["a/r"] = Repository({"m-Q4_K_M.gguf": base, "n-Q8_0.gguf": b"no model"})
    assert "no chat template" in run("hf:a/r")[2]
    assert "does not begin with GGUF" in run("hf:a/r:Q8_0")[2]


def test_without_the_library_the_line_says_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any) -> Any:
        if name.startswith("huggingface_hub"):
            raise ImportError(name)
        return real(name, *args)

    monkeypatch.setattr(builtins, "__import__", without)
    code, _, err = run()
    assert code == 1 and "pip install 'pagec[hub]'" in err


def test_names() -> None:
    assert parse_name("Qwen3.5-9B").name == "qwen3.5-9b"
    assert parse_name("hf:a/b").quant == "Q4_K_M"
    for wrong in ("hf:a/b:", "hf:a/b/c", "hf:../x", "hf:a/b:Q4 K", ""):
        with pytest.raises(PullError):
            parse_name(wrong)


def test_nothing_is_left_over(run: Run, repository: Repository) -> None:
    run()
    names = {path.name for path in model_store.models_dir().rglob("*") if path.is_file()}
    assert names == {FILE, f"{FILE}.json"}

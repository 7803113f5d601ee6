"""`pagec doctor`: what it finds, what it advises, and its exit code."""

from __future__ import annotations

import builtins
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pagecompiler import cli, doctor
from pagecompiler.doctor import Finding, can_compile, examine, install_command
from pagecompiler.engine.llama import library, loading
from pagecompiler.engine.planner import Machine
from pagecompiler.engine.trimmed import write_trimmed
from pagecompiler.models import file_digest
from tests.engine.tiny_models import write_llama, write_qwen35


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_qwen35(tmp_path_factory.mktemp("doctor") / "q.gguf")


def states(findings: list[Finding]) -> dict[str, str]:
    return {finding.name: finding.state for finding in findings}


def find(findings: list[Finding], name: str) -> Finding:
    return next(finding for finding in findings if finding.name == name)


def test_a_working_installation(tmp_path: Path, model: Path) -> None:
    findings = examine(tmp_path, str(model))
    assert can_compile(findings)
    assert {"pagec", "llama.cpp", "mtp", "gpu", "cpu", "model", "bench", "memory", "hub"} == set(states(findings))
    assert "with MTP block" in find(findings, "model").text


def test_a_trimmed_head_beside_the_model_is_told(tmp_path: Path, model: Path) -> None:
    path = tmp_path / "q.gguf"
    path.write_bytes(model.read_bytes())
    write_trimmed(path, tmp_path / "q.mtp-64.gguf", range(64), file_digest(path))
    assert find(examine(tmp_path, str(path)), "guesses").text.startswith("from q.mtp-64.gguf")


@pytest.mark.parametrize("arguments", [("--model", "absent"), ("--model", "hf:o/r")])
def test_without_a_model_no_page_can_be_compiled(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["doctor", *arguments])
    assert caught.value.code == 1
    assert "problem model" in capsys.readouterr().out


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        cli.main(["doctor", "--json", "--model", "reference"])
    report = json.loads(capsys.readouterr().out)
    assert caught.value.code == 0 and report["ok"] is True
    assert set(report["findings"][0]) == {"name", "state", "text", "fix"}


def test_a_wrong_config_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "pagec.toml").write_text("a = 1\n", encoding="utf-8")
    finding = find(examine(tmp_path), "config")
    assert finding.state == "problem" and "pagec.toml:1: unknown key `a`" in finding.text


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda data: data[:-500], "lacks"),
        (lambda data: b"text", "does not begin with GGUF"),
    ],
)
def test_damaged_models(tmp_path: Path, model: Path, change: Callable[[bytes], bytes], reason: str) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(change(model.read_bytes()))
    findings = examine(tmp_path, str(path))
    assert reason in find(findings, "model").text and not can_compile(findings)


def test_a_model_without_a_chat_template(tmp_path: Path) -> None:
    path = write_llama(tmp_path / "m.gguf", template="")
    assert "no chat template" in find(examine(tmp_path, str(path)), "model").text


def test_too_little_memory_is_a_problem_with_figures(
    tmp_path: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "this_machine", lambda split: Machine(1000))
    finding = [f for f in examine(tmp_path, str(model)) if f.state == "problem"][-1]
    assert "are free" in finding.text and "--lanes" in finding.fix


@pytest.mark.parametrize("backend", ["CUDA", "METAL", "VULKAN"])
def test_a_card_that_is_not_used_comes_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    monkeypatch.setattr(doctor, "_backend_of_this_machine", lambda: backend)
    monkeypatch.setattr(library, "devices", lambda: [])
    finding = find(examine(tmp_path, "reference"), "gpu")
    assert finding.state == "note" and f'CMAKE_ARGS="-DGGML_{backend}=on"' in finding.fix
    assert "llama-cpp-python==0.3.36" in finding.fix


def test_devices_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card = library.Device("CUDA0", "NVIDIA GeForce RTX 4090", True, 23_000_000_000, 25_000_000_000)
    monkeypatch.setattr(library, "devices", lambda: [card])
    text = find(examine(tmp_path, "reference"), "gpu").text
    assert text == "CUDA0: NVIDIA GeForce RTX 4090, 23.0 of 25.0 GB free"


def test_it_says_what_llama_cpp_was_built_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "built for CPU (" in find(examine(tmp_path, "reference"), "llama.cpp").text
    system = "CUDA : ARCHS = 890 | F16 = 1 | CPU : SSE3 = 1 | AVX2 = 1 | "
    monkeypatch.setattr(library, "native_support", lambda: library.NativeSupport("0.3.36", True, True, system))
    text = find(examine(tmp_path, "reference"), "llama.cpp").text
    assert text == "llama-cpp-python 0.3.36, built for CUDA (ARCHS 890, F16), CPU (SSE3, AVX2)"


def test_another_version_of_llama_cpp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "native_support", lambda: library.NativeSupport("0.3.99", True, False, ""))
    findings = examine(tmp_path, "reference")
    assert find(findings, "llama.cpp").state == "problem" and not can_compile(findings)


def test_a_library_that_cannot_be_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def broken(name: str, globals: Any = None, locals: Any = None, names: Any = (), level: int = 0) -> Any:
        if name == "pagecompiler.engine.llama" and "library" in (names or ()):
            raise OSError("libllama.so: undefined symbol")
        return real(name, globals, locals, names, level)

    monkeypatch.setattr(builtins, "__import__", broken)
    findings = examine(tmp_path, "reference")
    assert "undefined symbol" in find(findings, "llama.cpp").text and not can_compile(findings)


def test_the_private_part_may_be_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "native_support", lambda: library.NativeSupport("0.3.36", False, False, ""))
    findings = examine(tmp_path, "reference")
    assert find(findings, "mtp").state == "note" and can_compile(findings)


def test_the_hub_is_optional(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    finding = find(examine(tmp_path, "reference"), "hub")
    assert finding.state == "note" and "pagec[hub]" in finding.fix


def test_the_command_for_the_cpu_has_no_flags() -> None:
    assert not install_command("CPU").startswith("CMAKE")

"""What this installation can do, and what to do about what it cannot: the findings of `pagec doctor`."""

from __future__ import annotations

import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pagecompiler.config import read_config
from pagecompiler.diagnostics import CompileError
from pagecompiler.engine.base import EngineError
from pagecompiler.engine.hardware import usable_threads
from pagecompiler.engine.planner import changes, fitted, host_free_bytes
from pagecompiler.models import ModelChoice, ModelNotFoundError, choose_model

if TYPE_CHECKING:
    from pagecompiler.engine.llama.library import Device, NativeSupport

State = Literal["ok", "note", "problem"]
_GB = 1e9


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report. A `problem` keeps pages from being compiled; `fix` is a command or a sentence."""

    name: str
    state: State
    text: str
    fix: str = ""


def examine(folder: Path, model: str | None = None) -> list[Finding]:
    """Everything that can be found out without loading a model; `folder` is where specs would be."""
    findings = [Finding("pagec", "ok", f"{_version('pagec')}, Python {platform.python_version()} on {sys.platform}")]
    try:
        from pagecompiler.engine.llama import library
    except Exception as error:  # a broken native library can fail in any way
        fix = f"{sys.executable} -m pip install --force-reinstall llama-cpp-python"
        findings.append(Finding("llama.cpp", "problem", f"cannot be loaded: {error}", fix))
        native = None
    else:
        native = library.native_support()
        findings += _native(native, library.SUPPORTED_VERSION)
        findings += _devices(library.devices(), native) if native.version == library.SUPPORTED_VERSION else []
    findings.append(_memory())
    findings += _model(folder, model, usable=native is not None)
    findings.append(_hub())
    return findings


def can_compile(findings: list[Finding]) -> bool:
    """Whether nothing keeps a page from being compiled."""
    return all(finding.state != "problem" for finding in findings)


def report_json(findings: list[Finding]) -> dict[str, Any]:
    """The object of `--json`."""
    rows = [{"name": f.name, "state": f.state, "text": f.text, "fix": f.fix} for f in findings]
    return {"version": 1, "ok": can_compile(findings), "findings": rows}


def install_command(backend: str) -> str:
    """How to build llama.cpp for `CUDA`, `METAL`, `VULKAN` or `CPU` into the environment that runs this."""
    from pagecompiler.engine.llama.library import SUPPORTED_VERSION

    flags = "" if backend == "CPU" else f'CMAKE_ARGS="-DGGML_{backend}=on" '
    package = f"llama-cpp-python=={SUPPORTED_VERSION}"
    return f"{flags}{sys.executable} -m pip install --force-reinstall --no-deps --no-cache-dir {package}"


def _native(native: NativeSupport, supported: str) -> Iterator[Finding]:
    if native.version != supported:
        text = f"llama-cpp-python {native.version}, this pagec needs {supported}"
        yield Finding("llama.cpp", "problem", text, install_command("CPU"))
        return
    yield Finding("llama.cpp", "ok", f"llama-cpp-python {native.version}, built for {_built_for(native.system)}")
    if native.nextn:
        yield Finding("mtp", "ok", "the private functions that multi-token prediction needs are there")
    else:
        text = "off: this build lacks the private functions that multi-token prediction needs"
        yield Finding("mtp", "note", text, install_command("CPU"))


def _built_for(system: str) -> str:
    """The backends of llama.cpp with what they were compiled for, from its own line of `CPU : AVX2 = 1 | … | `.

    >>> _built_for("CUDA : ARCHS = 890 | F16 = 1 | CPU : SSE3 = 1 | AVX2 = 1 | OPENMP = 1 | REPACK = 1 | ")
    'CUDA (ARCHS 890, F16), CPU (SSE3, AVX2, OPENMP, REPACK)'
    """
    backends: dict[str, list[str]] = {}
    for entry in filter(None, map(str.strip, system.split("|"))):
        head, colon, rest = entry.rpartition(" : ")
        if colon:
            backends[head] = []
        name, _, value = rest.partition(" = ")
        if backends and value:
            list(backends.values())[-1].append(name if value == "1" else f"{name} {value}")
    return ", ".join(f"{name} ({', '.join(parts)})" for name, parts in backends.items()) or "an unknown machine"


def _devices(devices: list[Device], native: NativeSupport) -> Iterator[Finding]:
    gpus = [device for device in devices if device.gpu]
    for gpu in gpus:
        text = f"{gpu.name}: {gpu.description}, {gpu.free / _GB:.1f} of {gpu.total / _GB:.1f} GB free"
        yield Finding("gpu", "ok", text)
    backend = _backend_of_this_machine()
    if gpus:
        return
    if native.gpu:
        yield Finding("gpu", "note", "llama.cpp was built for a GPU and sees none", "check the driver of the card")
    elif backend:
        text = f"none used: llama.cpp was built without {backend}, and this machine seems to have it"
        yield Finding("gpu", "note", text, install_command(backend))
    else:
        yield Finding("gpu", "ok", "none: models run on the CPU")


def _backend_of_this_machine() -> str:
    """What a GPU build could use here, by what the system shows of its drivers."""
    if sys.platform == "darwin":
        return "METAL" if platform.machine() == "arm64" else ""
    if Path("/proc/driver/nvidia/version").exists() or shutil.which("nvidia-smi"):
        return "CUDA"
    return "VULKAN" if any(Path("/dev/dri").glob("renderD*")) else ""


def _memory() -> Finding:
    free = host_free_bytes()
    memory = "free memory unknown" if free is None else f"{free / _GB:.1f} GB of memory free"
    return Finding("cpu", "ok", f"{usable_threads()} threads, {memory}")


def _model(folder: Path, name: str | None, *, usable: bool) -> Iterator[Finding]:
    try:
        choice = choose_model(name, read_config(folder))
    except CompileError as error:
        for wrong in error.diagnostics:
            place = f"{wrong.file}:{wrong.span.line}: " if wrong.span else f"{wrong.file}: "
            yield Finding("config", "problem", place + wrong.message, wrong.hint)
        return
    except ModelNotFoundError as error:
        yield Finding("model", "problem", str(error), "pagec model list")
        return
    except EngineError as error:
        yield Finding("model", "problem", error.message, error.hint)
        return
    shown = f"{choice.name} ({choice.source})"
    if choice.path is None:
        yield Finding("model", "ok", f"{shown}: written by rule, without a model")
    elif usable:
        yield from _runs(choice, choice.path, shown)


def _runs(choice: ModelChoice, path: Path, shown: str) -> Iterator[Finding]:
    from pagecompiler.engine.llama.loading import memory_plan
    from pagecompiler.engine.shape import read_shape
    from pagecompiler.engine.types import Decoding
    from pagecompiler.engine_maker import with_trimmed_head
    from pagecompiler.prompts import FORMAT

    again = "download the file again: pagec model pull"
    try:
        shape = read_shape(path)
        if shape.missing_bytes:
            yield Finding("model", "problem", f"{shown}: {path} lacks {shape.missing_bytes} bytes", again)
            return
        if not shape.has_template:
            yield Finding("model", "problem", f"{shown}: {path} has no chat template", "use a chat (instruct) model")
            return
        if choice.format not in (None, FORMAT):
            text = f"{shown}: it has pagec.format {choice.format}, this pagec needs {FORMAT}"
            yield Finding("model", "problem", text, "use the model that comes with pagec: --model pagec-mini")
            return
        decoding = with_trimmed_head(Decoding(), choice)
        wanted = memory_plan(path, context_tokens=choice.block_tokens, decoding=decoding)
        block = "with" if shape.mtp_layers else "without"
        yield Finding("model", "ok", f"{shown}: {path}, {path.stat().st_size / _GB:.2f} GB, {block} MTP block")
        if decoding.draft_model is not None:
            yield Finding("guesses", "ok", f"from {decoding.draft_model.name}, the trimmed head beside the model")
        yield _measured(path)
        if wanted is not None:
            plan = fitted(wanted)
            text = plan.describe().removeprefix("memory: ")
            yield Finding("memory", "ok", f"{text}, as many as the largest block needs")
            for line in (*changes(wanted, plan), *plan.warnings()):
                yield Finding("memory", "note", line.removeprefix("memory: "))
    except EngineError as error:
        yield Finding("model", "problem", f"{shown}: {error.message}", error.hint or again)


def _measured(path: Path) -> Finding:
    """The verdicts of `pagec bench` from which `--method auto` starts here."""
    from pagecompiler.engine.llama.tuning import Tuning, verdict_key
    from pagecompiler.models import tuning_path

    verdicts = sorted(Tuning(tuning_path()).verdicts(verdict_key(path)).values(), key=lambda found: found.lanes)
    if not verdicts:
        return Finding("bench", "ok", "nothing measured yet; `pagec bench SPEC` finds this model's fastest method")
    said = (
        f"with {found.lanes} {'lane' if found.lanes == 1 else 'lanes'} {found.method}"
        + (f" {found.depth}, {found.ratio:.2f} times plain" if found.depth else " decoding wins")
        + f" ({found.date})"
        for found in verdicts
    )
    return Finding("bench", "ok", "; ".join(said))


def _hub() -> Finding:
    if find_spec("huggingface_hub") is None:
        fix = f"{sys.executable} -m pip install 'pagec[hub]'"
        return Finding("hub", "note", "`pagec model pull` needs huggingface_hub", fix)
    return Finding("hub", "ok", f"huggingface_hub {_version('huggingface_hub')}")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"

"""The machine and the model as figures, and how fast memory is read."""

from __future__ import annotations

import platform
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter

import numpy as np
import numpy.typing as npt

from pagecompiler.bench.figures import MachineFigures, ModelFigures
from pagecompiler.bench.memory import total_memory
from pagecompiler.engine.hardware import model_threads
from pagecompiler.engine.shape import EMBEDDING, HEAD, MTP_BLOCK, Shape, read_shape
from pagecompiler.models import ModelChoice

LARGEST_BUFFER = 1 << 29
PASSES = 3

Bytes = npt.NDArray[np.uint8]

_CPU_INFO = Path("/proc/cpuinfo")
_CPU_NAME = re.compile(r"^model name\s*:\s*(.+)$", re.MULTILINE)


def describe_machine(model: ModelChoice, threads: int | None = None) -> MachineFigures:
    """What can be said of the machine that runs a model without measuring; nothing names the host.

    `threads` is what the user wants. Raises ModelLoadError for a file that is no model.
    """
    here = MachineFigures(f"{platform.system()} {platform.machine()}", platform.python_version(), _version())
    if model.servers:
        return here
    here = replace(here, processor=_processor(), threads=1, memory_bytes=total_memory())
    if model.path is None:  # by rule: Python alone
        return here
    from pagecompiler.engine.llama.library import devices, native_support

    return replace(
        here,
        threads=threads or model_threads(read_shape(model.path).parameters),
        gpus=tuple(device.description for device in devices() if device.gpu),
        llama_cpp=f"llama-cpp-python {native_support().version}",
    )


def measure_bandwidth(threads: int, *, size: int | None = None) -> float:
    """Bytes a second that memory moves when `threads` threads copy a buffer, the best of some passes.

    A copied byte is read once and written once. The buffer is larger than any cache, and at most an eighth of memory.
    """
    if size is None:
        size = min(LARGEST_BUFFER, (total_memory() or 8 * LARGEST_BUFFER) // 16)
    source, target = np.ones(size, np.uint8), np.empty(size, np.uint8)
    parts = list(zip(np.array_split(source, threads), np.array_split(target, threads), strict=True))

    def copy(part: tuple[Bytes, Bytes]) -> None:
        np.copyto(part[1], part[0])

    best = float("inf")
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(1 + PASSES):  # the first one also brings the target into memory
            started = perf_counter()
            list(pool.map(copy, parts))
            best = min(best, perf_counter() - started)
    return 2 * size / best


def describe_model(model: ModelChoice, draft: Path | None = None, trimmed: Path | None = None) -> ModelFigures:
    """Sizes from the headers of the files; `trimmed` is the MTP file that is used instead of the model's own block."""
    if model.path is None:
        return ModelFigures(model.name, servers=model.servers)
    shape = read_shape(model.path)
    block = _part(shape, MTP_BLOCK)
    head = _head(shape)
    mtp_head, used = head, shape
    if trimmed is not None:
        used = read_shape(trimmed)
        block, mtp_head = _part(used, MTP_BLOCK), _head(used)
    small = read_shape(draft) if draft is not None else None
    return ModelFigures(
        name=model.name,
        file_bytes=shape.file_size,
        target_bytes=read_in_a_pass(shape),
        head_bytes=head,
        mtp_bytes=block,
        mtp_head_bytes=mtp_head if block else 0,
        mtp_vocabulary=used.vocabulary if block else 0,
        layers=shape.attention_layers + shape.recurrent_layers,
        vocabulary=shape.vocabulary,
        draft_name="" if draft is None else draft.stem,
        draft_bytes=0 if small is None else read_in_a_pass(small),
        draft_layers=0 if small is None else small.attention_layers + small.recurrent_layers,
    )


def read_in_a_pass(shape: Shape) -> int:
    """The weights that one pass reads: not the MTP block, and of the embedding only a row a token."""
    outside = 0 if shape.tied_head else _part(shape, EMBEDDING)
    return shape.weights - _part(shape, MTP_BLOCK) - outside


def _head(shape: Shape) -> int:
    return _part(shape, EMBEDDING if shape.tied_head else HEAD)


def _part(shape: Shape, name: str) -> int:
    part = shape.part(name)
    return 0 if part is None else part.size


def _processor() -> str:
    try:
        found = _CPU_NAME.search(_CPU_INFO.read_text(encoding="utf-8", errors="replace"))
    except OSError:
        found = None
    return found[1].strip() if found else platform.processor() or "unknown"


def _version() -> str:
    try:
        return version("pagec")
    except PackageNotFoundError:
        return "unknown"

"""How a model is laid onto a machine: threads, layers on GPUs, passes, and the number formats of the KV cache."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pagecompiler.engine.ggml_types import TYPES, TensorType

KV_TYPES: dict[str, int] = {
    "f32": 0, "f16": 1, "bf16": 30, "q8_0": 8, "q5_1": 7, "q5_0": 6, "q4_1": 3, "q4_0": 2,
}  # fmt: skip
"""The formats that llama.cpp has a KV cache in, by the number of ggml."""

_CPUS = Path("/sys/devices/system/cpu")
_CPU_LIMIT = Path("/sys/fs/cgroup/cpu.max")

SMALL_MODEL_PARAMETERS = 16_000_000
"""A pass of fewer is over before a second thread is awake."""

MOST_REPLICAS = 2


class FlashAttention(StrEnum):
    """Whether attention is computed in one fused kernel; `AUTO` where the device has one."""

    AUTO = "auto"
    ON = "on"
    OFF = "off"


class SplitMode(StrEnum):
    """How several GPUs share a model: whole layers each, the rows of each matrix, or not at all (the first GPU).

    llama.cpp's fourth way, `tensor`, is left out: it is reported to crash together with a multi-token-prediction block.
    """

    LAYER = "layer"
    ROW = "row"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Hardware:
    """None leaves the choice to the machine: `threads` by its cores and the model's size, all `gpu_layers` that fit,
    `ubatch` prompt tokens a pass by whether a GPU computes them.

    `kv_k` and `kv_v` are names of KV_TYPES. They round differently, so another format may write another text. Raises
    ValueError for a combination that llama.cpp can do with no model.
    """

    threads: int | None = None
    gpu_layers: int | None = None
    split_mode: SplitMode = SplitMode.LAYER
    flash_attention: FlashAttention = FlashAttention.AUTO
    kv_k: str = "f16"
    kv_v: str = "f16"
    ubatch: int | None = None

    def __post_init__(self) -> None:
        if self.kv_types[1].block > 1 and self.flash_attention is FlashAttention.OFF:
            raise ValueError(f"without flash attention the values of the KV cache cannot be {self.kv_v}, but f16")

    @property
    def kv_types(self) -> tuple[TensorType, TensorType]:
        """The formats of keys and of values."""
        return TYPES[KV_TYPES[self.kv_k]], TYPES[KV_TYPES[self.kv_v]]


DEFAULT_HARDWARE = Hardware()


def parse_kv_types(text: str) -> tuple[str, str]:
    """`q8_0` for keys and values, or `q8_0,f16` for each. Raises ValueError.

    >>> parse_kv_types("q8_0,f16")
    ('q8_0', 'f16')
    """
    keys, comma, values = text.partition(",")
    found = keys.strip().lower(), (values if comma else keys).strip().lower()
    for name in found:
        if name not in KV_TYPES:
            raise ValueError(f"`{name}` is no format of the KV cache; there are {', '.join(KV_TYPES)}")
    return found


def model_threads(parameters: int) -> int:
    """How many threads run a model of this size best: one for a small one.

    A pass waits for all threads some hundred times. Threads that sleep meanwhile wake up too late for a small model,
    and threads that spin instead bring everything to a stop when another program wants a core.
    """
    return 1 if parameters < SMALL_MODEL_PARAMETERS else usable_threads()


def replica_count(parameters: int, threads: int | None = None) -> int:
    """How many engines of a model of this size write the most tokens a second together: two of a small one.

    `threads` are those of each. Two are as fast as the process that plans and links the pages between them.
    """
    if parameters >= SMALL_MODEL_PARAMETERS:
        return 1
    return max(1, min(MOST_REPLICAS, usable_threads() // (threads or model_threads(parameters))))


def usable_threads() -> int:
    """The cores that this process may use: of two threads of one core only one, and no more than a container allows.

    A pass waits for memory, which the second thread of a core does not make faster.
    """
    if not hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        return os.cpu_count() or 1
    mine = os.sched_getaffinity(0)
    cores = {_core(cpu) for cpu in mine}
    return max(1, min(len(cores), _allowed() or len(cores)))


def _core(cpu: int) -> str:
    """What names the core of a CPU: the list of its threads."""
    try:
        return (_CPUS / f"cpu{cpu}" / "topology" / "thread_siblings_list").read_text(encoding="ascii").strip()
    except OSError:
        return str(cpu)


def _allowed() -> int | None:
    """How many CPUs' worth of time a container gives; None without a limit."""
    if sys.platform != "linux":
        return None
    try:
        quota, period = _CPU_LIMIT.read_text(encoding="ascii").split()
        return -(-int(quota) // int(period))
    except (OSError, ValueError):  # `max` is no number
        return None

"""The memory plan: what of a model goes where on this machine, decided before anything is loaded.

Where everything does not fit there are fewer snapshots first, then a smaller context, then fewer layers on the GPU;
each of them is said, and nothing else is ever changed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pagecompiler.engine.base import OutOfMemoryError
from pagecompiler.engine.memory import MIB, Load, device_need, memory_need
from pagecompiler.engine.shape import Shape

ALL_LAYERS = -1
CONTEXT_STEP = 256
_GIB = 1 << 30
_RESERVED = 256 * MIB  # for the driver and for what its reports leave out
_RESERVED_SHARE = 0.03


@dataclass(frozen=True, slots=True)
class Machine:
    """Free bytes: of the host, None where that is not known, and of all GPUs together; and their names."""

    host_free: int | None
    gpu_free: int = 0
    gpus: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MemoryPlan:
    """How a model is to be loaded. `layers` is the number on GPUs; `extra` are the bytes of a draft model."""

    shape: Shape
    load: Load
    layers: int
    machine: Machine
    extra: int = 0
    floor: int = CONTEXT_STEP

    @property
    def gpu_layers(self) -> int:
        """As llama.cpp takes it: -1 for all, the head included."""
        return ALL_LAYERS if self.layers and self.layers == self.shape.layers else self.layers

    @property
    def on_device(self) -> int:
        """Bytes on the GPUs."""
        return device_need(self.shape, self.load, self.layers) + (self.extra if self.layers else 0)

    @property
    def on_host(self) -> int:
        """Bytes in the memory of the host, with the weights that are read from the file there."""
        return memory_need(self.shape, self.load).total + self.extra - self.on_device

    @property
    def fits(self) -> bool:
        """Whether what must be in memory is; weights on the host are pages of the file, which can be read again."""
        machine = self.machine
        if self.on_device > machine.gpu_free * (1 - _RESERVED_SHARE) - _RESERVED and self.layers:
            return False
        return machine.host_free is None or self.on_host - self._host_weights <= machine.host_free

    @property
    def _host_weights(self) -> int:
        weights = memory_need(self.shape, self.load).weights
        return int(weights * (1 - self.layers / max(1, self.shape.layers)))

    def describe(self) -> str:
        """One line: what goes where."""
        load, parts = self.load, []
        if self.machine.gpus:
            where = ", ".join(self.machine.gpus)
            of = f" of {_size(self.machine.gpu_free)} free" if self.machine.gpu_free else ""
            parts.append(f"{_size(self.on_device)}{of} on {where} ({self.layers} of {self.shape.layers} layers)")
        free = "" if self.machine.host_free is None else f" of {_size(self.machine.host_free)} free"
        parts.append(f"{_size(self.on_host)}{free} in main memory")
        return f"memory: {'; '.join(parts)}; lanes {load.lanes}, depth {load.depth}, {load.context} tokens a lane"

    def warnings(self) -> list[str]:
        """What will be slow, in one line each."""
        free = self.machine.host_free
        if free is None or self.on_host <= free:
            return []
        over = _size(self.on_host - free)
        return [f"memory: {over} more are needed than free, so weights are read from the disk again and again"]


def plan_memory(
    shape: Shape, wanted: Load, machine: Machine, *, extra: int = 0, floor: int = CONTEXT_STEP
) -> MemoryPlan:
    """The plan nearest to `wanted` that fits, with all layers on the GPUs; a lane gets no less than `floor` tokens.

    Raises OutOfMemoryError when none does.
    """
    return fitted(MemoryPlan(shape, wanted, shape.layers if machine.gpu_free else 0, machine, extra, floor))


def fitted(wanted: MemoryPlan) -> MemoryPlan:
    """The plan nearest to this one that fits. Raises OutOfMemoryError when none does."""
    plan: MemoryPlan | None = wanted
    while plan is not None:
        if plan.fits:
            return plan
        plan = smaller(plan)
    load = wanted.load
    least = replace(
        wanted, load=replace(load, depth=min(1, load.depth), context=min(wanted.floor, load.context)), layers=0
    )
    raise OutOfMemoryError(
        f"the model needs {_size(least.on_host - least._host_weights)} of memory besides its weights,"
        f" {_size(wanted.machine.host_free or 0)} are free",
        hint="use fewer lanes with --lanes, --method plain, or a smaller model",
    )


def smaller(plan: MemoryPlan, *, layers: int = 1) -> MemoryPlan | None:
    """The plan to try when this one does not fit; None when there is none. `layers` leave the GPU at once."""
    return next(_smaller(plan, layers), None)


def _smaller(plan: MemoryPlan, layers: int) -> Iterator[MemoryPlan]:
    load = plan.load
    if plan.shape.state_bytes and load.depth > 1:
        yield replace(plan, load=replace(load, depth=load.depth - 1))
    if load.context > plan.floor:
        context = max(plan.floor, load.context * 3 // 4 // CONTEXT_STEP * CONTEXT_STEP)
        yield replace(plan, load=replace(load, context=context))
    if plan.layers > 0:
        yield replace(plan, layers=max(0, plan.layers - layers))


def changes(before: MemoryPlan, after: MemoryPlan) -> list[str]:
    """What is less than before, in one line each."""
    old, new = before.load, after.load
    lines = []
    if new.depth != old.depth:
        lines.append(f"memory: {old.depth} snapshots do not fit, guesses are at most {new.depth} deep")
    if new.context != old.context:
        lines.append(f"memory: {old.context} tokens a lane do not fit, there are {new.context}")
    if after.layers != before.layers:
        lines.append(f"memory: {after.layers} of {after.shape.layers} layers are on the GPU, the others are slow")
    return lines


def host_free_bytes() -> int | None:
    """What a program can still take of the main memory; None where that cannot be found out."""
    if sys.platform != "linux":
        return None
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return None
    return min([free, *_control_group_room()])


def _control_group_room() -> list[int]:
    """What a container may still take, where it has a limit."""
    folder = Path("/sys/fs/cgroup")
    try:
        limit = int((folder / "memory.max").read_text(encoding="ascii"))
        used = int((folder / "memory.current").read_text(encoding="ascii"))
        cached = 0
        for line in (folder / "memory.stat").read_text(encoding="ascii").splitlines():
            name, _, value = line.partition(" ")
            cached += int(value) if name in ("inactive_file", "active_file") else 0
    except (OSError, ValueError):  # no such limit: `max` is no number
        return []
    return [max(0, limit - used + cached)]


def _size(size: int) -> str:
    return f"{size / _GIB:.1f} GiB" if size >= _GIB // 10 else f"{size / MIB:.0f} MiB"

"""Loading a model by a plan: what memory allows is decided before, and corrected when llama.cpp says otherwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from pagecompiler.engine.base import ModelLoadError, OutOfMemoryError
from pagecompiler.engine.hardware import FlashAttention, Hardware, SplitMode
from pagecompiler.engine.llama.chat import PromptWriter
from pagecompiler.engine.llama.engine import (
    CPU_CHUNK,
    DEFAULT_CONTEXT_TOKENS,
    DEFAULT_LANES,
    GPU_CHUNK,
    PLAIN,
    LlamaEngine,
    model_template,
)
from pagecompiler.engine.llama.library import Model, devices
from pagecompiler.engine.llama.methods import deepest_guess, longest_stride, plan_methods
from pagecompiler.engine.memory import Load, memory_need
from pagecompiler.engine.planner import Machine, MemoryPlan, changes, fitted, host_free_bytes, smaller
from pagecompiler.engine.room import Demand, Room, estimated_room, kept_tokens, shared_room
from pagecompiler.engine.shape import Shape, read_shape
from pagecompiler.engine.types import Decoding, Method

FLOOR_CONTEXT_TOKENS = 2816
"""The least room of a lane: every block of the sample specs fits, with full prompts and its whole budget."""

_FUSED_ON_CUDA = ("f16", "bf16", "q8_0", "q4_0")
"""What llama.cpp compiles kernels for by default; its build prints the list."""

_LAYER_STEPS = 4  # each try reads the file again


def load_engine(
    path: Path,
    *,
    lanes: int = DEFAULT_LANES,
    context_tokens: int = DEFAULT_CONTEXT_TOKENS,
    demands: Sequence[Demand] = (),
    decoding: Decoding = PLAIN,
    tuning: Path | None = None,
    verbose: bool = False,
    machine: Machine | None = None,
    make: Callable[..., LlamaEngine] = LlamaEngine,
) -> LlamaEngine:
    """The engine of a model with as much as fits into memory; its `notes` say what is less than asked for.

    `context_tokens` is the most that a block may need. With `demands`, what is to be written first, the lanes get
    room for these, and share it; else each gets as much as a block may need. With `verbose` the notes also say what
    goes where. Raises OutOfMemoryError when nothing helps, and ModelLoadError.
    """

    def planned(need: Room) -> MemoryPlan | None:
        room = shared_room(need, lanes, context_tokens)
        return memory_plan(
            path, lanes=lanes, context_tokens=room.lane, kept_tokens=room.kept, decoding=decoding, machine=machine
        )

    need = estimated_room(demands)
    wanted = planned(need)
    if wanted is None:
        return make(path, lanes=lanes, context_tokens=context_tokens, decoding=decoding, tuning=tuning)
    if demands and not wanted.fits:
        # Reading a large vocabulary takes a second: only where memory is short it is worth to count.
        need = _counted_room(path, demands)
        wanted = planned(need) or wanted
    plan: MemoryPlan | None = fitted(wanted)
    problem = OutOfMemoryError("the model does not fit into memory")
    while plan is not None:
        try:
            engine = make(
                path,
                lanes=lanes,
                context_tokens=plan.load.context,
                kept_tokens=plan.load.kept,
                gpu_layers=plan.gpu_layers,
                decoding=decoding,
                tuning=tuning,
                deepest=plan.load.depth,
            )
        except OutOfMemoryError as error:
            problem, plan = error, smaller(plan, layers=max(1, plan.shape.layers // _LAYER_STEPS))
            continue
        said = [plan.describe()] if verbose else []
        if verbose and decoding.method is Method.AUTO:
            said.append(f"auto: guesses by {engine.sources}")
        said += _unused(decoding.hardware, plan.machine)
        said += _untrained(shared_room(need, lanes, context_tokens).lane, plan.shape.trained_context)
        engine.notes = (*said, *changes(wanted, plan), *plan.warnings(), *engine.notes)
        return engine
    problem.hint = "use fewer lanes with --lanes, --method plain, or a smaller model"
    raise problem


def memory_plan(
    path: Path,
    *,
    lanes: int = DEFAULT_LANES,
    context_tokens: int = DEFAULT_CONTEXT_TOKENS,
    kept_tokens: int = 0,
    decoding: Decoding = PLAIN,
    machine: Machine | None = None,
) -> MemoryPlan | None:
    """All that was asked for on this machine, whether it fits or not; None when the header does not tell enough.

    Raises ModelLoadError as `plan_methods` does.
    """
    hardware = decoding.hardware
    methods = plan_methods(path, decoding)
    try:
        shape = read_shape(path)
        draft = read_shape(decoding.draft_model) if decoding.draft_model is not None else None
    except ModelLoadError:  # a format newer than this reader: llama.cpp may know it
        return None
    machine = machine if machine is not None else this_machine(hardware.split_mode)
    chunk = hardware.ubatch or (GPU_CHUNK if machine.gpu_free else CPU_CHUNK)
    depth = deepest_guess(methods)
    outputs = max(lanes * (1 + depth), 1 + longest_stride(methods, max(1, shape.vocabulary)))
    context = min(context_tokens, shape.trained_context or context_tokens)
    own = methods.main is Method.MTP and draft is None
    fused = hardware.flash_attention is not FlashAttention.OFF
    load = Load(lanes, depth, context, chunk, outputs, own, hardware.kv_types, fused, kept_tokens)
    extra = _draft_bytes(draft, load, methods.main) if draft is not None else 0
    layers = shape.layers if machine.gpu_free else 0
    if hardware.gpu_layers is not None:
        layers = min(layers, hardware.gpu_layers)
    return MemoryPlan(shape, load, layers, machine, extra, min(FLOOR_CONTEXT_TOKENS, context))


def this_machine(split: SplitMode = SplitMode.LAYER) -> Machine:
    """What is free here, now, on all GPUs or on the first one."""
    gpus = [device for device in devices() if device.gpu]
    if split is SplitMode.NONE:
        gpus = gpus[:1]
    return Machine(host_free_bytes(), sum(gpu.free for gpu in gpus), tuple(gpu.name for gpu in gpus))


def _counted_room(path: Path, demands: Sequence[Demand]) -> Room:
    """What `estimated_room` estimates, counted with the model's own vocabulary and template."""
    model = Model(path, measure_only=True)
    try:
        writer = PromptWriter(model, model_template(model))
        prompts = [writer.write(demand.messages) for demand in demands]
    finally:
        model.close()
    needed = max(len(prompt.tokens) + demand.max_tokens for prompt, demand in zip(prompts, demands, strict=True))
    shared = {demand.messages[:1]: prompt.shared for prompt, demand in zip(prompts, demands, strict=True)}
    return Room(needed, kept_tokens(shared))


def _unused(hardware: Hardware, machine: Machine) -> list[str]:
    """What was asked for and means nothing here, or is slow."""
    if hardware.gpu_layers and not machine.gpus:
        return [f"llama.cpp sees no GPU for {hardware.gpu_layers} layers, the model runs on the CPU; see pagec doctor"]
    on_cuda = any(name.startswith("CUDA") for name in machine.gpus)
    if on_cuda and (hardware.kv_k != hardware.kv_v or hardware.kv_k not in _FUSED_ON_CUDA):
        return [
            f"llama.cpp for CUDA has no flash attention for keys in {hardware.kv_k} and values in {hardware.kv_v},"
            f" which is slow; it has one for both in {', '.join(_FUSED_ON_CUDA)}"
        ]
    return []


def _untrained(asked: int, trained: int) -> list[str]:
    """That a lane gets less than it may need, because the model knows no longer texts."""
    return [f"the model was trained for {trained} tokens, a lane gets no more"] if 0 < trained < asked else []


def _draft_bytes(draft: Shape, load: Load, method: Method) -> int:
    depth = 0 if method is Method.DRAFT else load.depth
    return memory_need(draft, replace(load, depth=depth, mtp=method is Method.MTP)).total

"""What `pagec model info` tells of a file: as an object, and as lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pagecompiler.engine.base import OutOfMemoryError
from pagecompiler.engine.memory import MIB, Load, memory_need, token_bytes
from pagecompiler.engine.planner import Machine, MemoryPlan, changes, fitted
from pagecompiler.engine.shape import MTP_BLOCK, Part, Shape

LANES = (1, 5)
DEPTHS = (0, 1, 2, 3, 4)


def model_json(path: Path, shape: Shape, context: int, wanted: MemoryPlan) -> dict[str, Any]:
    """The object of `--json`; sizes in bytes. `wanted` is the plan of everything on this machine."""
    block = shape.part(MTP_BLOCK)
    return {
        "version": 1,
        "file": str(path),
        "name": shape.name,
        "architecture": shape.architecture,
        "bytes": shape.file_size,
        "missing_bytes": shape.missing_bytes,
        "parts": [_part_json(part) for part in shape.parts],
        "mtp": None if block is None else {"layers": shape.mtp_layers, **_part_json(block)},
        "tied_head": shape.tied_head,
        "vocabulary": shape.vocabulary,
        "width": shape.width,
        "attention_layers": shape.attention_layers,
        "recurrent_layers": shape.recurrent_layers,
        "trained_context": shape.trained_context,
        "chat_template": shape.has_template,
        "thinking_can_be_switched_off": shape.thinking,
        "pagec_format": shape.pagec_format,
        "token_bytes": token_bytes(shape.kv_numbers, wanted.load),
        "state_bytes": shape.state_bytes,
        "context": context,
        "memory": [_memory_row(shape, context, lanes, depth) for lanes in LANES for depth in _depths(shape)],
        "machine": _machine_json(wanted),
    }


def model_lines(report: dict[str, Any]) -> list[str]:
    """The same for a reader."""
    mtp, missing = report["mtp"], report["missing_bytes"]
    layers = f"{report['attention_layers']} attention and {report['recurrent_layers']} recurrent layers"
    tied = ", the embedding is the output head" if report["tied_head"] else ""
    thinking = "thinking is switched off" if report["thinking_can_be_switched_off"] else "no thinking to switch off"
    rows = [
        ("file", report["file"]),
        ("architecture", f"{report['architecture']}: {layers}{tied}"),
        ("size", _mib(report["bytes"]) + (f", {missing} BYTES ARE MISSING" if missing else ", all there")),
        ("MTP block", _part_text(mtp) if mtp else "none: --method mtp is not possible with this file"),
        ("vocabulary", f"{report['vocabulary']} tokens"),
        ("context", f"{report['trained_context']} tokens"),
        ("chat template", f"yes, {thinking}" if report["chat_template"] else "NONE: not a chat model"),
    ]
    if report["pagec_format"] is not None:
        rows.append(("pagec.format", str(report["pagec_format"])))
    lines = [f"{name:<14}{text}" for name, text in rows]
    lines += ["", "parts"]
    lines += [f"  {part['name']:<18}{_part_text(part)}" for part in report["parts"]]
    lines += ["", f"memory in MiB, with {report['context']} tokens a lane"]
    lines.append("  lanes depth  weights    cache   states  working   in all")
    for row in report["memory"]:
        sizes = [row[name] for name in ("weights", "cache", "states", "working", "total")]
        cells = " ".join(f"{size / MIB:>8.0f}" for size in sizes)
        lines.append(f"  {row['lanes']:>5} {row['depth']:>5} {cells}")
    machine = report["machine"]
    lines += ["", "this machine", *(f"  {line}" for line in machine["lines"])]
    return lines


def _depths(shape: Shape) -> tuple[int, ...]:
    return DEPTHS if shape.mtp_layers or shape.state_bytes else DEPTHS[:1]


def _part_json(part: Part) -> dict[str, Any]:
    return {"name": part.name, "bytes": part.size, "types": dict(part.types)}


def _mib(size: int) -> str:
    return f"{size / MIB:,.1f} MiB"


def _part_text(part: dict[str, Any]) -> str:
    types = ", ".join(f"{name} {100 * size / max(1, part['bytes']):.0f} %" for name, size in part["types"].items())
    return f"{_mib(part['bytes'])} ({types})"


def _memory_row(shape: Shape, context: int, lanes: int, depth: int) -> dict[str, int]:
    load = Load(lanes, depth, context, chunk=512, outputs=lanes * (1 + depth), mtp=depth > 0 and shape.mtp_layers > 0)
    need = memory_need(shape, load)
    return {
        "lanes": lanes,
        "depth": depth,
        "weights": need.weights,
        "cache": need.cache,
        "states": need.states,
        "working": need.working + need.output,
        "total": need.total,
    }


def _machine_json(wanted: MemoryPlan) -> dict[str, Any]:
    machine: Machine = wanted.machine
    try:
        plan = fitted(wanted)
    except OutOfMemoryError as error:
        runs, lines = False, [error.message, error.hint]
    else:
        runs, lines = True, [plan.describe(), *changes(wanted, plan), *plan.warnings()]
    return {
        "runs": runs,
        "gpus": list(machine.gpus),
        "gpu_free_bytes": machine.gpu_free,
        "host_free_bytes": machine.host_free,
        "lines": lines,
    }

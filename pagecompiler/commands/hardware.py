"""How a model is laid onto the machine: the options that every build command shares."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from pagecompiler.commands.screen import fail

if TYPE_CHECKING:
    from pagecompiler.engine.hardware import Hardware

HARDWARE_NAMES = ("threads", "gpu_layers", "split_mode", "flash_attention", "kv_type", "ubatch")


def _kv_type(context: click.Context, parameter: click.Parameter, value: str) -> str:
    from pagecompiler.engine.hardware import parse_kv_types

    try:
        parse_kv_types(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return value


def hardware_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options; all of them are for a model that runs here."""
    number = click.IntRange
    for option in (
        click.option("--ubatch", type=number(16, 8192), metavar="N",
                     help="Prompt tokens in one pass.  [default: 512 on a GPU, 128 on a CPU, where a pass cannot be"
                          " interrupted]"),
        click.option("--kv-type", callback=_kv_type, default="f16", show_default=True, metavar="TYPE[,TYPE]",
                     help="Format of the KV cache, or of its keys and its values: f16, bf16, f32, q8_0, q5_1, q5_0,"
                          " q4_1, q4_0."),
        click.option("--flash-attention", type=click.Choice(["auto", "on", "off"]), default="auto", show_default=True,
                     help="Auto uses it where the device has it."),
        click.option("--split-mode", type=click.Choice(["layer", "row", "none"]), default="layer", show_default=True,
                     help="How several GPUs share a model; none takes the first one only."),
        click.option("--gpu-layers", type=number(0, 10_000), metavar="N",
                     help="Layers on GPUs at most; 0 keeps the model off them.  [default: as many as fit]"),
        click.option("--threads", type=number(1, 1024), metavar="N",
                     help="Threads of a model on the CPU.  [default: the cores; pagec-mini takes one]"),
    ):  # fmt: skip
        command = option(command)
    return command


def hardware_of(options: dict[str, Any]) -> Hardware:
    """What the options say; exits with 2 when they do not go together."""
    from pagecompiler.engine.hardware import FlashAttention, Hardware, SplitMode, parse_kv_types

    keys, values = parse_kv_types(options["kv_type"])
    try:
        return Hardware(
            threads=options["threads"],
            gpu_layers=options["gpu_layers"],
            split_mode=SplitMode(options["split_mode"]),
            flash_attention=FlashAttention(options["flash_attention"]),
            kv_k=keys,
            kv_v=values,
            ubatch=options["ubatch"],
        )
    except ValueError as error:
        fail(f"--kv-type {options['kv_type']} --flash-attention {options['flash_attention']}: {error}", 2)

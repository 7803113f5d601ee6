"""`pagec model`: which models there are, what a file is; and the group that the other model commands join."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from pagecompiler.commands.pull import pull_command
from pagecompiler.commands.screen import CONTEXT, fail
from pagecompiler.commands.trim import trim_command


@click.group("model", context_settings=CONTEXT)
def model_group() -> None:
    """The models on this machine.

    \b
    pagec model pull
    pagec model list
    pagec model info qwen3.5-9b
    """


model_group.add_command(pull_command)
model_group.add_command(trim_command)


@model_group.command("list", context_settings=CONTEXT)
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def list_command(as_json: bool) -> None:
    """The names that --model takes; * marks the one used here."""
    from pagecompiler.engine.trimmed import is_trimmed
    from pagecompiler.model_store import models_dir, stored_models
    from pagecompiler.models import MINI, PACKAGED, REFERENCE
    from pagecompiler.resources import data_path

    default = _default()
    entries: list[dict[str, Any]] = []
    for name in PACKAGED:
        path = data_path("models") / f"{name}.gguf"
        origin = "included" if name == MINI else "included, for --draft-model"
        if path.is_file():
            entries.append({"name": name, "file": str(path), "bytes": path.stat().st_size, "origin": origin})
    entries.append({"name": REFERENCE, "file": None, "bytes": 0, "origin": "rules, no model"})
    for model in stored_models():
        origin = model.origin or ("a trimmed draft head" if is_trimmed(model.path) else "put there by hand")
        entries.append({"name": model.name, "file": str(model.path), "bytes": model.size, "origin": origin})
    for entry in entries:
        entry["default"] = entry["name"] == default
    if as_json:
        click.echo(json.dumps({"version": 1, "folder": str(models_dir()), "models": entries}, ensure_ascii=False))
        return
    width = max(len(entry["name"]) for entry in entries)
    for entry in entries:
        mark = "*" if entry["default"] else " "
        click.echo(f"{mark} {entry['name']:<{width}}  {entry['bytes'] / 1e9:>6.2f} GB  {entry['origin']}")
    click.echo(f"folder: {models_dir()}", err=True)


def _default() -> str:
    """The name of the model that a build takes here; empty when the one that was named is not there."""
    from pagecompiler.config import read_config
    from pagecompiler.diagnostics import CompileError
    from pagecompiler.engine.base import EngineError
    from pagecompiler.models import ModelNotFoundError, choose_model

    try:
        return choose_model(None, read_config(Path())).name
    except (ModelNotFoundError, EngineError, CompileError):
        return ""


@model_group.command("info", context_settings=CONTEXT)
@click.argument("model", metavar="FILE|NAME")
@click.option(
    "--context", type=click.IntRange(256), help="Tokens a lane.  [default: what the largest block needs: 6144, or 4096]"
)
@click.option("--lanes", type=click.IntRange(1, 64), default=5, show_default=True, help="For the plan of this machine.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def info_command(model: str, context: int | None, lanes: int, as_json: bool) -> None:
    """What a GGUF file is, and what this machine can run of it.

    Parts, MTP block and memory come from its header alone. The MTP block is known by its tensors, whatever the file is
    called.
    """
    from pagecompiler.engine.base import EngineError
    from pagecompiler.engine.llama.loading import memory_plan
    from pagecompiler.engine.shape import read_shape
    from pagecompiler.engine.types import Decoding
    from pagecompiler.model_report import model_json, model_lines
    from pagecompiler.models import ModelNotFoundError, block_tokens, model_file

    try:
        path = model_file(model, "FILE|NAME")[1]
        shape = read_shape(path)
        context = context or block_tokens(shape.pagec_format)
        wanted = memory_plan(path, lanes=lanes, context_tokens=context, decoding=Decoding())
    except ModelNotFoundError as error:
        fail(str(error), error.exit_code)
    except EngineError as error:
        fail(f"{error.message}. {error.hint}".strip(), error.exit_code)
    if wanted is None:
        fail(f"{path} tells too little", 1)
    report = model_json(path, shape, context, wanted)
    if as_json:
        click.echo(json.dumps(report, ensure_ascii=False))
        return
    for line in model_lines(report):
        click.echo(line)

"""The options that compile and every later build command share, and what they mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pagecompiler.commands.screen import fail

if TYPE_CHECKING:
    from pagecompiler.build import CompileOptions
    from pagecompiler.models import ModelChoice


def build_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options that compile and every later build command share."""
    number = click.IntRange
    for option in (
        click.option("--keep-failed", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
                     help="Keep what the model wrote when it was refused."),
        click.option("--force", is_flag=True, help="Write every block again; the cache is filled, not read."),
        click.option("--no-cache", is_flag=True, help="Neither read nor fill the cache."),
        click.option("--cache-dir", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
                     envvar="PAGEC_CACHE_DIR", help="Where fragments are kept.  [default: .pagec at the project root]"),
        click.option("--seed", type=number(0, 2**32 - 1), default=0, show_default=True, help="Seed of the sampler."),
        click.option("--min-p", type=click.FloatRange(0, 1),
                     help="Drop tokens below this share of the likeliest.  [default: 0, for other models 0.05]"),
        click.option("--top-p", type=click.FloatRange(0, 1, min_open=True), default=1.0, show_default=True,
                     help="Keep the likeliest tokens up to this probability."),
        click.option("--top-k", type=number(0), default=0, show_default=True, help="Keep this many; 0 keeps all."),
        click.option("--temperature", type=click.FloatRange(0, 2),
                     help="0 takes the likeliest token.  [default: 0 for pagec-mini, 0.2 for other models]"),
        click.option("--attempts", type=number(1, 20), default=3, show_default=True,
                     help="How often a block may be written; 1 means no second try."),
        click.option("--prompts", type=click.Choice(["auto", "compact", "full"]), default="auto", show_default=True,
                     help="Compact prompts are for models trained on them, full ones for all others."),
        click.option("--lanes", type=number(1, 64), default=5, show_default=True, help="Blocks written at once."),
        click.option("--model", metavar="FILE|NAME",
                     help="A GGUF file, pagec-mini, or reference (rules only).  [default: PAGEC_MODEL or pagec-mini]"),
    ):  # fmt: skip
        command = option(command)
    return command


def model_option(option: str | None) -> ModelChoice:
    """The model that `--model` or its defaults name; exits with 2 when there is none."""
    from pagecompiler.engine.base import EngineError
    from pagecompiler.models import ModelNotFoundError, choose_model

    try:
        return choose_model(option)
    except ModelNotFoundError as error:
        fail(str(error), error.exit_code)
    except EngineError as error:
        fail(f"{error.message}. {error.hint}".strip(), 2)


def compile_options(options: dict[str, Any], model: ModelChoice, output: Path | None) -> CompileOptions:
    """The parsed options as one object."""
    from pagecompiler.build import CompileOptions
    from pagecompiler.prompts import PromptStyle

    cache = not options["no_cache"]
    given = {name: options[name] for name in ("temperature", "top_k", "top_p", "min_p", "seed")}
    prompts = options["prompts"]
    return CompileOptions(
        output=output,
        attempts=options["attempts"],
        lanes=options["lanes"],
        sampling=replace(model.sampling, **{name: value for name, value in given.items() if value is not None}),
        prompts=None if prompts == "auto" else PromptStyle(prompts),
        read_cache=cache and not options["force"],
        write_cache=cache,
        cache_dir=options["cache_dir"],
        keep_failed=options["keep_failed"],
    )

"""The options that compile and every later build command share, and what they mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from pagecompiler.commands.hardware import HARDWARE_NAMES, hardware_of, hardware_options
from pagecompiler.commands.screen import Screen, fail

if TYPE_CHECKING:
    from pagecompiler.build import CompileOptions
    from pagecompiler.config import Config
    from pagecompiler.engine.types import Decoding
    from pagecompiler.models import ModelChoice

MOST_GUESSED = 16
MOST_LANES_HERE = 64


def _depth(context: click.Context, parameter: click.Parameter, value: str) -> int | None:
    """`auto`, which is None, or a number of tokens."""
    if value == "auto":
        return None
    if not value.isascii() or not value.isdigit() or not 1 <= int(value) <= MOST_GUESSED:
        raise click.BadParameter(f"`{value}` is neither auto nor a number from 1 to {MOST_GUESSED}")
    return int(value)


def build_options(command: Callable[..., None]) -> Callable[..., None]:
    """The options that compile and every later build command share."""
    number = click.IntRange
    command = hardware_options(command)
    for option in (
        click.option("--keep-failed", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
                     help="Keep what the model wrote when it was refused."),
        click.option("--why", is_flag=True, help="Say why each block was built or reused."),
        click.option("--locked", is_flag=True, help="Fail where a block would have to be written."),
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
        click.option("--prefer", type=click.Choice(["latency", "throughput"]), default="latency", show_default=True,
                     help="Finish the page soonest, or write most tokens a second."),
        click.option("--no-previous", is_flag=True, help="Do not use the last page's fragments as guesses."),
        click.option("--draft-device", metavar="NAME", help="The device that the draft model runs on."),
        click.option("--draft-model", metavar="FILE|NAME", help="A smaller model of the same vocabulary."),
        click.option("--depth", callback=_depth, default="auto", metavar="auto|N", show_default=True,
                     help="How many tokens to guess at once."),
        click.option("--method", type=click.Choice(["auto", "plain", "draft", "mtp", "lookup"]), default="auto",
                     show_default=True, help="Where guesses come from; it changes the speed, not the page."),
        click.option("--lanes", type=number(1, 1024), default=5, show_default="5, in batch 10",
                     help=f"Blocks written at once; more than {MOST_LANES_HERE} only with --engine."),
        click.option("--engine", metavar="URL[,URL...]",
                     help="Running servers that speak the OpenAI protocol write, instead of a model here."),
        click.option("--model", metavar="FILE|NAME",
                     help="A GGUF file or a name of `pagec model list`.  [default: PAGEC_MODEL, config files,"
                          " the pulled qwen3.5-9b, pagec-mini]"),
    ):  # fmt: skip
        command = option(command)
    return command


def read_defaults(options: dict[str, Any], spec: str, screen: Screen) -> Config:
    """The config files for a spec; they fill the options that were not given. Exits with 2 when they are wrong."""
    from pagecompiler.config import read_config
    from pagecompiler.diagnostics import CompileError
    from pagecompiler.models import configured_model

    try:
        config = read_config(Path() if spec == "-" else Path(spec).parent)
    except CompileError as error:
        screen.report(error.diagnostics, error.sources)
        raise click.exceptions.Exit(2) from None
    context = click.get_current_context()
    for key, setting in config.settings.items():
        name = key.rpartition(".")[2]
        given = context.get_parameter_source(name) is not ParameterSource.DEFAULT
        if name in options and name not in ("model", "draft_model") and not given:
            options[name] = setting.value
    draft = config.get("decode.draft_model")
    # A method that was asked for by name must not fail for a draft model that it does not use.
    if draft is not None and options.get("draft_model") is None and options.get("method") in ("auto", "draft"):
        options["draft_model"] = str(_found(lambda: configured_model(draft)).path)
    return config


def chosen_model(options: dict[str, Any], spec: str, screen: Screen) -> ModelChoice:
    """The model to build with, which is said, by the options and the config files for a spec, which fill the options
    that were not given. Exits with 2 when there is none.
    """
    model = model_option(options["model"], read_defaults(options, spec, screen), options["engine"])
    screen.say(f"model: {model.name} ({model.source})")
    return model


def model_option(option: str | None, config: Config | None = None, servers: str | None = None) -> ModelChoice:
    """The model that `--model` or its defaults name, with `servers` theirs; exits with 2 when there is none."""
    from pagecompiler.models import choose_model

    if servers is not None:
        return _served(servers, option)
    return _found(lambda: choose_model(option, config))


def _served(servers: str, model: str | None) -> ModelChoice:
    from pagecompiler.engine.base import EngineError
    from pagecompiler.models import ModelNotFoundError, served_model

    context = click.get_current_context()
    for name in ("method", "depth", "draft_model", "draft_device", *HARDWARE_NAMES):
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            fail(f"--{name.replace('_', '-')} is for a model here; with --engine the server decides how it decodes", 2)
    try:
        return served_model(servers, model)
    except ModelNotFoundError as error:
        fail(str(error), error.exit_code)
    except EngineError as error:
        fail(f"{error.message}. {error.hint}".strip(), error.exit_code)


def _found(choose: Callable[[], ModelChoice]) -> ModelChoice:
    from pagecompiler.engine.base import EngineError
    from pagecompiler.models import ModelNotFoundError

    try:
        return choose()
    except ModelNotFoundError as error:
        fail(str(error), error.exit_code)
    except EngineError as error:
        fail(f"{error.message}. {error.hint}".strip(), 2)


def decoding_options(options: dict[str, Any]) -> Decoding:
    """How to decode; exits with 2 when a draft model is needed or named and is not there."""
    from pagecompiler.engine.types import Decoding, Method, Prefer

    name = options["draft_model"]
    if options["method"] == "draft" and name is None:
        fail("--method draft needs a draft model; give one with --draft-model", 2)
    if options["draft_device"] is not None and name is None:
        fail("--draft-device is where a --draft-model runs; give one", 2)
    path = model_option(name).path if name is not None else None
    if name is not None and path is None:
        fail(f"`{name}` cannot draft: it is no model file", 2)
    return Decoding(
        method=Method(options["method"]),
        depth=options["depth"],
        draft_model=path,
        draft_device=options["draft_device"],
        previous=not options["no_previous"],
        prefer=Prefer(options["prefer"]),
        hardware=hardware_of(options),
    )


def compile_options(
    options: dict[str, Any], model: ModelChoice, decoding: Decoding, output: Path | None
) -> CompileOptions:
    """The parsed options as one object."""
    from pagecompiler.build import CompileOptions
    from pagecompiler.prompts import PromptStyle

    if options["lanes"] > MOST_LANES_HERE and not model.servers:
        fail(f"--lanes: a model here has at most {MOST_LANES_HERE}, more are for --engine", 2)
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
        decoding=decoding,
        locked=options["locked"],
    )

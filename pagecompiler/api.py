"""Compiling from Python: one call for one page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pagecompiler.build import CompileOptions, EngineSource, PageResult, compile_spec
from pagecompiler.config import read_config
from pagecompiler.engine.base import Engine
from pagecompiler.engine.types import Decoding
from pagecompiler.engine_maker import EngineMaker
from pagecompiler.models import ModelChoice, choose_model, served_model
from pagecompiler.spec import LoadedSpec, load_spec

AUTO = Decoding()


def compile_page(
    spec: LoadedSpec | Path | str,
    *,
    output: Path | None = None,
    model: str | None = None,
    server: str | None = None,
    engine: Engine | None = None,
    options: CompileOptions | None = None,
) -> PageResult:
    """Compile one page; `result.html` is the page, and `output` where it is written as well.

    `model` is a GGUF file or a name, by default what the command would take; with a `server`, `URL[,URL…]`, one of
    its models. An `engine` that is given runs that model and stays open. A page that is not valid is not written:
    then `result.ok` is false and `result.diagnostics` says why. Raises CompileError for a spec or a config file that
    cannot be loaded, ModelNotFoundError, and EngineError when no server answers.

    >>> compile_page("specs/kettle.yaml", model="reference").ok
    True
    """
    loaded = spec if isinstance(spec, LoadedSpec) else load_spec(spec)
    settings = options or CompileOptions(output=output)
    choice = served_model(server, model) if server else choose_model(model, read_config(loaded.folder))
    maker = engine_maker(choice, settings.lanes, settings.decoding)
    source = EngineSource(choice, maker if engine is None else lambda: engine)
    try:
        return compile_spec(loaded, source, settings)
    finally:
        if engine is None:
            source.close()


def engine_maker(
    model: ModelChoice,
    lanes: int,
    decoding: Decoding = AUTO,
    say: Callable[[str], None] = lambda note: None,
    verbose: bool = False,
    *,
    child: bool = False,
    spread: bool = False,
) -> EngineMaker:
    """What makes the engine of a model, for an EngineSource."""
    return EngineMaker(model, lanes, decoding, say, verbose, child, spread)

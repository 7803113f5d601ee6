"""Compiling from Python: one call for one page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from pagecompiler.build import CompileOptions, EngineSource, PageResult, compile_spec
from pagecompiler.config import read_config
from pagecompiler.engine.base import Engine
from pagecompiler.engine.types import Decoding, Method
from pagecompiler.models import ModelChoice, choose_model, served_model, tuning_path
from pagecompiler.spec import LoadedSpec, load_spec

AUTO = Decoding()

COMPACT_ROOM, FULL_ROOM = 4096, 6144
"""Tokens of a lane: the prompt of the largest block and its whole budget."""


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
) -> Callable[[], Engine]:
    """A function that makes the engine of a model; only calling it loads anything.

    With `child` a model that runs here gets a process of its own, so that a native abort ends no more than that.
    It tells `say` in one line each what is switched off here and why; with `verbose` also what takes how much memory.
    """

    def make() -> Engine:
        if model.servers:
            from pagecompiler.engine.openai.client import engine_key
            from pagecompiler.engine.openai.engine import OpenAIEngine

            return OpenAIEngine(model.servers, model.name, key=engine_key(), say=say)
        if model.path is None:
            from pagecompiler.engine.reference import ReferenceEngine

            return ReferenceEngine()
        from pagecompiler.engine.child import ChildEngine
        from pagecompiler.engine.llama.loading import load_engine
        from pagecompiler.engine.trimmed import find_trimmed

        drafting = decoding
        if decoding.method in (Method.AUTO, Method.MTP) and decoding.draft_model is None:
            drafting = replace(decoding, draft_model=find_trimmed(model.path, model.id))
        room = COMPACT_ROOM if model.format is not None else FULL_ROOM
        load = partial(
            load_engine,
            model.path,
            lanes=lanes,
            context_tokens=room,
            decoding=drafting,
            tuning=tuning_path(),
            verbose=verbose,
        )
        engine = ChildEngine(load) if child else load()
        for note in engine.notes:
            say(note)
        return engine

    return make

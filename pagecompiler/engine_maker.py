"""Making the engine of a model: which one it is, in which process, and with how much room."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pagecompiler.engine.base import Engine, ModelLoadError
from pagecompiler.engine.hardware import replica_count
from pagecompiler.engine.room import Demand
from pagecompiler.engine.shape import read_shape
from pagecompiler.engine.types import Decoding, Method
from pagecompiler.models import ModelChoice, tuning_path

if TYPE_CHECKING:
    from pagecompiler.engine.llama.engine import LlamaEngine


@dataclass(frozen=True, slots=True)
class EngineMaker:
    """Makes the engine of a model; only calling it loads anything.

    With `child` a model that runs here gets a process of its own, so that a native abort ends no more than that.
    With `spread` as well, a small model gets several of them, which share the lanes: more tokens a second in all.
    It tells `say` in one line each what is switched off here and why; with `verbose` also what takes how much memory.
    """

    model: ModelChoice
    lanes: int
    decoding: Decoding
    say: Callable[[str], None]
    verbose: bool
    child: bool
    spread: bool = False

    def __call__(self, demands: Sequence[Demand] = ()) -> Engine:
        """The engine, with room for `demands`, which are what is to be written first; none: for any block a lane.

        Raises EngineError.
        """
        model = self.model
        if model.servers:
            from pagecompiler.engine.openai.client import engine_key
            from pagecompiler.engine.openai.engine import OpenAIEngine

            return OpenAIEngine(model.servers, model.name, key=engine_key(), say=self.say)
        if model.path is None:
            from pagecompiler.engine.reference import ReferenceEngine

            return ReferenceEngine()
        from pagecompiler.engine.child import ChildEngine
        from pagecompiler.engine.llama.loading import load_engine
        from pagecompiler.engine.replicas import ReplicatedEngine

        decoding = with_trimmed_head(self.decoding, model)
        if self.verbose and decoding != self.decoding and decoding.draft_model is not None:
            self.say(f"guesses come from {decoding.draft_model.name}, the trimmed head beside the model")
        replicas = self._replicas(model.path)
        load = partial(
            load_engine,
            model.path,
            lanes=-(-self.lanes // replicas),
            context_tokens=model.block_tokens,
            demands=tuple(demands),
            decoding=decoding,
            tuning=tuning_path(),
            verbose=self.verbose,
        )
        engine: ChildEngine | ReplicatedEngine | LlamaEngine
        if replicas > 1:
            if self.verbose:
                self.say(
                    f"{replicas} engines share the lanes, since a small model keeps only one core busy; each of them:"
                )
            engine = ReplicatedEngine([partial(ChildEngine, load)] * replicas)
        else:
            engine = ChildEngine(load) if self.child else load()
        for note in engine.notes:
            self.say(note)
        return engine

    def _replicas(self, path: Path) -> int:
        """How many engines of the file there are to be."""
        if not (self.child and self.spread):
            return 1
        try:
            parameters = read_shape(path).parameters
        except ModelLoadError:  # a format newer than this reader: llama.cpp may know it
            return 1
        return min(self.lanes, replica_count(parameters, self.decoding.hardware.threads))


def with_trimmed_head(decoding: Decoding, model: ModelChoice) -> Decoding:
    """This way of decoding with the trimmed head that lies beside the model, if there is one and it may be used."""
    from pagecompiler.engine.trimmed import find_trimmed

    fits = decoding.method in (Method.AUTO, Method.MTP) and decoding.draft_model is None
    if not fits or model.path is None:
        return decoding
    return replace(decoding, draft_model=find_trimmed(model.path, model.id))

"""The pipeline: load → plan → reuse → generate → clean → link → stitch → validate → write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from pagecompiler.claims import Claims
from pagecompiler.engine.base import Engine, EngineError
from pagecompiler.engine.room import Demand
from pagecompiler.engine.types import Decoding, EngineStats
from pagecompiler.engine_maker import EngineMaker
from pagecompiler.generate import Listener, demands, generate
from pagecompiler.models import ModelChoice
from pagecompiler.options import DEFAULTS, CompileOptions, default_cache_dir
from pagecompiler.page_build import PageBuild
from pagecompiler.results import BlockResult, PageResult
from pagecompiler.spec import LoadedSpec

__all__ = ["BlockResult", "CompileOptions", "EngineSource", "PageResult", "compile_spec", "default_cache_dir"]


class EngineSource:
    """Makes the engine of a model at the first request for it, and keeps it: a relink never makes one.

    `around` is called with the making of it, and gives what is used as the engine.
    """

    def __init__(
        self,
        model: ModelChoice,
        make: Callable[[], Engine],
        *,
        around: Callable[[Callable[[], Engine]], Engine] = lambda make: make(),
    ) -> None:
        self.model = model
        self._make = make
        self._around = around
        self._engine: Engine | None = None
        self._seen = EngineStats()

    def get(self, demands: Sequence[Demand] = ()) -> Engine:
        """The engine; one that is made now gets room for `demands`. Raises EngineError when it cannot be made."""
        if self._engine is None:
            make = self._make
            self._engine = self._around(partial(make, demands) if isinstance(make, EngineMaker) else make)
        return self._engine

    def spent(self) -> EngineStats | None:
        """What the engine did since the last call; None when there was nothing to do."""
        if self._engine is None:
            return None
        now = replace(self._engine.stats())
        if now.target_passes < self._seen.target_passes:  # the process of the engine was started again
            self._seen = EngineStats()
        spent, self._seen = now.since(self._seen), now
        return spent if spent.target_passes or spent.tokens else None

    def decode(self, decoding: Decoding) -> None:
        """Decode like this from now on: the next request makes another engine."""
        self.close()
        if isinstance(self._make, EngineMaker):
            self._make = replace(self._make, decoding=decoding)

    def close(self) -> None:
        if self._engine is not None:
            self._engine.close()
            self._engine = None


def compile_spec(
    loaded: LoadedSpec,
    source: EngineSource,
    options: CompileOptions = DEFAULTS,
    listener: Listener = lambda progress: None,
    claims: Claims | None = None,
) -> PageResult:
    """Compile a loaded spec; whatever is wrong is in the result's diagnostics, and then nothing is written.

    `claims` are those of the run, where it compiles more specs than this.
    """
    with PageBuild(loaded, source.model, options, claims=claims) as build:
        tasks = build.start()
        if tasks:
            try:
                generate(
                    tasks,
                    source.get(demands(tasks)),
                    lanes=options.lanes,
                    attempts=options.attempts,
                    sampling=options.sampling,
                    listener=listener,
                    done=build.take,
                )
            except EngineError as error:
                build.fail(error)
        return build.finish()

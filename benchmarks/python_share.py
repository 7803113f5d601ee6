"""Python's part of a step: everything but llama.cpp's decodes.

    python -m benchmarks.python_share pagec-mini.gguf --arm plain --steps 2000

Five lanes write until so many steps are measured; printed are the median a step, the rows of a step, the bound of the
design for this vocabulary, and with --profile where the time goes. Measured is the processor time of the thread, so
that other programs matter less.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
from collections.abc import Callable
from pathlib import Path
from time import thread_time
from typing import Any

import numpy as np

from benchmarks.workload import arm, longest, sample_requests
from pagecompiler.engine.llama.engine import LlamaEngine
from pagecompiler.engine.types import Message, Request

BASE_MICROSECONDS = 60
ROW_MICROSECONDS_SMALL, ROW_MICROSECONDS_LARGE = 15, 120
LARGE_VOCABULARY = 100_000


class Meter:
    """Adds up the time in the decodes of a context."""

    def __init__(self, *contexts: Any) -> None:
        self.seconds = 0.0
        for context in contexts:
            context.decode = self._timed(context.decode)

    def _timed(self, decode: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any) -> Any:
            started = thread_time()
            try:
                return decode(*arguments)
            finally:
                self.seconds += thread_time() - started

        return timed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--arm", default="plain")
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    with LlamaEngine(options.model, decoding=arm(options.arm)) as engine:
        scheduler, stats = engine._scheduler, engine.stats()
        drafter = engine._guesses._main
        meter = Meter(engine._context, *([drafter._context] if drafter is not None else []))
        profiler = cProfile.Profile()
        seconds: list[float] = []
        rows = 0
        while len(seconds) < options.steps:
            if scheduler.idle:
                for number in range(5):
                    messages = (Message("user", f"Write a long text, number {number}."),)
                    template = longest(sample_requests(), 1)[0]
                    slots = template.slots if "mini" in options.model.name else frozenset()
                    engine.submit(Request(messages, 600, str(number), slots=slots))
            before = (stats.verify_passes, meter.seconds, stats.verify_rows)
            if options.profile:
                profiler.enable()
            started = thread_time()
            scheduler.step()
            elapsed = thread_time() - started
            profiler.disable()
            if stats.verify_passes > before[0] and len(scheduler._lanes) == 5:
                seconds.append(elapsed - (meter.seconds - before[1]))
                rows += stats.verify_rows - before[2]
        size = engine._model.size
    a_row = ROW_MICROSECONDS_LARGE if size > LARGE_VOCABULARY else ROW_MICROSECONDS_SMALL
    mean_rows = rows / len(seconds)
    low, middle, high = np.quantile(seconds, (0.1, 0.5, 0.9)) * 1e6
    print(
        f"{options.model.name}, {size} tokens, {options.arm}: median {middle:.0f} us a step ({low:.0f}-{high:.0f}),"
        f" {mean_rows:.1f} rows a step, bound {BASE_MICROSECONDS + a_row * mean_rows:.0f} us, {len(seconds)} steps"
    )
    if options.profile:
        pstats.Stats(profiler).sort_stats("tottime").print_stats(14)


if __name__ == "__main__":
    main()

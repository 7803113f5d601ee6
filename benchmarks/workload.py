"""What the benchmarks decode: blocks of the sample specs, as requests; and how runs are compared."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pagecompiler.engine.hardware import model_threads
from pagecompiler.engine.llama.chat import PromptWriter
from pagecompiler.engine.llama.engine import LlamaEngine, model_template
from pagecompiler.engine.llama.library import Model
from pagecompiler.engine.room import Demand, estimated_room, shared_room
from pagecompiler.engine.types import Completion, Decoding, EngineStats, Method, Request
from pagecompiler.ids import section_ids
from pagecompiler.models import MINI_DRAFT, block_tokens
from pagecompiler.monitor import BlockMonitor, StyleMonitor
from pagecompiler.plan import STYLE, make_plan
from pagecompiler.prompts import FORMAT, block_messages
from pagecompiler.resources import data_path
from pagecompiler.spec import load_spec

SPECS = Path(__file__).parents[1] / "specs"
DRAFT_MODEL = data_path(f"models/{MINI_DRAFT}.gguf")
NOISE = 0.02  # a ratio whose interval holds 1, or that is this near to it, says nothing


def sample_requests(specs: Path = SPECS) -> list[Request]:
    """One request for each distinct prompt of the specs in a folder: by default the samples."""
    found: dict[object, Request] = {}
    for path in sorted(specs.glob("*.yaml")):
        page = load_spec(path).page
        for block in make_plan(page, section_ids(page)).all_blocks:
            messages = block_messages(block.structure)
            found.setdefault(
                messages,
                Request(
                    messages,
                    96 + 3 * block.expected_tokens,
                    f"{path.stem}/{block.name}",
                    slots=frozenset(slot.number for slot in block.structure.slots),
                    monitor=StyleMonitor if block.kind == STYLE else BlockMonitor,
                ),
            )
    return list(found.values())


def longest(requests: list[Request], count: int) -> list[Request]:
    """The requests with most to write."""
    return sorted(requests, key=lambda request: -request.max_tokens)[:count]


def room(requests: Sequence[Request], lanes: int) -> int:
    """The tokens of a lane that the program would set aside for these."""
    demands = [Demand(request.messages, request.max_tokens) for request in requests]
    return shared_room(estimated_room(demands), lanes, block_tokens(FORMAT)).lane


def threads_of(model: Path, wanted: int | None) -> int:
    """How many threads the program takes for a model, where nobody says otherwise."""
    loaded = Model(model, measure_only=True)
    found = wanted or model_threads(loaded.parameters)
    loaded.close()
    return found


def prompts_of(model: Path, requests: Sequence[Request]) -> list[tuple[int, ...]]:
    """The tokens of the rendered prompts."""
    loaded = Model(model)
    writer = PromptWriter(loaded, model_template(loaded))
    found = [writer.write(request.messages).tokens for request in requests]
    loaded.close()
    return found


@dataclass(frozen=True, slots=True)
class Run:
    """One run of some requests; `seconds` are those from the first request to the last answer."""

    completions: list[Completion]
    stats: EngineStats
    decode_tokens_per_second: float
    seconds: float


def run_in(engine: LlamaEngine, requests: Sequence[Request]) -> Run:
    """Decode all requests; the first token of each belongs to its prompt."""
    before, started = replace(engine.stats()), time.perf_counter()
    numbers = [engine.submit(request) for request in requests]
    ended = {event.request: event.completion for event in engine.events() if event.completion}
    seconds = time.perf_counter() - started
    stats = engine.stats().since(before)
    completions = [completion for number in numbers if (completion := ended[number]) is not None]
    return Run(completions, stats, (stats.tokens - len(requests)) / stats.verify_seconds, seconds)


def run(path: Path, decoding: Decoding, requests: Sequence[Request], *, lanes: int, threads: int | None) -> Run:
    """Decode all requests in a fresh engine."""
    with LlamaEngine(
        path, decoding=decoding, lanes=lanes, threads=threads, context_tokens=room(requests, lanes)
    ) as engine:
        return run_in(engine, requests)


def arm(text: str) -> Decoding:
    """`plain`, `auto`, `mtp:2`, `lookup:3`, `draft:1` and `auto+draft` (with the draft model of pagec-mini).

    >>> arm("mtp:2").depth
    2
    """
    name, _, depth = text.partition(":")
    method = Method(name.partition("+")[0])
    draft = DRAFT_MODEL if "draft" in name else None
    return Decoding(method, int(depth) if depth else None, draft_model=draft)


@dataclass(frozen=True, slots=True)
class Interval:
    """The median of ratios with what lies between 10 and 90 % of them."""

    low: float
    median: float
    high: float
    pairs: int

    @classmethod
    def of(cls, ratios: Sequence[float]) -> Interval:
        low, median, high = (float(value) for value in np.quantile(ratios, (0.1, 0.5, 0.9)))
        return cls(low, median, high, len(ratios))

    def __str__(self) -> str:
        """In words.

        >>> str(Interval(0.97, 1.01, 1.04, 9)), str(Interval(1.5, 1.6, 1.7, 9))
        ('x1.01 (0.97-1.04, 9 pairs, within noise)', 'x1.60 (1.50-1.70, 9 pairs)')
        """
        noise = ", within noise" if self.low <= 1 <= self.high or abs(self.median - 1) < NOISE else ""
        return f"x{self.median:.2f} ({self.low:.2f}-{self.high:.2f}, {self.pairs} pairs{noise})"


def verdict(met: bool) -> str:
    """What is said of a bound."""
    return "met" if met else "MISSED"


def machine() -> str:
    """The CPUs that the figures belong to."""
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.processor(),
    )
    return f"{len(os.sched_getaffinity(0))} CPUs ({model}), {platform.system()}"

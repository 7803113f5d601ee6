"""What the benchmarks decode: blocks of the sample specs, as requests."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pagecompiler.engine.llama.engine import LlamaEngine
from pagecompiler.engine.types import Completion, Decoding, EngineStats, Method, Request
from pagecompiler.ids import section_ids
from pagecompiler.monitor import BlockMonitor, StyleMonitor
from pagecompiler.plan import STYLE, make_plan
from pagecompiler.prompts import block_messages
from pagecompiler.spec import load_spec

SPECS = Path(__file__).parents[1] / "specs"


def sample_requests() -> list[Request]:
    """One request for each distinct prompt of the sample specs."""
    found: dict[object, Request] = {}
    for path in sorted(SPECS.glob("*.yaml")):
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


@dataclass(frozen=True, slots=True)
class Run:
    """One run of some requests."""

    completions: list[Completion]
    stats: EngineStats
    decode_tokens_per_second: float


def run(path: Path, decoding: Decoding, requests: list[Request], *, lanes: int, threads: int) -> Run:
    """Decode all requests in a fresh engine; the first token of each belongs to its prompt."""
    with LlamaEngine(path, decoding=decoding, lanes=lanes, threads=threads) as engine:
        numbers = [engine.submit(request) for request in requests]
        ended = {event.request: event.completion for event in engine.events() if event.completion}
        stats = engine.stats()
    completions = [completion for number in numbers if (completion := ended[number]) is not None]
    return Run(completions, stats, (stats.tokens - len(requests)) / stats.verify_seconds)


def arm(text: str) -> Decoding:
    """`plain`, `auto`, `mtp:2`, `lookup:3`.

    >>> arm("mtp:2").depth
    2
    """
    method, _, depth = text.partition(":")
    return Decoding(Method(method), int(depth) if depth else None)

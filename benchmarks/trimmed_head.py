"""A trimmed draft head against the whole one, on specs that nothing was trained or trimmed on.

    python -m benchmarks.trimmed_head pagec-mini.gguf --rows 512
    python -m benchmarks.widen pagec-mini.gguf words.gguf --megabytes 145 --words 248320
    python -m benchmarks.trimmed_head words.gguf --rows 512

Both heads draft for the same blocks in one process, in turn first. Texts must be equal; the accepted shares are
compared in points, the time of a draft step by pairs, and what a step reads is counted from the tensors.
"""

from __future__ import annotations

import argparse
import tempfile
from contextlib import ExitStack
from pathlib import Path

from benchmarks.workload import SPECS, Interval, Run, machine, room, run_in, sample_requests
from pagecompiler.engine.llama.engine import LlamaEngine
from pagecompiler.engine.llama.library import Model
from pagecompiler.engine.shape import read_shape
from pagecompiler.engine.trimmed import DraftBytes, draft_bytes, write_trimmed
from pagecompiler.engine.types import Decoding, Method, Request
from pagecompiler.prompts import PromptStyle
from pagecompiler.trim import choose_rows, read_texts, written_texts

UNSEEN = SPECS.parent / "training" / "unseen"
MB = 1e6


def trim(model: Path, target: Path, rows: int) -> DraftBytes:
    """Cut the head by the sample specs, as `pagec model trim --corpus specs` does."""
    tokenizer = Model(model, measure_only=True)
    specs = sorted(SPECS.glob("*.yaml"))
    read = read_texts(specs, PromptStyle.COMPACT, tokenizer.chat_template() or "")
    kept = choose_rows(tokenizer, rows, written_texts(specs), read)
    tokenizer.close()
    return write_trimmed(model, target, kept, "benchmark")


def unseen_requests(count: int) -> list[Request]:
    """Blocks of the unseen specs, of every kind."""
    requests = sample_requests(UNSEEN)
    return requests[:: max(1, len(requests) // count)][:count]


def accepted(run: Run) -> float:
    """The share of guesses that were approved, in percent."""
    return 100 * run.stats.accepted / run.stats.drafted


def step_ms(run: Run) -> float:
    """Milliseconds of a draft step."""
    return 1000 * run.stats.draft_seconds / run.stats.draft_passes


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--rows", type=int, default=512)
    parser.add_argument("--depth", type=int, default=2)
    parser.add_argument("--lanes", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--blocks", type=int, default=30)
    parser.add_argument("--pairs", type=int, default=9)
    options = parser.parse_args()
    requests = unseen_requests(options.blocks)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        sizes = trim(options.model, folder / "trimmed.gguf", options.rows)
        engines = [
            stack.enter_context(
                LlamaEngine(
                    options.model, lanes=options.lanes, threads=options.threads,
                    context_tokens=room(requests, options.lanes),
                    decoding=Decoding(Method.MTP, options.depth, draft_model=head),
                )
            )
            for head in (None, folder / "trimmed.gguf")
        ]  # fmt: skip
        pairs: list[tuple[Run, Run]] = []
        for number in range(options.pairs + 1):
            order = (0, 1) if number % 2 == 0 else (1, 0)
            runs = {index: run_in(engines[index], requests) for index in order}
            pairs.append((runs[0], runs[1]))
    whole, trimmed = pairs[0]
    words = read_shape(options.model).vocabulary
    assert sizes == draft_bytes(read_shape(options.model), options.rows)
    different = sum(a.tokens != b.tokens for a, b in zip(whole.completions, trimmed.completions, strict=True))
    steps = Interval.of([step_ms(b) / step_ms(a) for a, b in pairs[1:]])
    rates = Interval.of([b.decode_tokens_per_second / a.decode_tokens_per_second for a, b in pairs[1:]])
    print(f"{options.model.name}, {machine()}, {options.threads} threads, {options.lanes} lanes, depth {options.depth}")
    print(f"{len(requests)} blocks of unseen specs, {whole.stats.tokens} tokens, different texts {different}")
    print(f"words {words} and {options.rows}; a draft step reads {sizes.before / MB:.1f} and {sizes.after / MB:.1f} MB")
    share = accepted(trimmed) - accepted(whole)
    print(f"accepted {accepted(whole):.2f} and {accepted(trimmed):.2f} % of guesses: {share:+.2f} points")
    print(f"a draft step {step_ms(pairs[-1][0]):.2f} and {step_ms(pairs[-1][1]):.2f} ms: {steps}")
    print(f"decoding in all: {rates}")


if __name__ == "__main__":
    main()

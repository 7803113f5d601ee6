"""What it saves to compute the last layer of a model with an MTP block only for rows that are read.

    python -m benchmarks.prompt_reading wide.gguf

llama.cpp computes it for every row of a prompt unless it is told that nobody reads the hidden rows. Five prompts are
read in turn with and without that; reported are the medians, their ratio by pairs with its 10-90 % interval, and the
largest difference between the logits behind the prompts.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from benchmarks.workload import Interval, longest, machine, prompts_of, sample_requests, threads_of
from pagecompiler.engine.llama.engine import CPU_CHUNK
from pagecompiler.engine.llama.library import Context, Model
from pagecompiler.engine.llama.target import Batch, Logits

PROMPTS = 5


def read(model: Model, prompts: list[tuple[int, ...]], *, masked: bool) -> tuple[float, Logits]:
    """Seconds, and the logits behind each prompt."""
    tokens = sum(map(len, prompts))
    context = Context(model, tokens=tokens, sequences=PROMPTS, rows=CPU_CHUNK, outputs=PROMPTS)
    context._set_nextn(False, masked=masked)
    behind = []
    started = time.perf_counter()
    for sequence, prompt in enumerate(prompts):
        for start in range(0, len(prompt), CPU_CHUNK):
            chunk = prompt[start : start + CPU_CHUNK]
            batch = Batch()
            batch.add(sequence, chunk, start, wanted=int(start + len(chunk) == len(prompt)))
            logits = context.decode(batch)
        behind.append(logits[-1].copy())
    seconds = time.perf_counter() - started
    context.close()
    return seconds, np.stack(behind)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--pairs", type=int, default=9)
    options = parser.parse_args()
    prompts = prompts_of(options.model, longest(sample_requests(), PROMPTS))
    model = Model(options.model)
    read(model, prompts, masked=True)
    times: dict[bool, list[float]] = {True: [], False: []}
    difference = 0.0
    for number in range(options.pairs):
        found = {
            masked: read(model, prompts, masked=masked) for masked in ((True, False) if number % 2 else (False, True))
        }
        for masked, (seconds, _) in found.items():
            times[masked].append(seconds)
        difference = max(difference, float(np.abs(found[True][1] - found[False][1]).max()))
    model.close()
    ratio = Interval.of([a / b for a, b in zip(times[True], times[False], strict=True)])
    tokens = sum(map(len, prompts))
    print(
        f"{options.model.name}, {machine()}, {threads_of(options.model, None)} threads, {tokens} tokens:"
        f" {np.median(times[False]):.3f} s, {np.median(times[True]):.3f} s with only the rows that are read: {ratio};"
        f" largest difference of a logit {difference:g}"
    )


if __name__ == "__main__":
    main()

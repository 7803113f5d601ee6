"""`auto` against every fixed decode method, side by side.

    python -m benchmarks.decode pagecompiler/data/models/pagec-mini.gguf --lanes 5
    python -m benchmarks.decode wide.gguf --lanes 1 --blocks 2 --tokens 150

Each run is a build: an engine of its own, which has written a few tokens before the clock starts; those of `auto`
share what they measured, as builds on one machine do. In each round every arm writes the same blocks once, in an order
that is rotated from round to round; rates are tokens a second behind the prompts, seconds are those to all answers with
the prompts. Reported are medians, and as pairs of one round the ratios of each arm's rate to plain's: median and
10-90 % interval; and those of `auto` to the best arm of what it has, of `auto+draft` to the best of all. Some rounds
before the first are not counted: `auto` learns in them, as it does in the first builds on a machine. Texts must be
equal, or the count of different ones is printed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.workload import Interval, Run, arm, longest, machine, room, run_in, sample_requests, threads_of, verdict
from pagecompiler.engine.llama.engine import LlamaEngine

ARMS = ["plain", *(f"mtp:{depth}" for depth in range(1, 5)), "lookup:3", *(f"draft:{depth}" for depth in range(1, 4))]
AUTOS = ("auto", "auto+draft")
LEAST_OF_BEST = 0.95
WARMING_TOKENS = 4


def rounds(options: argparse.Namespace) -> list[dict[str, Run]]:
    """Every arm once a round."""
    requests = [
        replace(request, max_tokens=min(request.max_tokens, options.tokens))
        for request in longest(sample_requests(), options.blocks)
    ]
    names = [*options.arms, *AUTOS]
    size = room(requests, options.lanes)

    def build(name: str, tuning: Path) -> Run:
        with LlamaEngine(
            options.model, decoding=arm(name), lanes=options.lanes, threads=options.threads, context_tokens=size,
            tuning=tuning if name in AUTOS else None,
        ) as engine:  # fmt: skip
            run_in(engine, [replace(requests[0], max_tokens=WARMING_TOKENS)])
            return run_in(engine, requests)

    found = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.unmeasured + options.pairs):
            turn = number % len(names)
            found.append({name: build(name, Path(folder) / "tuning.json") for name in names[turn:] + names[:turn]})
            rates = ", ".join(f"{name} {found[-1][name].decode_tokens_per_second:.0f}" for name in names)
            print(f"round {number}: {rates}", file=sys.stderr, flush=True)
    tokens = sum(len(completion.tokens) for completion in found[0]["plain"].completions)
    print(
        f"{options.model.name}, {machine()}, {threads_of(options.model, options.threads)} threads,"
        f" {options.lanes} lanes of {size} tokens, {len(requests)} blocks, {tokens} tokens"
    )
    return found[options.unmeasured :]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--lanes", type=int, default=5)
    parser.add_argument("--threads", type=int, help="by default as the program chooses")
    parser.add_argument("--blocks", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=600, help="the most a block")
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--unmeasured", type=int, default=6, help="rounds before the first")
    parser.add_argument("--arms", nargs="+", default=ARMS, help="plain is among them")
    options = parser.parse_args()
    found = rounds(options)
    rates = {name: [each[name].decode_tokens_per_second for each in found] for name in found[0]}
    for name, own in rates.items():
        stats = found[-1][name].stats
        share = f", accepted {stats.accepted / stats.drafted:.3f}" if stats.drafted else ""
        wrong = sum(
            a.tokens != b.tokens
            for each in found
            for a, b in zip(each["plain"].completions, each[name].completions, strict=True)
        )
        against = Interval.of([a / b for a, b in zip(own, rates["plain"], strict=True)])
        print(
            f"{name:<10} {np.median(own):7.1f} tok/s, {np.median([each[name].seconds for each in found]):.2f} s,"
            f" to plain {against};"
            f" {stats.verify_passes} passes of {stats.rows_per_pass:.1f} rows, {stats.draft_passes} of drafts{share},"
            f" different texts {wrong}"
        )
    for auto in AUTOS:
        others = [name for name in options.arms if "draft" in auto or "draft" not in name]
        best = max(others, key=lambda name: float(np.median(rates[name])))
        of_best, of_plain = (
            Interval.of([a / b for a, b in zip(rates[auto], rates[name], strict=True)]) for name in (best, "plain")
        )
        print(
            f"{auto} to the best fixed arm that it has ({best}) {of_best}, wanted {LEAST_OF_BEST}:"
            f" {verdict(of_best.median >= LEAST_OF_BEST)};"
            f" to plain {of_plain}, wanted 1: {verdict(of_plain.median >= 1)}"
        )


if __name__ == "__main__":
    main()

"""`auto` against every fixed decode method, side by side.

    python -m benchmarks.decode pagecompiler/data/models/pagec-mini.gguf --lanes 5
    python -m benchmarks.decode wide.gguf --lanes 1 --blocks 2 --tokens 150

All arms have an engine each in one process. In each round every arm writes the same blocks once, in an order that is
rotated from round to round; rates are tokens a second behind the prompts. Reported are the median rates, and as pairs
of one round the ratios of each arm to plain and of `auto` to each arm: median and 10-90 % interval. Some rounds before
the first are not counted: `auto` learns in them, as it does in the first builds on a machine. Texts must be equal, or
the count of different ones is printed.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.workload import Interval, Run, arm, longest, machine, room, run_in, sample_requests, threads_of, verdict
from pagecompiler.engine.llama.engine import LlamaEngine

ARMS = ["plain", *(f"mtp:{depth}" for depth in range(1, 5)), "lookup:3", *(f"draft:{depth}" for depth in range(1, 4))]
AUTO = "auto"
LEAST_OF_BEST = 0.95


def rounds(options: argparse.Namespace) -> list[dict[str, Run]]:
    """Every arm once a round."""
    requests = [
        replace(request, max_tokens=min(request.max_tokens, options.tokens))
        for request in longest(sample_requests(), options.blocks)
    ]
    names = [*options.arms, AUTO]
    size = room(requests, options.lanes)
    found = []
    with ExitStack() as stack:
        engines = {
            name: stack.enter_context(
                LlamaEngine(
                    options.model, decoding=arm(name), lanes=options.lanes, threads=options.threads, context_tokens=size
                )
            )
            for name in names
        }
        for number in range(options.unmeasured + options.pairs):
            turn = number % len(names)
            found.append({name: run_in(engines[name], requests) for name in names[turn:] + names[:turn]})
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
    parser.add_argument("--unmeasured", type=int, default=3, help="rounds before the first")
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
        ours = Interval.of([a / b for a, b in zip(rates[AUTO], own, strict=True)])
        print(
            f"{name:<9} {np.median(own):7.1f} tok/s, to plain {against}; auto to it {ours};"
            f" {stats.verify_passes} passes of {stats.rows_per_pass:.1f} rows, {stats.draft_passes} of drafts{share},"
            f" different texts {wrong}"
        )
    best = max(options.arms, key=lambda name: float(np.median(rates[name])))
    of_best, of_plain = (
        Interval.of([a / b for a, b in zip(rates[AUTO], rates[name], strict=True)]) for name in (best, "plain")
    )
    print(
        f"auto to the best fixed arm ({best}) {of_best}, wanted {LEAST_OF_BEST}:"
        f" {verdict(of_best.median >= LEAST_OF_BEST)}; to plain {of_plain}, wanted 1: {verdict(of_plain.median >= 1)}"
    )


if __name__ == "__main__":
    main()

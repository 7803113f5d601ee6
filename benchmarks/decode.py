"""Decode methods against plain decoding, by alternating pairs.

    python -m benchmarks.decode wide.gguf --lanes 1 --arms mtp:1 mtp:2 mtp:3 lookup:4 auto --pairs 5

Each pair runs plain and the arm once, in turn first; the ratio of their decode rates (prompts not counted) is reported
as median with its 10-90 % interval. Texts must be equal, or the count of different ones is printed.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from benchmarks.workload import arm, longest, run, sample_requests
from pagecompiler.engine.types import Decoding, Method

PLAIN = Decoding(Method.PLAIN)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--lanes", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--blocks", type=int, default=5)
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--arms", nargs="+", default=["mtp:1", "mtp:2", "mtp:3", "lookup:4", "auto"])
    options = parser.parse_args()
    requests = longest(sample_requests(), options.blocks)
    for name in options.arms:
        ratios, rates, plain_rates, different = [], [], [], 0
        for pair in range(options.pairs):
            order = [PLAIN, arm(name)] if pair % 2 == 0 else [arm(name), PLAIN]
            runs = {
                each.method is Method.PLAIN: run(
                    options.model, each, requests, lanes=options.lanes, threads=options.threads
                )
                for each in order
            }
            plain, other = runs[True], runs[False]
            rates.append(other.decode_tokens_per_second)
            plain_rates.append(plain.decode_tokens_per_second)
            ratios.append(rates[-1] / plain_rates[-1])
            different += sum(a.tokens != b.tokens for a, b in zip(plain.completions, other.completions, strict=True))
        low, middle, high = np.quantile(ratios, (0.1, 0.5, 0.9))
        stats = other.stats
        share = stats.accepted / stats.drafted if stats.drafted else 0.0
        print(
            f"lanes {options.lanes} {name:<9} {np.median(rates):7.1f} tok/s, plain {np.median(plain_rates):7.1f}:"
            f" x{middle:.2f} ({low:.2f}-{high:.2f}, {options.pairs} pairs), accepted {share:.3f},"
            f" passes {stats.verify_passes} of {plain.stats.verify_passes}, drafts {stats.draft_passes},"
            f" rows/token {stats.verify_rows / max(1, stats.tokens):.2f}, different texts {different}",
            flush=True,
        )


if __name__ == "__main__":
    main()

"""A rebuild after one item was added in the middle of a long block, against its cold build.

    python -m benchmarks.rebuild wide.gguf --pairs 5

The cold arm decodes the new block plainly; the other one has the old fragment, spliced to the new structure, as its
guess.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from benchmarks.workload import run
from pagecompiler import schema
from pagecompiler.engine.types import Decoding, Method, Request
from pagecompiler.fragment import clean_fragment
from pagecompiler.monitor import BlockMonitor
from pagecompiler.prompts import block_messages
from pagecompiler.slots import Structure, section_structure
from pagecompiler.splice import splice


def block(items: int) -> Structure:
    """A features block whose items have a title, a text and a link."""
    entries = [
        {"title": f"Item {number}", "text": "Boils one litre in ninety seconds.", "href": "/more"}
        for number in range(items)
    ]
    section = schema.Features.model_validate({"kind": "features", "heading": "Why this one", "items": entries})
    return section_structure(section, 0)


def request(structure: Structure, previous: str = "") -> Request:
    return Request(
        block_messages(structure),
        1200,
        "block",
        slots=frozenset(slot.number for slot in structure.slots),
        monitor=BlockMonitor,
        previous=previous,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--items", type=int, default=8)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    old, new = block(options.items), block(options.items + 1)
    plain = Decoding(Method.PLAIN)

    def once(asked: Request):
        return run(options.model, plain, [asked], lanes=1, threads=options.threads)

    (before,) = once(request(old)).completions
    guess = splice(old.description, clean_fragment(before.text), new.description)
    ratios, decode_ratios = [], []
    for pair in range(options.pairs):
        arms = [request(new), request(new, guess)]
        runs = {bool(asked.previous): once(asked) for asked in (arms if pair % 2 == 0 else arms[::-1])}
        (cold,), (warm,) = runs[False].completions, runs[True].completions
        ratios.append(cold.seconds / warm.seconds)
        decode_ratios.append(runs[True].decode_tokens_per_second / runs[False].decode_tokens_per_second)
    low, middle, high = np.quantile(ratios, (0.1, 0.5, 0.9))
    print(
        f"{options.model.name}: old {len(before.tokens)} tokens, new {len(cold.tokens)} ({cold.reason.value}), same"
        f" text {warm.text == cold.text}\n"
        f"accepted {warm.accepted} of {warm.drafted} = {warm.accepted / max(1, warm.drafted):.3f};"
        f" target passes {warm.target_passes} of {cold.target_passes}\n"
        f"wall time with the prompt x{middle:.2f} ({low:.2f}-{high:.2f}), without it x{np.median(decode_ratios):.2f},"
        f" {options.pairs} pairs"
    )


if __name__ == "__main__":
    main()

"""Approval of every emitted token, over the sample specs and synthetic blocks, with every method.

    python -m benchmarks.approval pagecompiler/data/models/pagec-mini.gguf --synthetic 100

After the fixed arms and `auto`, every block is written again with its own answer as the previous one, edited in twenty
ways (`edits.py`). Each token, the end token too, must be the arg-max (under the slot mask) of a fresh evaluation of
its prefix, or within the gap of it: four times the largest difference of logits between one lane and five lanes of a
plain run, at most 0.5 % of their range. Near ties are counted. Nothing is timed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.edits import edits
from benchmarks.workload import Run, arm, run, sample_requests, verdict
from pagecompiler.engine.llama.referee import Referee as Evaluation
from pagecompiler.engine.types import Completion, FinishReason, Request
from pagecompiler.monitor import BlockMonitor, StyleMonitor
from pagecompiler.plan import STYLE
from pagecompiler.prompts import block_messages

LANES = 5
SAMPLED = 5
MOST_NEAR_TIES = 0.001
ARMS = [
    "plain",
    *(f"{method}:{depth}" for method in ("mtp", "draft", "lookup") for depth in range(1, 5)),
    "auto",
]


class Referee:
    """Fresh plain evaluations of one model; equal answers are evaluated once."""

    def __init__(self, path: Path, threads: int) -> None:
        self._evaluation = Evaluation(path, threads=threads)
        self._known: dict[object, np.ndarray] = {}

    def gap(self, requests: Sequence[Request], completions: Sequence[Completion]) -> float:
        """What rounding may do, seen on the first answers: stepped together and stepped alone."""
        return self._evaluation.gap(requests, [completion.tokens for completion in completions])

    def missing(self, request: Request, completion: Completion) -> np.ndarray:
        """For each token how far its logit is below that of the allowed arg-max."""
        known = (request.messages, completion.tokens, completion.reason)
        if known not in self._known:
            ended = completion.reason is FinishReason.END
            self._known[known] = self._evaluation.missing(request, completion.tokens, ended=ended)
        return self._known[known]


def synthetic_requests(count: int) -> list[Request]:
    """Blocks as the embedded model was trained on, of another seed."""
    from training.structures import StructureMaker

    maker = StructureMaker(20_261_129)
    structures = (maker.structure() for _ in range(count))
    return [
        Request(
            block_messages(structure),
            900,
            f"synthetic {number}",
            slots=frozenset(slot.number for slot in structure.slots),
            monitor=StyleMonitor if structure.kind == STYLE else BlockMonitor,
        )
        for number, structure in enumerate(structures)
    ]


def arms(requests: Sequence[Request], options: argparse.Namespace) -> Iterator[tuple[str, Run]]:
    """The arms one after another, plain first, with a name; `previous` last, from plain's answers."""
    plain: Run | None = None
    for name in options.arms:
        done = run(options.model, arm(name), requests, lanes=LANES, threads=options.threads)
        plain = plain or done
        yield name, done
    assert plain is not None
    kinds = [edits(completion.tokens, options.odd) for completion in plain.completions]
    for kind in kinds[0] if options.previous else ():
        asked = [replace(request, previous=edited[kind]) for request, edited in zip(requests, kinds, strict=True)]
        yield f"previous, {kind}", run(options.model, arm("auto"), asked, lanes=LANES, threads=options.threads)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--synthetic", type=int, default=100)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--arms", nargs="+", default=ARMS, help="plain comes first")
    parser.add_argument("--previous", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--odd", type=int, default=120, help="the token that edits put in")
    options = parser.parse_args()
    requests = sample_requests() + synthetic_requests(options.synthetic)
    referee = Referee(options.model, options.threads)
    plain: list[Completion] = []
    gap, total, near, beyond = 0.0, 0, 0, 0
    for name, done in arms(requests, options):
        if not plain:
            plain = done.completions
            gap = referee.gap(requests[:SAMPLED], plain[:SAMPLED])
        every = np.concatenate([referee.missing(*each) for each in zip(requests, done.completions, strict=True)])
        equal = sum(a.tokens == b.tokens for a, b in zip(plain, done.completions, strict=True))
        over, ties = int((every > gap).sum()), int(((every > 0) & (every <= gap)).sum())
        total, near, beyond = total + len(every), near + ties, beyond + over
        stats = done.stats
        print(
            f"{name:<31} {len(requests)} blocks, {len(every)} tokens: {over} beyond the gap of {gap:.4f}, {ties} near"
            f" ties, {equal} texts as plain; passes {stats.target_passes}, drafts {stats.draft_passes}, accepted"
            f" {stats.accepted}/{stats.drafted}",
            flush=True,
        )
    approved = beyond == 0 and near <= MOST_NEAR_TIES * total
    print(f"{total} tokens: {beyond} beyond the gap, {near} near ties, at most 1 in 1,000: {verdict(approved)}")
    if not approved:
        raise SystemExit(1)


if __name__ == "__main__":
    main()

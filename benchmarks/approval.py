"""Approval of every emitted token, over the sample specs and synthetic blocks, with every method.

    python -m benchmarks.approval pagec-mini.gguf --synthetic 100 --arms plain mtp:1 mtp:2 lookup:4 auto

Each token must be the arg-max (under the slot mask) of a fresh evaluation of its prefix, or within the gap of it:
four times the largest difference of logits between one lane and five lanes of a plain run, at most 0.5 % of their
range. Near ties are counted. Nothing is timed.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.workload import arm, run, sample_requests
from pagecompiler.engine.llama.chat import PromptWriter
from pagecompiler.engine.llama.engine import model_template
from pagecompiler.engine.llama.library import Context, Model
from pagecompiler.engine.llama.slotmask import SlotIndex, SlotMask
from pagecompiler.engine.llama.target import Batch
from pagecompiler.engine.types import Completion, Request
from pagecompiler.monitor import BlockMonitor, StyleMonitor
from pagecompiler.plan import STYLE
from pagecompiler.prompts import block_messages

ROOM = 4096
SAMPLED = 5


class Referee:
    """Fresh plain evaluations of one model."""

    def __init__(self, path: Path, threads: int) -> None:
        self._model = Model(path)
        self._context = Context(self._model, tokens=ROOM, sequences=5, rows=ROOM, outputs=ROOM // 2, threads=threads)
        self._prompts = PromptWriter(self._model, model_template(self._model))
        self._index = SlotIndex(map(self._model.piece, range(self._model.size)))

    def gap(self, requests: Sequence[Request], completions: Sequence[Completion]) -> float:
        """What rounding may do, seen on the first answers: stepped together and stepped alone."""
        length = min(len(completion.tokens) for completion in completions)
        prompts = [self._prompts.write(request.messages).tokens for request in requests]
        answers = [completion.tokens[:length] for completion in completions]
        together = self._stepped(prompts, answers)
        alone = [self._stepped([p], [a])[0] for p, a in zip(prompts, answers, strict=True)]
        largest = max(float(np.abs(a - b).max()) for a, b in zip(together, alone, strict=True))
        return min(4 * largest, 0.005 * max(float(np.ptp(rows)) for rows in together))

    def missing(self, request: Request, completion: Completion) -> np.ndarray:
        """For each token how far its logit is below that of the allowed arg-max."""
        prompt, answer = self._prompts.write(request.messages).tokens, completion.tokens
        self._context.clear()
        batch = Batch()
        batch.add(0, (*prompt, *answer[:-1]), 0, wanted=len(answer))
        logits = self._context.decode(batch)
        mask = SlotMask(self._index, request.slots)
        missing = np.zeros(len(answer))
        for place, token in enumerate(answer):
            allowed = mask.allowed()
            best = logits[place].max() if allowed is None else logits[place][allowed].max()
            missing[place] = best - logits[place][token]
            mask.feed(self._model.piece(token))
        return missing

    def _stepped(self, prompts: Sequence[tuple[int, ...]], answers: Sequence[tuple[int, ...]]) -> list[np.ndarray]:
        self._context.clear()
        found: list[list[np.ndarray]] = [[] for _ in prompts]
        for sequence, prompt in enumerate(prompts):
            batch = Batch()
            batch.add(sequence, prompt, 0, wanted=1)
            found[sequence].append(self._context.decode(batch)[0].copy())
        for step in range(len(answers[0]) - 1):
            batch = Batch()
            for sequence, (prompt, answer) in enumerate(zip(prompts, answers, strict=True)):
                batch.add(sequence, answer[step : step + 1], len(prompt) + step, wanted=1)
            for rows, row in zip(found, self._context.decode(batch), strict=True):
                rows.append(row.copy())
        return [np.stack(rows) for rows in found]


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--synthetic", type=int, default=100)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--arms",
        nargs="+",
        default=["plain", *(f"{method}:{depth}" for method in ("mtp", "lookup") for depth in range(1, 5)), "auto"],
    )
    options = parser.parse_args()
    requests = sample_requests() + synthetic_requests(options.synthetic)
    referee = Referee(options.model, options.threads)
    plain: list[Completion] | None = None
    gap = 0.0
    for name in options.arms:
        ended = run(options.model, arm(name), requests, lanes=5, threads=options.threads)
        if plain is None:
            plain = ended.completions
            gap = referee.gap(requests[:SAMPLED], plain[:SAMPLED])
        missing = [referee.missing(*each) for each in zip(requests, ended.completions, strict=True)]
        every = np.concatenate(missing)
        equal = sum(a.tokens == b.tokens for a, b in zip(plain, ended.completions, strict=True))
        stats = ended.stats
        print(
            f"{name:<9} {len(requests)} blocks, {len(every)} tokens: {int((every > gap).sum())} beyond the gap of"
            f" {gap:.4f}, {int(((every > 0) & (every <= gap)).sum())} near ties, {equal} texts as plain;"
            f" passes {stats.target_passes}, drafts {stats.draft_passes}, accepted"
            f" {stats.accepted}/{stats.drafted}",
            flush=True,
        )


if __name__ == "__main__":
    main()

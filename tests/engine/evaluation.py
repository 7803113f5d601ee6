"""Plain evaluations of given tokens, to hold the engine's answers against."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pagecompiler.engine.llama.chat import PromptWriter
from pagecompiler.engine.llama.engine import model_template
from pagecompiler.engine.llama.library import Context, Model
from pagecompiler.engine.llama.target import Batch
from pagecompiler.engine.types import Completion, Request

ROWS = 1024
LANES = 5


class Evaluation:
    """One model, evaluated without the scheduler."""

    def __init__(self, path: Path) -> None:
        self.model = Model(path)
        self.context = Context(self.model, tokens=8 * ROWS, sequences=LANES, rows=ROWS, outputs=ROWS, threads=1)
        self._prompts = PromptWriter(self.model, model_template(self.model))

    def __enter__(self) -> Evaluation:
        return self

    def __exit__(self, *exception: object) -> None:
        self.context.close()
        self.model.close()

    def prompt(self, request: Request) -> tuple[int, ...]:
        return self._prompts.write(request.messages).tokens

    def fresh(self, tokens: Sequence[int], count: int) -> np.ndarray:
        """The logits of the last `count` rows when all tokens are evaluated at once in an empty context."""
        self.context.clear()
        batch = Batch()
        batch.add(0, tokens, 0, wanted=count)
        return self.context.decode(batch).copy()

    def forced(self, prompts: Sequence[tuple[int, ...]], answers: Sequence[tuple[int, ...]]) -> list[np.ndarray]:
        """The logits that picked each answer's tokens, when the lanes are stepped together."""
        self.context.clear()
        rows: list[list[np.ndarray]] = []
        for sequence, prompt in enumerate(prompts):
            batch = Batch()
            batch.add(sequence, prompt, 0, wanted=1)
            rows.append([self.context.decode(batch)[0].copy()])
        for step in range(len(answers[0]) - 1):
            batch = Batch()
            for sequence, (prompt, answer) in enumerate(zip(prompts, answers, strict=True)):
                batch.add(sequence, answer[step : step + 1], len(prompt) + step, wanted=1)
            for found, row in zip(rows, self.context.decode(batch), strict=True):
                found.append(row.copy())
        return [np.stack(found) for found in rows]

    def gap(self, prompts: Sequence[tuple[int, ...]], answers: Sequence[tuple[int, ...]]) -> float:
        """What rounding may do: four times the largest difference between one lane and all lanes at once."""
        together = self.forced(prompts, answers)
        alone = [self.forced([p], [a])[0] for p, a in zip(prompts, answers, strict=True)]
        difference = max(float(np.abs(x - y).max()) for x, y in zip(together, alone, strict=True))
        spread = max(float(np.ptp(rows)) for rows in together)
        return min(4 * difference, 0.005 * spread)

    def check_approved(self, requests: Sequence[Request], completions: Sequence[Completion]) -> None:
        """Each token is the arg-max of a fresh evaluation of its prefix, or within the gap of it."""
        answered = [i for i, completion in enumerate(completions) if completion.tokens]
        requests, completions = ([each[i] for i in answered] for each in (requests, completions))
        shortest = min(len(c.tokens) for c in completions)
        prompts = [self.prompt(request) for request in requests]
        gap = self.gap(prompts[:LANES], [c.tokens[:shortest] for c in completions[:LANES]])
        near = total = 0
        for prompt, completion in zip(prompts, completions, strict=True):
            answer = completion.tokens
            logits = self.fresh((*prompt, *answer[:-1]), len(answer))
            chosen = logits[np.arange(len(answer)), answer]
            missing = logits.max(axis=1) - chosen
            assert missing.max() <= gap, f"token {missing.argmax()} is {missing.max()} below the arg-max"
            near += int((logits.argmax(axis=1) != answer).sum())
            total += len(answer)
        assert near <= max(1, total // 1000)

"""Fresh plain evaluations of a model, to hold emitted tokens against: is each one the arg-max of its prefix?

Batches of different shapes round differently, so a near tie may fall either way. What rounding may do is measured: four
times the largest difference of logits between lanes stepped together and each stepped alone, at most 0.5 % of their
range.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pagecompiler.engine.base import EngineError
from pagecompiler.engine.llama.chat import PromptWriter
from pagecompiler.engine.llama.engine import model_template
from pagecompiler.engine.llama.library import Context, Model
from pagecompiler.engine.llama.slotmask import SlotIndex, SlotMask
from pagecompiler.engine.llama.target import Batch, Logits
from pagecompiler.engine.types import Request

END = -1
"""Stands for the end of an answer where a token is named."""

LANES = 5
STEPS = 64  # of each lane, for the gap
ROOM = 8192
CHUNK = 512
LOGITS = 1 << 24  # numbers in the memory of one decode

Answer = Sequence[int]


class Referee:
    """One model, evaluated without the scheduler, at temperature 0. Raises ModelLoadError."""

    def __init__(self, path: Path, *, threads: int, gpu_layers: int = 0, room: int = ROOM) -> None:
        self._model = Model(path, gpu_layers=gpu_layers)
        try:
            self._outputs = max(LANES, min(CHUNK, LOGITS // self._model.size))
            self._context = Context(
                self._model, tokens=room, sequences=LANES, rows=CHUNK, outputs=self._outputs, threads=threads
            )
        except EngineError:
            self._model.close()
            raise
        self._prompts = PromptWriter(self._model, model_template(self._model))
        self._index = SlotIndex(map(self._model.piece, range(self._model.size)))
        self._ends = [token for token in range(self._model.size) if self._model.is_end(token)]

    def gap(self, requests: Sequence[Request], answers: Sequence[Answer]) -> float:
        """What rounding may do here, seen on the first of these answers."""
        length = min(STEPS, *(len(answer) for answer in answers[:LANES]))
        prompts = [self._prompts.write(request.messages).tokens for request in requests[:LANES]]
        cut = [answer[:length] for answer in answers[:LANES]]
        together = self._stepped(prompts, cut)
        alone = [self._stepped([prompt], [answer])[0] for prompt, answer in zip(prompts, cut, strict=True)]
        largest = max(float(np.abs(a - b).max()) for a, b in zip(together, alone, strict=True))
        return min(4 * largest, 0.005 * max(float(np.ptp(rows)) for rows in together))

    def missing(self, request: Request, answer: Answer, *, ended: bool = False) -> npt.NDArray[np.float64]:
        """For each token how far its logit is below that of the arg-max of its row, under the slot mask.

        With `ended` the model chose to end the answer: its last row is that of the end token.
        """
        mask = SlotMask(self._index, request.slots)
        tokens = [*answer, END] if ended else list(answer)
        missing = np.zeros(len(tokens))
        rows = (row for piece in self._rows(request, tokens) for row in piece)
        for place, (token, row) in enumerate(zip(tokens, rows, strict=True)):
            allowed = mask.allowed()
            best = float(row.max() if allowed is None else row[allowed].max())
            missing[place] = best - self._logit(row, token)
            if token != END:
                mask.feed(self._model.piece(token))
        return missing

    def distance(self, request: Request, prefix: Answer, token: int, other: int) -> float:
        """How far apart the logits of two tokens are behind a prefix; END is the likeliest end token."""
        last = self._rows(request, [*prefix, END])[-1][-1]
        return abs(self._logit(last, token) - self._logit(last, other))

    def close(self) -> None:
        """Free the model."""
        self._context.close()
        self._model.close()

    def __enter__(self) -> Referee:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _logit(self, row: Logits, token: int) -> float:
        return float(row[self._ends].max() if token == END else row[token])

    def _rows(self, request: Request, answer: Answer) -> list[Logits]:
        """The rows that pick the tokens of an answer, in pieces; the last token is never evaluated."""
        prompt = self._prompts.write(request.messages).tokens
        self._context.clear()
        self._fill(0, prompt[:-1])
        pieces = []
        fed = [prompt[-1], *answer[:-1]]
        for start in range(0, len(fed), self._outputs):
            piece = fed[start : start + self._outputs]
            batch = Batch()
            batch.add(0, piece, len(prompt) - 1 + start, wanted=len(piece))
            pieces.append(self._context.decode(batch).copy())
        return pieces

    def _fill(self, sequence: int, tokens: Sequence[int]) -> None:
        for start in range(0, len(tokens), CHUNK):
            batch = Batch()
            batch.add(sequence, tokens[start : start + CHUNK], start, wanted=0)
            self._context.decode(batch)

    def _stepped(self, prompts: Sequence[Answer], answers: Sequence[Answer]) -> list[Logits]:
        """The rows that pick the tokens of each answer when the lanes are stepped together."""
        self._context.clear()
        for sequence, prompt in enumerate(prompts):
            self._fill(sequence, prompt[:-1])
        found: list[list[Logits]] = [[] for _ in prompts]
        for step in range(len(answers[0])):
            batch = Batch()
            for sequence, (prompt, answer) in enumerate(zip(prompts, answers, strict=True)):
                token = prompt[-1] if step == 0 else answer[step - 1]
                batch.add(sequence, (token,), len(prompt) - 1 + step, wanted=1)
            for rows, row in zip(found, self._context.decode(batch), strict=True):
                rows.append(row.copy())
        return [np.stack(rows) for rows in found]

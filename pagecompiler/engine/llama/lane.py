"""One request on its way: its prompt, what it has written, and what that cost."""

from __future__ import annotations

import codecs
from time import perf_counter

from pagecompiler.engine.llama.chat import Prompt
from pagecompiler.engine.llama.sampling import Sampler
from pagecompiler.engine.llama.slotmask import SlotMask
from pagecompiler.engine.llama.target import Logits
from pagecompiler.engine.types import Completion, FinishReason, Monitor, Request, Verdict


class Job:
    """A submitted request with its prompt, waiting for a lane."""

    def __init__(self, number: int, request: Request, prompt: Prompt) -> None:
        self.number = number
        self.request = request
        self.prompt = prompt
        self.prefix = prompt.tokens[: prompt.shared]  # what it shares with others


class Lane:
    """A job in a sequence of the model.

    `position` counts the tokens in the model's memory. While it is below the length of the prompt the lane is
    being filled; afterwards `pending` holds the token that was picked and not yet decoded.
    """

    def __init__(self, job: Job, sequence: int, mask: SlotMask | None) -> None:
        request = job.request
        self.job = job
        self.sequence = sequence
        self.position = 0
        self.pending = -1
        self.reused = 0
        self.passes = 0
        self.emitted: list[int] = []
        self._started = perf_counter()
        self._mask = mask
        self._sampler = Sampler(request.sampling)
        self._monitor: Monitor | None = request.monitor() if request.monitor else None
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._text: list[str] = []

    @property
    def filled(self) -> bool:
        """Whether the whole prompt is in the model's memory."""
        return self.position >= len(self.job.prompt.tokens)

    def pick(self, row: Logits) -> int:
        """The target's own choice at this row, under the slot mask."""
        return self._sampler.pick(row, self._mask.allowed() if self._mask else None)

    def take(self, token: int, piece: bytes) -> tuple[str, FinishReason | None]:
        """Emit a token; the whole characters it completes, and why the request ends, if it does."""
        self.emitted.append(token)
        self.pending = token
        if self._mask:
            self._mask.feed(piece)
        text = self._decoder.decode(piece)
        verdict = Verdict.GO
        if text:
            self._text.append(text)
            if self._monitor:
                verdict = self._monitor.feed(text)
        if verdict is Verdict.DONE:
            return text, FinishReason.DONE
        if verdict is Verdict.STUCK:
            return text, FinishReason.STUCK
        return text, FinishReason.LENGTH if len(self.emitted) >= self.job.request.max_tokens else None

    def completion(self, reason: FinishReason, error: Exception | None = None) -> Completion:
        """What the request produced; a character that was cut at the end is left out."""
        return Completion(
            text="".join(self._text),
            tokens=tuple(self.emitted),
            reason=reason,
            seconds=perf_counter() - self._started,
            prompt_tokens=len(self.job.prompt.tokens),
            prompt_reused=self.reused,
            target_passes=self.passes,
            error=error,
        )

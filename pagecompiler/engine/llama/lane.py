"""One request on its way: its prompt, what it has written, and what that cost."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from time import perf_counter
from typing import Literal

from pagecompiler.engine.llama.chat import Prompt
from pagecompiler.engine.llama.sampling import Sampler
from pagecompiler.engine.llama.slotmask import SlotMask
from pagecompiler.engine.llama.target import Logits
from pagecompiler.engine.llama.trace import Trace
from pagecompiler.engine.types import Completion, FinishReason, GenerationEvent, Monitor, Request, Verdict

COUNTED_POSITIONS = 16


class Job:
    """A submitted request with its prompt, waiting for a lane; `previous` are the tokens of its previous answer."""

    def __init__(self, number: int, request: Request, prompt: Prompt, previous: Sequence[int] = ()) -> None:
        self.number = number
        self.request = request
        self.prompt = prompt
        self.previous = previous
        self.prefix = prompt.tokens[: prompt.shared]  # what it shares with others


class Lane:
    """A job in a sequence of the model.

    `position` counts the tokens in the model's memory. While it is below the length of the prompt the lane is
    being filled; afterwards `pending` holds the token that was picked and not yet decoded. `owed` are tokens
    before it that were decoded, approved and lost again with a rejected guess. `turn` orders lanes by their last
    step. `trace` notes what is told of each token.
    """

    def __init__(self, job: Job, sequence: int, mask: SlotMask | None, trace: Trace | None = None) -> None:
        request = job.request
        self.job = job
        self.sequence = sequence
        self.position = 0
        self.pending = -1
        self.owed: list[int] = []
        self.turn = 0
        self.reused = 0
        self.passes = 0
        self.draft_passes = 0
        self.drafted = 0
        self.accepted = 0
        self._accepted_by_position: list[int] = []
        self.emitted: list[int] = []
        self.trace = trace
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

    @property
    def remaining(self) -> int:
        """How many tokens the budget still allows."""
        return self.job.request.max_tokens - len(self.emitted)

    def count(self, drafted: int, accepted: int) -> None:
        """A guess of `drafted` tokens was verified and the first `accepted` were approved."""
        self.drafted += drafted
        self.accepted += accepted
        counts = self._accepted_by_position
        counts.extend([0] * (min(drafted, COUNTED_POSITIONS) - len(counts)))
        for position in range(min(accepted, COUNTED_POSITIONS)):
            counts[position] += 1

    def pick(self, row: Logits, best: int) -> int:
        """The target's own choice at this row, under the slot mask; `best` is the row's arg-max."""
        return self._sampler.pick(row, self._mask.allowed() if self._mask else None, best)

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

    def event(
        self, kind: Literal["text", "finished"], *, text: str = "", completion: Completion | None = None
    ) -> GenerationEvent:
        """An event with the counts so far, and with what the trace has noted since the last one."""
        return GenerationEvent(
            self.job.number,
            kind,
            text,
            tokens=len(self.emitted),
            drafted=self.drafted,
            accepted=self.accepted,
            completion=completion,
            trace=self.trace.take() if self.trace else (),
        )

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
            draft_passes=self.draft_passes,
            drafted=self.drafted,
            accepted=self.accepted,
            accepted_by_position=tuple(self._accepted_by_position),
            error=error,
        )

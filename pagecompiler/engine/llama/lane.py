"""One request on its way: its prompt, what it has written, and what that cost."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import dataclass
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
        self.needed = len(prompt.tokens) + request.max_tokens  # the most tokens that it may have in memory


@dataclass(frozen=True, slots=True)
class Ending:
    """Why a request ended."""

    reason: FinishReason
    error: Exception | None = None


class Lane:
    """A job in a sequence of the model.

    `position` counts the tokens in the model's memory. While it is below the length of the prompt the lane is
    being filled; afterwards `pending` holds the token that was picked and not yet decoded. `owed` are tokens
    before it that were decoded, approved and lost again with a rejected guess. `turn` orders lanes by their last
    step. `trace` notes what is told of each token. `ending` is set when the request has ended, until the lane is freed.
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
        self.verify_passes = 0
        self.verify_rows = 0
        self.draft_passes = 0
        self.drafted = 0
        self.accepted = 0
        self.target_seconds = self.draft_seconds = self.python_seconds = 0.0
        self.accepted_by_position: list[int] = []
        self.drafted_by_position: list[int] = []
        self.emitted: list[int] = []
        self.ending: Ending | None = None
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
        approved, guessed = self.accepted_by_position, self.drafted_by_position
        places = min(drafted, COUNTED_POSITIONS)
        while len(guessed) < places:
            approved.append(0)
            guessed.append(0)
        for position in range(places):
            guessed[position] += 1
            approved[position] += position < accepted

    def pick(self, row: Logits, best: int) -> int:
        """The target's own choice at this row, under the slot mask; `best` is the row's arg-max."""
        return self._sampler.pick(row, self._mask.allowed() if self._mask else None, best)

    def take(self, token: int, piece: bytes) -> tuple[str, FinishReason | None]:
        """Emit a token; the whole characters it completes, and why the request ends, if it does."""
        self.emitted.append(token)
        self.pending = token
        if self._mask is not None:
            self._mask.feed(piece)
        text = self._decoder.decode(piece)
        if text:
            self._text.append(text)
            if self._monitor is not None:
                verdict = self._monitor.feed(text)
                if verdict is not Verdict.GO:
                    return text, FinishReason(verdict.value)
        return text, FinishReason.LENGTH if len(self.emitted) >= self.job.request.max_tokens else None

    def event(
        self, kind: Literal["prompt", "text", "finished"], *, text: str = "", completion: Completion | None = None
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
            passes=self.verify_passes,
            rows=self.verify_rows,
        )

    def completion(self, ending: Ending) -> Completion:
        """What the request produced; a character that was cut at the end is left out."""
        return Completion(
            text="".join(self._text),
            tokens=tuple(self.emitted),
            reason=ending.reason,
            seconds=perf_counter() - self._started,
            prompt_tokens=len(self.job.prompt.tokens),
            prompt_reused=self.reused,
            target_passes=self.passes,
            draft_passes=self.draft_passes,
            drafted=self.drafted,
            accepted=self.accepted,
            accepted_by_position=tuple(self.accepted_by_position),
            drafted_by_position=tuple(self.drafted_by_position),
            verify_passes=self.verify_passes,
            verify_rows=self.verify_rows,
            target_seconds=self.target_seconds,
            draft_seconds=self.draft_seconds,
            python_seconds=self.python_seconds,
            error=ending.error,
        )

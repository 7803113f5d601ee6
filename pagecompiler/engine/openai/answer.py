"""One answer as it comes in: what was sent for it, its text and counts, and why it ends."""

from __future__ import annotations

from collections.abc import Set
from time import perf_counter
from typing import Any

from pagecompiler.engine.openai.faults import FaultKind, SendError
from pagecompiler.engine.openai.stream import Piece, Usage
from pagecompiler.engine.types import Completion, FinishReason, Request, Verdict

UNKNOWN_TOKEN = -1
ALL_TOKENS = 1 << 30
"""top_k that keeps everything: 0 and -1 are each refused by one server or another."""

OPTIONAL_FIELDS = (
    "chat_template_kwargs",
    "continuous_usage_stats",
    "stream_options",
    "timings_per_token",
    "repetition_penalty",
    "repeat_penalty",
    "min_p",
    "top_k",
    "seed",
)
"""What a server may refuse to know; then it is left out, for this server."""

_SLACK = 64  # events without text that a well-behaved server may send
_TOKEN_CHARACTERS = 64
_ENDED = {"stop": FinishReason.END, "eos": FinishReason.END, "length": FinishReason.LENGTH}
_BROKEN = frozenset({"abort", "aborted", "cancelled", "error"})


def request_fields(request: Request, left_out: Set[str]) -> dict[str, Any]:
    """What is sent besides model and messages.

    Servers fill in what is missing from the model's own defaults, so everything that decides on a token is named:
    penalties are off under each of their names.
    """
    sampling = request.sampling
    fields: dict[str, Any] = {
        "max_tokens": request.max_tokens,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "seed": sampling.seed,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "repeat_penalty": 1.0,
        "repetition_penalty": 1.0,
        "chat_template_kwargs": {"enable_thinking": False},
        "stream_options": {"include_usage": True, "continuous_usage_stats": True},
        "timings_per_token": True,
    }
    if sampling.temperature > 0:
        fields |= {"top_k": sampling.top_k or ALL_TOKENS, "min_p": sampling.min_p}
    if "continuous_usage_stats" in left_out:
        fields["stream_options"] = {"include_usage": True}
    return {name: value for name, value in fields.items() if name not in left_out}


class Answer:
    """Collects the pieces of one answer.

    `take` says when to stop reading because nothing more is needed; `completion` is only for an answer that ended:
    by its finish reason, or because it was stopped here.
    """

    def __init__(self, request: Request) -> None:
        self.ended: FinishReason | None = None
        self.thought = False
        self.first_text = 0.0  # seconds
        self._request = request
        self._monitor = request.monitor() if request.monitor else None
        self._started = perf_counter()
        self._text: list[str] = []
        self._characters = 0
        self._pieces = 0
        self._events = 0
        self._usage = Usage()

    @property
    def begun(self) -> bool:
        return self._pieces > 0

    @property
    def tokens(self) -> int:
        """Tokens so far; where the server does not count them, or counts more than it may write, pieces."""
        return max(self._usage.tokens if self._usage.tokens <= self._request.max_tokens else 0, self._pieces)

    @property
    def drafted(self) -> int:
        return max(self._usage.drafted, 0)

    @property
    def accepted(self) -> int:
        return max(self._usage.accepted, 0)

    def take(self, piece: Piece) -> bool:
        """Take the next piece; true when the answer is complete, whatever the server still writes.

        Raises SendError for an end that is none.
        """
        self._events += 1
        self._usage = _newer(self._usage, piece.usage)
        if self.ended is not None:
            return False
        if piece.text or piece.thought:
            self.thought = self.thought or piece.thought
            self._pieces += 1
            self.first_text = self.first_text or perf_counter() - self._started
        if piece.text:
            self._text.append(piece.text)
            self._characters += len(piece.text)
            verdict = self._monitor.feed(piece.text) if self._monitor else Verdict.GO
            if verdict is not Verdict.GO:
                self.ended = FinishReason(verdict.value)
                return True
        if piece.finish is not None:
            self.ended = _reason(piece.finish)
            return False
        budget = self._request.max_tokens
        if self._pieces > budget or self._characters > _TOKEN_CHARACTERS * budget + _SLACK:
            self.ended = FinishReason.LENGTH  # the server does not keep to max_tokens
            return True
        if self._events > 2 * budget + _SLACK:
            raise SendError(FaultKind.BROKEN, "the stream has events without end")
        return False

    def completion(self) -> Completion:
        """What came. Raises SendError for an answer that did not end."""
        if self.ended is None:
            raise SendError(FaultKind.CUT, "the answer was cut: it ended without a finish_reason")
        return self._completion(self.ended)

    def abandoned(self, reason: FinishReason, error: Exception | None = None) -> Completion:
        """A request that ended without an answer; what was written until then is not an answer."""
        return self._completion(reason, error)

    def _completion(self, reason: FinishReason, error: Exception | None = None) -> Completion:
        usage = self._usage
        return Completion(
            text="".join(self._text) if error is None else "",
            tokens=(UNKNOWN_TOKEN,) * self.tokens,
            reason=reason,
            seconds=perf_counter() - self._started,
            prompt_tokens=max(usage.prompt_tokens, 0),
            prompt_reused=max(usage.prompt_reused, 0),
            target_passes=max(usage.passes, 0),
            drafted=self.drafted,
            accepted=self.accepted,
            accepted_by_position=usage.accepted_by_position,
            error=error,
        )


def _newer(old: Usage, new: Usage | None) -> Usage:
    if new is None:
        return old
    return Usage(
        prompt_tokens=max(old.prompt_tokens, new.prompt_tokens),
        prompt_reused=max(old.prompt_reused, new.prompt_reused),
        tokens=max(old.tokens, new.tokens),
        drafted=max(old.drafted, new.drafted),
        accepted=max(old.accepted, new.accepted),
        passes=max(old.passes, new.passes),
        accepted_by_position=new.accepted_by_position or old.accepted_by_position,
    )


def _reason(finish: str) -> FinishReason:
    if finish in _BROKEN:
        raise SendError(FaultKind.BROKEN, f"the server ended the answer: {finish}")
    if finish not in _ENDED:
        raise SendError(FaultKind.REFUSED, f"the server ended the answer with `{finish[:40]}`")
    return _ENDED[finish]

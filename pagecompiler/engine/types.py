"""What goes into an engine and what comes out: plain data, units in the names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from itertools import zip_longest
from pathlib import Path
from time import perf_counter
from typing import Any, Literal, Protocol

from pagecompiler.engine.hardware import DEFAULT_HARDWARE, Hardware


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message; `content` is data and never template source."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a token is picked. Temperature 0 is arg-max; top_k 0, top_p 1 and min_p 0 switch a filter off."""

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    seed: int = 0


class Method(StrEnum):
    """Where guesses come from; `AUTO` takes what measures best."""

    AUTO = "auto"
    PLAIN = "plain"
    DRAFT = "draft"
    MTP = "mtp"
    LOOKUP = "lookup"


class Prefer(StrEnum):
    """What a build is optimised for: the time to the finished page, or tokens a second in all."""

    LATENCY = "latency"
    THROUGHPUT = "throughput"


@dataclass(frozen=True, slots=True)
class Decoding:
    """How an engine decodes. It changes the speed, never the text but for how `hardware` rounds.

    `depth` None chooses the number of tokens to draft by measurement. `draft_model` is a smaller model of the
    same vocabulary, or a file with a multi-token-prediction block; `draft_device` the device that it runs on.
    `previous` uses the previous answers that requests bring.
    """

    method: Method = Method.AUTO
    depth: int | None = None
    draft_model: Path | None = None
    draft_device: str | None = None
    previous: bool = True
    prefer: Prefer = Prefer.LATENCY
    hardware: Hardware = DEFAULT_HARDWARE


class Verdict(StrEnum):
    """What a monitor says after each piece of text."""

    GO = "go"
    DONE = "done"
    STUCK = "stuck"


class Monitor(Protocol):
    """Watches one request's text as it is written; must be cheap, one is made per request."""

    def feed(self, text: str) -> Verdict:
        """Take the newly written text and say whether to go on."""


@dataclass(frozen=True, slots=True)
class Request:
    """One block to write.

    `slots` are the numbers N for which `{{N}}` may still be written (the slot mask of the sampler; empty: no
    mask). `monitor` makes the object that ends the request early; it is a picklable factory, since engines
    may live in a child process. The first message is shared by many requests and is decoded once. `previous` is
    a guess at the whole answer, as text or as tokens of this model: it changes the speed, never the answer.
    `page` is the number of the block's page: an engine with several servers asks one of them for all of a page.
    `trace` asks for the story of every token in the events, for a report; it costs time.
    """

    messages: tuple[Message, ...]
    max_tokens: int
    label: str
    group: str = ""
    sampling: Sampling = Sampling()
    slots: frozenset[int] = frozenset()
    monitor: Callable[[], Monitor] | None = None
    previous: str | tuple[int, ...] = ()
    page: int = 0
    trace: bool = False


class FinishReason(StrEnum):
    """Why a completion ended."""

    DONE = "done"  # the monitor saw the end of the block
    END = "end"  # the model's end token
    LENGTH = "length"  # max_tokens written
    STUCK = "stuck"  # the monitor saw no progress
    CANCELLED = "cancelled"
    FAILED = "failed"  # see Completion.error


@dataclass(frozen=True, slots=True)
class Completion:
    """What one request produced, and what it cost.

    `tokens` are the ids of the emitted tokens without the end token, -1 where a server tells none. `target_passes`
    and `draft_passes` count the decodes in which the request had a row; `verify_passes` are those behind the
    prompt, in which it had `verify_rows` rows, padding included. Of `drafted` tokens the target approved
    `accepted`; `accepted_by_position` says how many at the first place of a guess, at the second, and so on, for
    the first places only, `drafted_by_position` how many guesses had such a place. `seconds` runs from admission to
    the end. `target_seconds`, `draft_seconds` and `python_seconds` are its part of the time of its steps: what several
    requests share is divided by their rows.
    """

    text: str
    tokens: tuple[int, ...]
    reason: FinishReason
    seconds: float
    prompt_tokens: int = 0
    prompt_reused: int = 0
    target_passes: int = 0
    draft_passes: int = 0
    drafted: int = 0
    accepted: int = 0
    accepted_by_position: tuple[int, ...] = ()
    drafted_by_position: tuple[int, ...] = ()
    verify_passes: int = 0
    verify_rows: int = 0
    target_seconds: float = 0.0
    draft_seconds: float = 0.0
    python_seconds: float = 0.0
    error: Exception | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A token that the target might have written, with its probability before any filter (softmax of its row)."""

    text: str
    probability: float


@dataclass(frozen=True, slots=True)
class TracedToken:
    """How one token came to be.

    `source` names where its guess came from (`mtp`, `draft`, `lookup`, `previous`), "" for a token that nobody
    guessed. `accepted` says whether the target approved the guess: if not, `refused` is the guessed text in whose
    place the target wrote `text`, and `refused_rank` the guess's rank in the row (1 is the likeliest).
    `candidates` are the five likeliest of the row, best first. Text of a token may be half a character: it is
    decoded with replacement.
    """

    text: str
    source: str = ""
    accepted: bool = False
    refused: str = ""
    refused_rank: int = 0
    candidates: tuple[Candidate, ...] = ()


@dataclass(frozen=True, slots=True)
class GenerationEvent:
    """Something that happened to a request. `text` is whole characters only; the counts are those so far.

    `passes` and `rows` are the `verify_passes` and `verify_rows` of the completion that is being written.
    A request that is admitted once more begins anew: its text until then is void. `prompt` says that a part of a long
    prompt was read, so that nobody who wants to end the request must wait for the rest. `at` is when it happened, in
    seconds on the clock of `time.perf_counter`. `trace` tells of the tokens of a traced request that this pass brought,
    whether or not they completed a character.
    """

    request: int
    kind: Literal["admitted", "prompt", "text", "finished"]
    text: str = ""
    tokens: int = 0
    drafted: int = 0
    accepted: int = 0
    completion: Completion | None = None
    at: float = field(default_factory=perf_counter)
    trace: tuple[TracedToken, ...] = ()
    passes: int = 0
    rows: int = 0


@dataclass(slots=True)
class EngineStats:
    """Totals since the engine was made; times in seconds. `rows` are those of the target, padding included.

    `verify_passes`, `verify_rows` and `verify_seconds` (drafting and Python included) are those behind the prompts.
    `accepted_by_position` is that of finished requests. `draft_seconds` are those in which the target waited for the
    guesses of a model: nothing of them is hidden behind its own passes, wherever that model runs (`draft_device`,
    empty for the device of the target).
    """

    target_passes: int = 0
    draft_passes: int = 0
    rows: int = 0
    verify_passes: int = 0
    verify_rows: int = 0
    drafted: int = 0
    accepted: int = 0
    tokens: int = 0
    prompt_tokens: int = 0
    prompt_reused: int = 0
    target_seconds: float = 0.0
    draft_seconds: float = 0.0
    verify_seconds: float = 0.0
    python_seconds: float = 0.0
    accepted_by_position: tuple[int, ...] = ()
    draft_device: str = ""
    native_log: list[str] = field(default_factory=list)

    @property
    def rows_per_pass(self) -> float:
        """The rows of all lanes that a pass behind the prompts verified."""
        return self.verify_rows / self.verify_passes if self.verify_passes else 0.0

    def since(self, before: EngineStats) -> EngineStats:
        """What was added after a snapshot of these totals."""
        return self._plus(before, -1)

    def __add__(self, other: EngineStats) -> EngineStats:
        """The totals of two engines; `draft_device` is that of the first one that has one."""
        log = [*self.native_log, *other.native_log]
        return replace(self._plus(other, 1), draft_device=self.draft_device or other.draft_device, native_log=log)

    def _plus(self, other: EngineStats, times: int) -> EngineStats:
        changes: dict[str, Any] = {}
        for each in fields(self):
            own, others = getattr(self, each.name), getattr(other, each.name)
            if isinstance(own, int | float):
                changes[each.name] = own + times * others
        positions = zip_longest(self.accepted_by_position, other.accepted_by_position, fillvalue=0)
        return replace(self, **changes, accepted_by_position=tuple(own + times * others for own, others in positions))

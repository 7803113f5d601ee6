"""A streamed answer: bytes → server-sent events → pieces of text and counts.

Everything here comes from outside and is taken apart with suspicion: a line has a bounded length, and what is not
the JSON that was promised is a SendError.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from typing import Any

from pagecompiler.engine.openai.faults import FaultKind, SendError, status_error, tidy

MAX_EVENT_BYTES = 1 << 20
END = "[DONE]"
_MOST_POSITIONS = 64


@dataclass(frozen=True, slots=True)
class Usage:
    """Counts as far as the server gives them; -1 where it does not. `passes` are those that verified guesses."""

    prompt_tokens: int = -1
    prompt_reused: int = -1
    tokens: int = -1
    drafted: int = -1
    accepted: int = -1
    passes: int = -1
    accepted_by_position: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Piece:
    """One event of a stream: new text, why the answer ended, the counts so far. `thought` marks unseen text."""

    text: str = ""
    finish: str | None = None
    usage: Usage | None = None
    thought: bool = False


async def event_data(chunks: AsyncIterator[bytes]) -> AsyncGenerator[str, None]:
    """The data of each server-sent event; comments and other fields are left out. Raises SendError."""
    buffer = b""
    data: list[bytes] = []
    held = 0  # bytes of the lines in `data`
    async for chunk in chunks:
        buffer += chunk
        *lines, buffer = buffer.split(b"\n")
        for line in lines:
            line = line.removesuffix(b"\r")
            if line.startswith(b"data:"):
                data.append(line[5:].removeprefix(b" "))
                held += len(line) + 1
            elif not line and data:
                yield _text(data)
                data, held = [], 0
        if len(buffer) + held > MAX_EVENT_BYTES:
            raise SendError(FaultKind.BROKEN, f"an event of more than {MAX_EVENT_BYTES} bytes")
    # An event without its empty line is unfinished and never used.


def _text(data: list[bytes]) -> str:
    try:
        return b"\n".join(data).decode("utf-8")
    except UnicodeDecodeError:
        raise SendError(FaultKind.BROKEN, "the stream is not UTF-8") from None


def parse_piece(data: str) -> Piece:
    """One event of a chat stream. Raises SendError for an error, and for what is no such event."""
    try:
        chunk = json.loads(data)
    except (ValueError, RecursionError):
        raise SendError(FaultKind.BROKEN, f"no JSON in the stream: {tidy(data)}") from None
    if not isinstance(chunk, dict):
        raise SendError(FaultKind.BROKEN, f"an unknown event in the stream: {tidy(data)}")
    if chunk.get("error"):
        raise _told(chunk["error"])
    usage = _usage(chunk)
    choices = [] if usage is not None and chunk.get("choices") is None else chunk.get("choices")
    if not isinstance(choices, list) or (choices and not isinstance(choices[0], dict)):
        raise SendError(FaultKind.BROKEN, f"an event without choices in the stream: {tidy(data)}")
    if not choices:
        return Piece(usage=usage)
    delta = choices[0].get("delta") or {}
    if not isinstance(delta, dict) or not isinstance(delta.get("content") or "", str):
        raise SendError(FaultKind.BROKEN, f"an event without text in the stream: {tidy(data)}")
    finish = choices[0].get("finish_reason")
    thought = bool(delta.get("reasoning_content") or delta.get("reasoning"))
    return Piece(_whole(delta.get("content") or ""), str(finish) if finish else None, usage, thought)


def _whole(text: str) -> str:
    """Text that can be written as UTF-8: JSON may bring half a character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _told(error: Any) -> SendError:
    """An error that the server reports within a stream."""
    message, code = (error.get("message"), error.get("code")) if isinstance(error, dict) else (error, None)
    if isinstance(code, int) and code in (429, 503):
        return status_error(code, tidy(str(message)))
    return SendError(FaultKind.BROKEN, f"the server reports an error: {tidy(str(message))}")


def _usage(chunk: dict[str, Any]) -> Usage | None:
    """OpenAI's `usage` with its details, llama-server's `timings` and vLLM's `metrics`."""
    usage, timings = _part(chunk, "usage"), _part(chunk, "timings")
    guesses = _part(_part(chunk, "metrics"), "speculative_decoding")
    if not usage and not timings and not guesses:
        return None
    details = _part(usage, "completion_tokens_details")
    accepted = _number(details, "accepted_prediction_tokens")
    rejected = _number(details, "rejected_prediction_tokens")
    drafted = accepted + rejected if accepted >= 0 and rejected >= 0 else -1
    reused = _number(_part(usage, "prompt_tokens_details"), "cached_tokens")
    prompt, cached = _number(timings, "prompt_n"), _number(timings, "cache_n")
    return Usage(
        prompt_tokens=_first(_number(usage, "prompt_tokens"), prompt + max(cached, 0)),
        prompt_reused=_first(reused, cached),
        tokens=_first(_number(usage, "completion_tokens"), _number(timings, "predicted_n")),
        drafted=_first(_number(guesses, "num_draft_tokens"), _number(timings, "draft_n"), drafted),
        accepted=_first(_number(guesses, "num_accepted_draft_tokens"), _number(timings, "draft_n_accepted"), accepted),
        passes=_number(guesses, "num_spec_steps"),
        accepted_by_position=_by_position(guesses.get("acceptance_histogram")),
    )


def _by_position(histogram: Any) -> tuple[int, ...]:
    """How many guesses were accepted at each position; the histogram says how many passes accepted exactly N."""
    if not isinstance(histogram, list) or len(histogram) > _MOST_POSITIONS:
        return ()
    if not all(type(count) is int and count >= 0 for count in histogram):
        return ()
    return tuple(sum(histogram[position:]) for position in range(1, len(histogram)))


def _part(values: dict[str, Any], name: str) -> dict[str, Any]:
    part = values.get(name)
    return part if isinstance(part, dict) else {}


def _number(values: dict[str, Any], name: str) -> int:
    value = values.get(name)
    return value if type(value) is int and value >= 0 else -1


def _first(*numbers: int) -> int:
    return next((number for number in numbers if number >= 0), -1)

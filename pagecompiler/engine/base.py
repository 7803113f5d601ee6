"""The engine protocol and its errors.

EngineError
├── ModelLoadError      the file cannot be loaded (missing, damaged, another format number)
│   └── OutOfMemoryError  it, or its lanes, do not fit into memory
├── PromptTooLongError  a prompt that cannot fit, said before any decode
├── DecodeError         llama_decode failed, or logits were not finite
└── EngineDiedError     the process of the engine ended by itself
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from pagecompiler.engine.types import EngineStats, GenerationEvent, Request


class EngineError(Exception):
    """An engine cannot go on. `hint` says what to do; `native_log` is what llama.cpp printed."""

    exit_code = 1

    def __init__(self, message: str, *, hint: str = "", native_log: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.native_log = native_log


class ModelLoadError(EngineError):
    """The model file cannot be used."""


class OutOfMemoryError(ModelLoadError):
    """The model, or what its lanes need, does not fit into memory."""


class PromptTooLongError(EngineError):
    """The prompt and its budget do not fit into a lane."""


class DecodeError(EngineError):
    """A decode failed; the lanes of that batch are lost, the engine can go on."""


class EngineDiedError(EngineError):
    """The process that ran the engine ended by itself, as after a native abort; nothing of it is left."""


class Engine(Protocol):
    """Writes many requests at once.

    >>> number = engine.submit(request)
    >>> for event in engine.events():
    ...     if event.kind == "finished":
    ...         print(event.completion.text)
    """

    def submit(self, request: Request) -> int:
        """Queue a request and return its number. Thread-safe; allowed while `events()` is being read.

        Raises PromptTooLongError when prompt and budget cannot fit.
        """

    def events(self) -> Iterator[GenerationEvent]:
        """Run until every submitted request has finished, yielding what happens; may be called again."""

    def cancel(self, number: int) -> None:
        """End a request at the next step; its last event says CANCELLED. Unknown numbers are ignored."""

    def stats(self) -> EngineStats:
        """Totals since the engine was made."""

    def close(self) -> None:
        """Free everything. Calling it twice is allowed."""

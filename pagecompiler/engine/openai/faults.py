"""What can go wrong between a request and a server, sorted by what is to be done about it."""

from __future__ import annotations

from enum import StrEnum

from pagecompiler.engine.base import EngineError, PromptTooLongError

_SHOWN = 200
_TOO_LONG = ("context length", "context size", "context window", "exceed_context_size", "longer than the maximum")


class FaultKind(StrEnum):
    """What a fault says about the server and the request."""

    BUSY = "busy"  # the server took nothing; wait, ask for less at once
    DOWN = "down"  # nobody there, or nothing came; use another server, try again later
    CUT = "cut"  # the answer ended in order, but before its end; throw it away, send again
    BROKEN = "broken"  # the server or the connection failed; throw away what came, send again
    UNUSABLE = "unusable"  # wrong key, wrong model, no such address: this server is of no use in this run
    REFUSED = "refused"  # the request is at fault; never sent again


class SendError(Exception):
    """One failed send. `retry_after` are the seconds that the server asked to wait."""

    def __init__(self, kind: FaultKind, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.retry_after = retry_after


def status_error(status: int, said: str, retry_after: float | None = None) -> SendError:
    """The fault of an HTTP status that is no success; `said` is the server's own explanation."""
    message = f"HTTP {status}: {said}" if said else f"HTTP {status}"
    if status in (429, 503, 529):
        return SendError(FaultKind.BUSY, message, retry_after=retry_after)
    if status in (401, 403, 404, 405):
        return SendError(FaultKind.UNUSABLE, message)
    if status in (408, 409, 425) or status >= 500:
        return SendError(FaultKind.BROKEN, message)
    return SendError(FaultKind.REFUSED, message)


def error_of(fault: SendError, url: str, label: str) -> EngineError:
    """The engine error of a request that is given up."""
    if fault.kind is FaultKind.REFUSED and any(words in fault.message.lower() for words in _TOO_LONG):
        return PromptTooLongError(
            f"{label}: the prompt does not fit into the context of {url}: {fault.message}",
            hint="shorten the texts, or give the server a larger context",
        )
    return EngineError(f"{url}: {fault.message}", hint=HINTS.get(fault.kind, ""))


HINTS = {
    FaultKind.BUSY: "the server stayed busy; start again later, or give it more room",
    FaultKind.DOWN: "is the server running, and is this its address?",
    FaultKind.CUT: "the server's own log says why it ends answers early",
    FaultKind.BROKEN: "the server's own log says more",
    FaultKind.UNUSABLE: "is this the server's address, and the key in PAGEC_ENGINE_KEY the right one?",
}


def tidy(text: str) -> str:
    """Foreign text as one short printable line."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * _SHOWN]).split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"

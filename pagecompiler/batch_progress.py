"""How far a batch is, on one line of stderr: drawn in place in a terminal, now and then as a line elsewhere."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

from pagecompiler.batch import BatchState

_REDRAW_SECONDS = 0.1
_LINE_SECONDS = 10.0


class BatchProgress:
    """Shows each state that it is called with, not more often than one can read.

    >>> progress_line(BatchState(pages=24, finished=6, failed=1, tokens=900, seconds=3.0, seconds_left=9.2))
    '6 of 24 pages, 1 failed, 900 tokens, 300 tok/s, about 10 s left'
    """

    def __init__(self, *, live: bool, quiet: bool) -> None:
        self._live = live
        self._quiet = quiet
        self._last = time.perf_counter() - (_REDRAW_SECONDS if live else 0)
        self._drawn = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()

    def __call__(self, state: BatchState) -> None:
        now = time.perf_counter()
        if self._quiet or now - self._last < (_REDRAW_SECONDS if self._live else _LINE_SECONDS):
            return
        self._last = now
        if self._live:
            print(f"\r\x1b[K{progress_line(state)}", end="", file=sys.stderr, flush=True)
            self._drawn = True
        else:
            print(progress_line(state), file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Make room for other lines."""
        if self._drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._drawn = False


def progress_line(state: BatchState) -> str:
    """A state in words."""
    failed = f", {state.failed} failed" if state.failed else ""
    rate = state.tokens / state.seconds if state.seconds > 0 else 0.0
    left = f", about {_rounded(state.seconds_left)} left" if state.seconds_left is not None else ""
    return f"{state.finished} of {state.pages} pages{failed}, {state.tokens} tokens, {rate:.0f} tok/s{left}"


def _rounded(seconds: float) -> str:
    """An estimate is not known to the second."""
    if seconds >= 90:
        return f"{round(seconds / 60)} min"
    return f"{max(1, round(seconds)) if seconds < 5 else 5 * round(seconds / 5)} s"

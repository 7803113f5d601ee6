"""What llama.cpp printed last in this process: it goes into the typed errors."""

from __future__ import annotations

from collections import deque

KEPT_LOG_LINES = 200
LOG_DEBUG, LOG_WARN, LOG_CONTINUED = 1, 3, 5


class NativeLog:
    """The last lines; `level` is the lowest level that is kept."""

    def __init__(self) -> None:
        self.level = LOG_WARN
        self.lines: deque[str] = deque(maxlen=KEPT_LOG_LINES)
        self._kept = False

    def text(self) -> str:
        """The kept lines, oldest first."""
        return "".join(self.lines)

    def add(self, level: int, line: bytes) -> None:
        """Take a line."""
        if level != LOG_CONTINUED:
            self._kept = level >= self.level
        if self._kept:
            self.lines.append(line.decode("utf-8", "replace"))


native_log = NativeLog()

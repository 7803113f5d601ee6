"""SIGINT and SIGTERM, remembered.

The exception that a handler raises is dropped where Python happens to run a callback: of a weak reference, and every
import runs some, or of llama.cpp, which logs while it loads. What goes on for long therefore asks whether it should
have ended.
"""

from __future__ import annotations

import signal
import sys
from types import FrameType

TERMINATED = 143
_CALLED_BACK = (("pagecompiler.engine.llama.support", "_log"), ("pagecompiler.engine.llama.native_log", "add"))


class Interrupts:
    """Raises KeyboardInterrupt or SystemExit when a signal comes, and again at each `check` afterwards."""

    def __init__(self) -> None:
        self._number: int | None = None

    def install(self) -> None:
        """Forget what came and listen. A process that was started to ignore Ctrl-C goes on ignoring it."""
        self._number = None
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, self._hear)
        signal.signal(signal.SIGTERM, self._hear)

    @property
    def received(self) -> bool:
        """Whether a signal has come."""
        return self._number is not None

    def check(self) -> None:
        """Raise what belongs to the signal that has come."""
        if self._number == signal.SIGTERM:
            sys.exit(TERMINATED)
        if self._number is not None:
            raise KeyboardInterrupt

    def _hear(self, number: int, frame: FrameType | None) -> None:
        self._number = number
        if frame is None or (frame.f_globals.get("__name__"), frame.f_code.co_name) not in _CALLED_BACK:
            self.check()


INTERRUPTS = Interrupts()
"""Those of the command that is running."""

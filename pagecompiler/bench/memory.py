"""The memory of this process, as the system tells it; None where it does not."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from pathlib import Path

_STATUS = Path("/proc/self/status")
_RESET_PEAK = Path("/proc/self/clear_refs")
_PEAK = re.compile(r"^VmHWM:\s+(\d+) kB", re.MULTILINE)


def forget_peak() -> None:
    """Let the peak begin anew: what was used before, by another arm, does not count."""
    with contextlib.suppress(OSError):
        _RESET_PEAK.write_text("5", encoding="ascii")


def peak_memory() -> int | None:
    """The most resident memory since `forget_peak`, in bytes; mapped files count as far as they were read."""
    if not os.access(_RESET_PEAK, os.W_OK):
        return None
    found = _PEAK.search(_STATUS.read_text(encoding="ascii"))
    return int(found[1]) * 1024 if found else None


def total_memory() -> int | None:
    """The memory of the machine in bytes."""
    if sys.platform == "win32":
        return None
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None

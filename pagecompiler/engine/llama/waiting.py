"""How threads wait for each other within a pass: decided once, before OpenMP is loaded.

A pass has some hundred barriers. Threads that spin there are a third faster with a small model, but as soon as another
program wants a core a spinning thread takes it from the one that all wait for, and passes take several times as long.
So they spin, as llama.cpp does by itself, where nothing else computes, and else only for some microseconds.
"""

from __future__ import annotations

import os
import time
from collections.abc import MutableMapping
from pathlib import Path

_LOAD = Path("/proc/loadavg")
_LOOKS = 5
_LOOK_SECONDS = 0.002
_SHORT_SPIN = "300"  # turns of GNU's OpenMP; others sleep at once


def set_waiting(environment: MutableMapping[str, str] = os.environ, load: Path = _LOAD) -> None:
    """Set how OpenMP waits, unless the user has said it."""
    if not _alone(load):
        environment.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        environment.setdefault("GOMP_SPINCOUNT", _SHORT_SPIN)


def _alone(load: Path) -> bool:
    """Whether no other program computes, in all but one of some looks; where the system does not tell it, one may."""
    others = 0
    for _ in range(_LOOKS):
        try:
            running = int(load.read_text().split()[3].partition("/")[0])
        except (OSError, ValueError, IndexError):
            return False
        others += running > 1  # this thread runs itself
        if others > 1:
            return False
        time.sleep(_LOOK_SECONDS)
    return True

"""How threads wait for each other within a pass: decided once, before OpenMP is loaded.

A pass has some hundred barriers. Threads that spin there are a third faster with a small model, but as soon as another
program wants a core a spinning thread takes it from the one that all wait for, and passes take several times as long.
So they spin, as llama.cpp does by itself, where nothing else computes, and else only for some microseconds.
"""

from __future__ import annotations

import os
import time
from collections.abc import MutableMapping
from contextlib import suppress
from pathlib import Path

_LOAD = Path("/proc/loadavg")
_OWN_THREADS = Path("/proc/self/task")
_LOOKS = 5
_LOOK_SECONDS = 0.002
_SHORT_SPIN = "300"  # turns of GNU's OpenMP; others sleep at once


def set_waiting(
    environment: MutableMapping[str, str] = os.environ, load: Path = _LOAD, own_threads: Path = _OWN_THREADS
) -> None:
    """Set how OpenMP waits, unless the user has said it."""
    if not _alone(load, own_threads):
        environment.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        environment.setdefault("GOMP_SPINCOUNT", _SHORT_SPIN)


def _alone(load: Path, own_threads: Path) -> bool:
    """Whether no other program computes, in all but one of some looks; where the system does not tell it, one may."""
    others = 0
    for _ in range(_LOOKS):
        try:
            running = int(load.read_text().split()[3].partition("/")[0])
            others += running > _own_running(own_threads)
        except (OSError, ValueError, IndexError):
            return False
        if others > 1:
            return False
        time.sleep(_LOOK_SECONDS)
    return True


def _own_running(own_threads: Path) -> int:
    """How many threads of this process run: this one, and for some milliseconds those that NumPy has started."""
    running = 0
    for thread in own_threads.iterdir():
        with suppress(FileNotFoundError):  # it has just ended
            running += (thread / "stat").read_text().rpartition(")")[2].split()[0] == "R"
    return running

"""What is asked of a watch from outside, beside the changes of files: pages to write anew, and how to decode."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from pathlib import Path

from pagecompiler.engine.types import Decoding


class Orders:
    """Kept until the watch takes them. Any thread may give one; `wake` is called when there is something to build."""

    def __init__(self, wake: Callable[[], None] = lambda: None) -> None:
        self._wake = wake
        self._lock = threading.Lock()
        self._anew: set[Path] = set()
        self._decoding: Decoding | None = None

    def write_anew(self, spec: Path) -> None:
        """Every block of a page shall be written again, whatever is in the cache."""
        with self._lock:
            self._anew.add(spec)
        self._wake()

    def decode(self, decoding: Decoding) -> None:
        """From the next build on; the latest order counts."""
        with self._lock:
            self._decoding = decoding

    def waiting_for(self, specs: Collection[Path]) -> bool:
        """Whether one of these pages shall be written anew."""
        with self._lock:
            return not self._anew.isdisjoint(specs)

    def take(self) -> tuple[set[Path], Decoding | None]:
        """The pages to write anew and how to decode, None for as before; they are the caller's now."""
        with self._lock:
            taken = self._anew, self._decoding
            self._anew, self._decoding = set(), None
            return taken

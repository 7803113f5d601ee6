"""What was measured, kept for the next run: per machine, model file and build of llama.cpp."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import tempfile
from pathlib import Path
from typing import Any

from pagecompiler.engine.llama.depth import Measured

_VERSION = 1
_KEPT = 64


def tuning_key(model: Path, *, build: str, threads: int, method: str) -> str:
    """Names a measurement: it holds for this machine, this file, this build and this way of drafting."""
    stat = model.stat()
    parts = [
        platform.node(), platform.machine(), platform.processor(), str(os.cpu_count()), str(threads),
        str(model.resolve()), str(stat.st_size), str(stat.st_mtime_ns), build, method,
    ]  # fmt: skip
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


class Tuning:
    """A small JSON file of measurements. A file that is lost or damaged only costs the first steps of a run."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self, key: str) -> Measured | None:
        """What was stored under a key."""
        try:
            entry = self._read()[key]
            steps = {(int(lanes), int(depth)): float(seconds) for lanes, depth, seconds in entry["steps"]}
            return Measured(steps, tuple(float(share) for share in entry["acceptance"]))
        except (KeyError, TypeError, ValueError):
            return None

    def store(self, key: str, measured: Measured) -> None:
        """Keep a measurement; one that cannot be written is forgotten."""
        entries = self._read()
        entries.pop(key, None)
        entries[key] = {
            "steps": [[lanes, depth, seconds] for (lanes, depth), seconds in sorted(measured.steps.items())],
            "acceptance": list(measured.acceptance),
        }
        latest = dict(list(entries.items())[-_KEPT:])
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=self._path.name)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump({"version": _VERSION, "entries": latest}, file)
            os.replace(name, self._path)

    def _read(self) -> dict[str, Any]:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            content = json.loads(self._path.read_bytes())
            if content["version"] == _VERSION:
                return dict(content["entries"])
        return {}

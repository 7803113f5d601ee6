"""What was measured, kept for the next run: per machine, model file and build of llama.cpp.

What steps cost and how many guesses were approved, which `auto` follows while it runs; the verdicts of `pagec bench`,
which it starts from; and how fast whole engines of each kind were, and whose turn it is.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import platform
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pagecompiler.engine.hardware import usable_threads
from pagecompiler.engine.llama.depth import Measured
from pagecompiler.engine.llama.pace import Pace, Part
from pagecompiler.engine.llama.support import native_support
from pagecompiler.engine.types import Method

_VERSION = 1
_PARTS = ("entries", "verdicts", "paces", "turns")
_KEPT = 64


def tuning_key(model: Path, *, build: str, threads: int, method: str) -> str:
    """Names a measurement: it holds for this machine, this file, this build and this way of drafting."""
    stat = model.stat()
    parts = [
        platform.node(), platform.machine(), platform.processor(), str(os.cpu_count()), str(threads),
        str(model.resolve()), str(stat.st_size), str(stat.st_mtime_ns), build, method,
    ]  # fmt: skip
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class BenchVerdict:
    """What a bench found best with so many lanes; `ratio` is its speed in units of plain decoding's. `date` is ISO."""

    lanes: int
    method: Method
    depth: int
    ratio: float
    date: str


def verdict_key(model: Path, draft: Path | None = None) -> str:
    """Names the verdicts for a model, alone or with a draft model."""
    native = native_support()
    build = f"{native.version} {native.gpu}"
    return tuning_key(
        model, build=build, threads=usable_threads(), method=f"verdict {draft.resolve() if draft else ''}"
    )


class Tuning:
    """A small JSON file of measurements. A file that is lost or damaged only costs the first steps of a run."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self, key: str) -> Measured | None:
        """What was stored under a key."""
        try:
            entry = self._part("entries")[key]
            steps = {
                (int(lanes), int(depth)): float(seconds) for lanes, depth, seconds in entry["steps"] if seconds > 0
            }
            return Measured(steps, tuple(float(share) for share in entry["acceptance"]))
        except (KeyError, TypeError, ValueError):
            return None

    def store(self, key: str, measured: Measured) -> None:
        """Keep a measurement; one that cannot be written is forgotten."""
        entries = self._part("entries")
        entries.pop(key, None)
        entries[key] = {
            "steps": [[lanes, depth, seconds] for (lanes, depth), seconds in sorted(measured.steps.items())],
            "acceptance": list(measured.acceptance),
        }
        self._write(entries=dict(list(entries.items())[-_KEPT:]))

    def pace(self, key: str) -> Pace:
        """How fast the engines under a key were; of no runs when there were none."""
        try:
            entry = self._part("paces")[key]
            parts = {int(lanes): Part(float(tokens), float(seconds)) for lanes, tokens, seconds in entry["parts"]}
            usable = {n: p for n, p in parts.items() if 0 < p.tokens < math.inf and 0 < p.seconds < math.inf}
            return Pace(usable, float(entry["runs"]))
        except (KeyError, TypeError, ValueError, OverflowError):
            return Pace()

    def keep_pace(self, key: str, pace: Pace) -> None:
        """Add what an engine did to what is known under a key."""
        if not pace.size:
            return
        paces = self._part("paces")
        former = self.pace(key)
        paces.pop(key, None)
        both = pace.after(former)
        paces[key] = {"runs": both.runs, "parts": [[n, p.tokens, p.seconds] for n, p in sorted(both.parts.items())]}
        self._write(paces=dict(list(paces.items())[-_KEPT:]))

    def turn(self, key: str, most: int) -> bool:
        """Whether it is the turn of what was measured under a key: so many times in turn, then once not."""
        turns = self._part("turns")
        count = turns.pop(key, 0)
        turns[key] = count + 1 if isinstance(count, int) and count < most else 0
        self._write(turns=dict(list(turns.items())[-_KEPT:]))
        return bool(turns[key])

    def verdicts(self, key: str) -> dict[int, BenchVerdict]:
        """The verdicts under a key, by the number of lanes."""
        found = {}
        with contextlib.suppress(AttributeError, KeyError, TypeError, ValueError):
            for lanes, entry in self._part("verdicts").get(key, {}).items():
                depth, ratio = int(entry["depth"]), float(entry["ratio"])
                found[int(lanes)] = BenchVerdict(int(lanes), Method(entry["method"]), depth, ratio, str(entry["date"]))
        return found

    def keep_verdict(self, key: str, verdict: BenchVerdict) -> bool:
        """Keep a verdict in place of the one for as many lanes; false when it cannot be written."""
        verdicts = self._part("verdicts")
        own = {
            "method": verdict.method.value,
            "depth": verdict.depth,
            "ratio": round(verdict.ratio, 4),
            "date": verdict.date,
        }
        verdicts[key] = {**verdicts.pop(key, {}), str(verdict.lanes): own}
        return self._write(verdicts=dict(list(verdicts.items())[-_KEPT:]))

    def forget(self, key: str) -> int:
        """Drop the verdicts under a key; says how many there were."""
        verdicts = self._part("verdicts")
        gone = verdicts.pop(key, {})
        if gone:
            self._write(verdicts=verdicts)
        return len(gone)

    def _write(self, **changed: Mapping[str, Any]) -> bool:
        content = {name: self._part(name) for name in _PARTS} | changed
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=self._path.name)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump({"version": _VERSION, **content}, file)
            os.replace(name, self._path)
            return True
        return False

    def _part(self, name: str) -> dict[str, Any]:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            content = json.loads(self._path.read_bytes())
            if content["version"] == _VERSION:
                return dict(content.get(name, {}))
        return {}

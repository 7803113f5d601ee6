"""Bounds of the cache folder: what was not used for long goes, and so does what killed builds left behind."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from pathlib import Path

from pagecompiler.files import LEFTOVER_SECONDS
from pagecompiler.record import PAGES

MAX_BYTES = 256 * 1024 * 1024
_EVERY_SECONDS = 24 * 3600
_STAMP = "cleaned"


def clean(folder: Path, *, max_bytes: int = MAX_BYTES, now: float | None = None) -> int:
    """Once a day: remove the fragments that were not used for longest, down to `max_bytes`, what killed builds left
    behind, and records of specs that are gone together with their pages. Gives the number of files removed.
    """
    now = time.time() if now is None else now
    stamp = folder / _STAMP
    with contextlib.suppress(OSError):
        if now - stamp.stat().st_mtime < _EVERY_SECONDS:
            return 0
    if not folder.is_dir():
        return 0
    removed = 0
    with contextlib.suppress(OSError):
        stamp.touch()
        for surplus in (_leftovers(folder, now), _surplus(folder / "fragments", max_bytes), _void(folder / PAGES)):
            for path in list(surplus):
                path.unlink(missing_ok=True)
                removed += 1
    return removed


def _leftovers(folder: Path, now: float) -> Iterator[Path]:
    return (path for path in folder.rglob("*.tmp") if now - path.stat().st_mtime > LEFTOVER_SECONDS)


def _surplus(folder: Path, max_bytes: int) -> Iterator[Path]:
    """The files that were used last longest ago, without which the rest is small enough."""
    stats = [(path.stat(), path) for path in folder.rglob("*.json")]
    total = sum(stat.st_size for stat, _ in stats)
    for stat, path in sorted(stats, key=lambda entry: entry[0].st_mtime):
        if total <= max_bytes:
            return
        total -= stat.st_size
        yield path


def _void(folder: Path) -> Iterator[Path]:
    """Records of which nothing is left."""
    for path in folder.rglob("*.json"):
        try:
            entry = json.loads(path.read_bytes())
            void = not Path(entry["spec"]).exists() and not Path(entry["output"]).exists()
        except (ValueError, KeyError, TypeError):
            void = True
        if void:
            yield path

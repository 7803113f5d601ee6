"""The fragment cache: what a model wrote for a prompt, found again by the prompt.

An entry is one small JSON file under `fragments/`, named by its key. Several processes may read and write at once:
an entry is written atomically, and equal keys mean equal content. A damaged entry is a miss.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pagecompiler.engine.types import Message, Sampling
from pagecompiler.files import write_atomic
from pagecompiler.prompts import FORMAT

_USED_EVERY_SECONDS = 24 * 3600
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Fragment:
    """A cleaned fragment and the ids of the tokens that the model wrote for it."""

    text: str
    tokens: tuple[int, ...] = ()


def fragment_key(messages: Sequence[Message], model_id: str, sampling: Sampling) -> str:
    """The key of a fragment: hex SHA-256 of all that decides what a model writes first."""
    content = {
        "format": FORMAT,
        "model": model_id,
        "messages": [[message.role, message.content] for message in messages],
        "sampling": [sampling.temperature, sampling.top_k, sampling.top_p, sampling.min_p, sampling.seed],
    }
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


class FragmentCache:
    """Fragments under a folder. `read` and `write` False make it answer nothing and keep nothing."""

    def __init__(self, folder: Path, *, read: bool = True, write: bool = True) -> None:
        self._folder = folder / "fragments"
        self._read = read
        self._write = write

    def get(self, key: str) -> Fragment | None:
        """The fragment of a key, or None if there is none or it is damaged."""
        if not self._read:
            return None
        path = self._path(key)
        try:
            entry = json.loads(path.read_bytes())
            text, tokens = entry["text"], entry["tokens"]
            whole = entry["version"] == _VERSION and entry["check"] == _check(text, tokens)
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if not whole:
            return None
        _mark_used(path)
        return Fragment(text, tuple(tokens))

    def put(self, key: str, fragment: Fragment) -> None:
        """Keep a fragment. Raises OSError when the folder cannot be written."""
        if not self._write:
            return
        tokens = list(fragment.tokens)
        entry = {
            "version": _VERSION,
            "text": fragment.text,
            "tokens": tokens,
            "check": _check(fragment.text, tokens),
        }
        data = json.dumps(entry, ensure_ascii=False).encode()
        # Losing an entry costs time only, so no wait for the disk.
        write_atomic(self._path(key), data, durable=False)

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.json"


def _check(text: str, tokens: list[int]) -> str:
    return hashlib.sha256(json.dumps([text, tokens]).encode()).hexdigest()


def prepare_folder(folder: Path) -> None:
    """Make the cache folder, hidden from git by a `.gitignore` of its own. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        write_atomic(ignore, b"*\n", durable=False)


def _mark_used(path: Path) -> None:
    """An entry's time is that of its last use, to the day: a relink does not write to every entry."""
    with contextlib.suppress(OSError):
        if time.time() - path.stat().st_mtime > _USED_EVERY_SECONDS:
            os.utime(path)

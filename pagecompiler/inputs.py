"""What a page was made of, and whether it still is: by content, not by time."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable
from pathlib import Path

from pagecompiler import yaml_source
from pagecompiler.assets import usable
from pagecompiler.files import real_path, real_place
from pagecompiler.record import PageRecord
from pagecompiler.spec import LoadedSpec

_SETTLED_NS = 2_000_000_000

Inputs = tuple[tuple[str, str], ...]
"""Resolved paths with the digests of their contents."""


def read_inputs(loaded: LoadedSpec) -> Inputs:
    """The spec and its site file with the digests of what was loaded, whatever has become of the files since."""
    if loaded.path is None:
        return ()
    inputs = [(str(real_path(loaded.path)), _digest(loaded.text))]
    if loaded.site is not None:
        texts = [text for name, text in loaded.sources.items() if name != loaded.name]
        inputs.append((str(real_path(loaded.site)), _digest(texts[0] if texts else "")))
    return tuple(inputs)


def missed_images(images: Iterable[Path]) -> Inputs:
    """Images that could not be used a moment ago, with their digests; that of none for one that could be used now,
    so that it counts as changed.
    """
    before = [(path, digest_file(path)) for path in images]
    return tuple((str(path), "" if usable(path) else digest) for path, digest in before)


def digest_file(path: Path) -> str:
    """SHA-256 of a file, of a spec's text without BOM and with plain line ends; '' if it cannot be read."""
    try:
        data = path.read_bytes()
    except OSError:
        return ""
    if path.suffix.lower() in (".yaml", ".yml"):
        text, findings = yaml_source.decode(data, path.name)
        return _digest(text) if not findings else hashlib.sha256(data).hexdigest()
    return hashlib.sha256(data).hexdigest()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class FileDigests:
    """Digests of files, remembered by size, time and inode: images are not read at every look."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[int, int, int], str]] = {}

    def __call__(self, path: str) -> str:
        """The digest of a file, '' if it cannot be read."""
        try:
            stat = os.stat(path)
        except OSError:
            self._known.pop(path, None)
            return ""
        mark = (stat.st_size, stat.st_mtime_ns, stat.st_ino)
        known = self._known.get(path)
        if known is not None and known[0] == mark:
            return known[1]
        digest = digest_file(Path(path))
        # Two saves within one tick of the file system's clock look alike.
        if time.time_ns() - stat.st_mtime_ns > _SETTLED_NS:
            self._known[path] = (mark, digest)
        return digest


def settings_digest(*values: object) -> str:
    """Stands for everything that decides on a page beside the files that are read."""
    return hashlib.sha256(json.dumps(values, default=str).encode()).hexdigest()


def is_current(record: PageRecord | None, settings: str, output: Path, digests: FileDigests) -> bool:
    """Whether a page was built with these settings, and nothing that it was made of, or wrote, has changed."""
    if record is None or record.settings != settings or Path(record.output) != real_place(output) or not record.inputs:
        return False
    files = (*record.inputs, (record.output, record.digest), *record.copies)
    return all(digests(path) == digest for path, digest in files)

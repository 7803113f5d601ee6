"""The build record: for each page, what its last build was made of. A lost record costs only speed.

A spec has one for each place that its page was written to.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from pagecompiler.files import write_atomic

PAGES = "pages"
_VERSION = 3


@dataclass(frozen=True, slots=True)
class BlockRecord:
    """One block of a built page: its description is the structure as the model saw it."""

    name: str
    kind: str
    description: str
    key: str


@dataclass(frozen=True, slots=True)
class PageRecord:
    """A built page: where it went, the SHA-256 of its bytes, and its blocks in reading order, style first.

    `settings` stands for the options, the model and this version of pagec; `inputs` are the files that were read,
    with their digests, `copies` the images beside the page, `put` those of this build or of earlier ones that were not
    there before.
    """

    output: str
    digest: str
    blocks: tuple[BlockRecord, ...]
    settings: str = ""
    inputs: tuple[tuple[str, str], ...] = ()
    copies: tuple[tuple[str, str], ...] = ()
    put: tuple[tuple[str, str], ...] = ()


def read_record(cache_folder: Path, spec: str, output: str | None = None) -> PageRecord | None:
    """The record of a spec's page at `output` (both resolved paths), else the spec's last one that is not damaged."""
    wanted = _read(_path(cache_folder, spec, output)) if output is not None else None
    if wanted is not None and (wanted[0], wanted[1].output) == (spec, output):
        return wanted[1]
    last: list[tuple[float, PageRecord]] = []
    for path in _folder(cache_folder, spec).glob("*.json"):
        found = _read(path)
        if found is not None and found[0] == spec:
            with contextlib.suppress(OSError):
                last.append((path.stat().st_mtime, found[1]))
    return max(last, key=lambda entry: entry[0])[1] if last else None


def has_record(cache_folder: Path, spec: str) -> bool:
    """Whether the cache has a record of the spec."""
    return os.path.isdir(_folder(cache_folder, spec))


def list_records(cache_folder: Path) -> Iterator[tuple[str, PageRecord]]:
    """All specs that have a record here, with their records."""
    for path in sorted((cache_folder / PAGES).glob("*/*.json")):
        found = _read(path)
        if found is not None:
            yield found


def write_record(cache_folder: Path, spec: str, record: PageRecord) -> None:
    """Keep the record of a spec. Raises OSError."""
    entry = {"version": _VERSION, "spec": spec, **asdict(record)}
    # A name that is not UTF-8 stays as it is with escapes only.
    write_atomic(_path(cache_folder, spec, record.output), json.dumps(entry).encode(), durable=False)


def remove_record(cache_folder: Path, spec: str, output: str) -> None:
    """Forget a spec's page at `output`. Raises OSError."""
    _path(cache_folder, spec, output).unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # other places of the page are in it
        _folder(cache_folder, spec).rmdir()


def _read(path: Path) -> tuple[str, PageRecord] | None:
    try:
        entry = json.loads(path.read_bytes())
        if entry["version"] != _VERSION:
            return None
        blocks = tuple(BlockRecord(**block) for block in entry["blocks"])
        files = [tuple((name, digest) for name, digest in entry[key]) for key in ("inputs", "copies", "put")]
        return entry["spec"], PageRecord(entry["output"], entry["digest"], blocks, entry["settings"], *files)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _path(cache_folder: Path, spec: str, output: str) -> Path:
    return _folder(cache_folder, spec) / f"{_name(output)}.json"


def _folder(cache_folder: Path, spec: str) -> Path:
    return cache_folder / PAGES / _name(spec)


def _name(path: str) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:32]

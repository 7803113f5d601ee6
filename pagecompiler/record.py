"""The build record: for each page, what its last build was made of. A lost record costs only speed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from pagecompiler.files import write_atomic

_VERSION = 2


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
    with their digests, `copies` the images that were put beside the page.
    """

    output: str
    digest: str
    blocks: tuple[BlockRecord, ...]
    settings: str = ""
    inputs: tuple[tuple[str, str], ...] = ()
    copies: tuple[tuple[str, str], ...] = ()


def read_record(cache_folder: Path, spec: str) -> PageRecord | None:
    """The record of a spec (its resolved path), or None if there is none or it is damaged."""
    found = _read(_path(cache_folder, spec))
    return found[1] if found is not None and found[0] == spec else None


def list_records(cache_folder: Path) -> Iterator[tuple[str, PageRecord]]:
    """All specs that have a record here, with their records."""
    for path in sorted((cache_folder / "pages").glob("*.json")):
        found = _read(path)
        if found is not None:
            yield found


def write_record(cache_folder: Path, spec: str, record: PageRecord) -> None:
    """Keep the record of a spec. Raises OSError."""
    entry = {"version": _VERSION, "spec": spec, **asdict(record)}
    write_atomic(_path(cache_folder, spec), json.dumps(entry, ensure_ascii=False).encode(), durable=False)


def remove_record(cache_folder: Path, spec: str) -> None:
    """Forget a spec. Raises OSError."""
    _path(cache_folder, spec).unlink(missing_ok=True)


def _read(path: Path) -> tuple[str, PageRecord] | None:
    try:
        entry = json.loads(path.read_bytes())
        if entry["version"] != _VERSION:
            return None
        blocks = tuple(BlockRecord(**block) for block in entry["blocks"])
        inputs, copies = (tuple((name, digest) for name, digest in entry[key]) for key in ("inputs", "copies"))
        return entry["spec"], PageRecord(entry["output"], entry["digest"], blocks, entry["settings"], inputs, copies)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _path(cache_folder: Path, spec: str) -> Path:
    return cache_folder / "pages" / f"{hashlib.sha256(spec.encode()).hexdigest()[:32]}.json"

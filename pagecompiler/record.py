"""The build record: for each page, what its last build was made of. A lost record costs only speed."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from pagecompiler.files import write_atomic

_VERSION = 1


@dataclass(frozen=True, slots=True)
class BlockRecord:
    """One block of a built page: its description is the structure as the model saw it."""

    name: str
    kind: str
    description: str
    key: str


@dataclass(frozen=True, slots=True)
class PageRecord:
    """A built page: where it went, the SHA-256 of its bytes, and its blocks in reading order, style first."""

    output: str
    digest: str
    blocks: tuple[BlockRecord, ...]


def read_record(cache_folder: Path, spec: str) -> PageRecord | None:
    """The record of a spec (its resolved path), or None if there is none or it is damaged."""
    try:
        entry = json.loads(_path(cache_folder, spec).read_bytes())
        if entry["version"] != _VERSION:
            return None
        return PageRecord(entry["output"], entry["digest"], tuple(BlockRecord(**block) for block in entry["blocks"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_record(cache_folder: Path, spec: str, record: PageRecord) -> None:
    """Keep the record of a spec. Raises OSError."""
    entry = {"version": _VERSION, "spec": spec, **asdict(record)}
    write_atomic(_path(cache_folder, spec), json.dumps(entry, ensure_ascii=False).encode(), durable=False)


def _path(cache_folder: Path, spec: str) -> Path:
    return cache_folder / "pages" / f"{hashlib.sha256(spec.encode()).hexdigest()[:32]}.json"

"""Pages whose specs have gone, found by the build records; only what pagec wrote, and nobody changed, is removed."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from pagecompiler.inputs import digest_file
from pagecompiler.record import PageRecord, list_records, remove_record


@dataclass(frozen=True, slots=True)
class Orphan:
    """A page that is still there, and the spec that it was built from."""

    page: Path
    spec: str
    cache: Path
    record: PageRecord


def find_orphans(folder: Path, caches: Iterable[Path], outputs: Collection[Path]) -> list[Orphan]:
    """The pages of specs that were under `folder`; `outputs` are resolved paths of pages that are built now."""
    top = folder.resolve()
    return [
        Orphan(Path(record.output), spec, cache, record)
        for cache in caches
        for spec, record in list_records(cache)
        if Path(spec).is_relative_to(top)
        and not Path(spec).exists()
        and Path(record.output).exists()
        and Path(record.output) not in outputs
    ]


def prune(orphans: Iterable[Orphan], caches: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    """Remove orphans with their images; gives what was removed, and the pages that stay because somebody changed
    them. An image that another page shows stays. Raises OSError.
    """
    orphans = list(orphans)
    gone = {orphan.spec for orphan in orphans}
    shared = {
        name
        for cache in caches
        for spec, record in list_records(cache)
        if spec not in gone
        for name, _ in record.copies
    }
    removed, kept = [], []
    for orphan in orphans:
        if digest_file(orphan.page) != orphan.record.digest:
            kept.append(orphan.page)
            continue
        for name, digest in ((str(orphan.page), orphan.record.digest), *orphan.record.copies):
            path = Path(name)
            if name not in shared and digest_file(path) == digest:
                path.unlink()
                removed.append(path)
        remove_record(orphan.cache, orphan.spec)
    return removed, kept

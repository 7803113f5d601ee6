"""Pages whose specs have gone, found by the build records; only what pagec wrote, and nobody changed, is removed."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from pagecompiler.inputs import digest_file
from pagecompiler.options import CACHE_NAME, project_cache
from pagecompiler.record import PageRecord, list_records, remove_record, write_record


@dataclass(frozen=True, slots=True)
class Kept:
    """A record and the cache that it is in; `spec` is its resolved path."""

    spec: str
    cache: Path
    record: PageRecord

    @property
    def page(self) -> Path:
        return Path(self.record.output)


@dataclass(slots=True)
class Orphans:
    """`pages` are still there but their specs have gone; `images` were put beside pages that show them no more."""

    pages: list[Kept] = field(default_factory=list)
    images: list[Kept] = field(default_factory=list)
    shared: set[str] = field(default_factory=set)

    def unused(self, kept: Kept) -> Iterator[tuple[Path, str]]:
        """The images of a record that no page shows."""
        return ((Path(name), digest) for name, digest in kept.record.unused if name not in self.shared)


def find_caches(folder: Path) -> set[Path]:
    """The caches that may know of pages of a folder: that of its project, and those in it and below it."""
    found = {folder / CACHE_NAME}
    project = project_cache(folder.resolve())
    if project is not None:
        found.add(project)
    for place, folders, _ in os.walk(folder):
        if CACHE_NAME in folders:
            found.add(Path(place) / CACHE_NAME)
        folders[:] = [name for name in folders if not name.startswith(".")]
    return {cache.resolve() for cache in found}


def find_orphans(folder: Path, output: Path, caches: Iterable[Path], pages: Collection[Path]) -> Orphans:
    """What is left in the folder `output` of specs that were under `folder`, or of what they showed.

    `pages` are the resolved paths of the pages that are built now.
    """
    top, place = folder.resolve(), output.resolve()
    known = [Kept(spec, cache, record) for cache in caches for spec, record in list_records(cache)]
    found = Orphans()
    for kept in known:
        if not kept.page.is_relative_to(place) or not Path(kept.spec).is_relative_to(top) or not _is_there(kept.page):
            continue
        if _is_there(Path(kept.spec)) or kept.page in pages:
            found.images.append(kept)
        else:
            found.pages.append(kept)
    gone = [id(kept) for kept in found.pages]
    found.shared = {name for kept in known if id(kept) not in gone for name, _ in kept.record.copies}
    found.images = [kept for kept in found.images if any(_is_there(path) for path, _ in found.unused(kept))]
    return found


def prune(orphans: Orphans) -> tuple[list[Path], list[Path]]:
    """Remove the pages with their images, and the images; gives what was removed, and what stays because somebody
    changed it. An image that another page shows stays. Raises OSError.
    """
    removed: list[Path] = []
    changed: list[Path] = []
    for kept in orphans.pages:
        if digest_file(kept.page) != kept.record.digest:
            changed.append(kept.page)
            continue
        copies = [(Path(name), digest) for name, digest in kept.record.copies if name not in orphans.shared]
        _remove([(kept.page, kept.record.digest), *copies, *orphans.unused(kept)], removed)
        remove_record(kept.cache, kept.spec, kept.record.output)
    for kept in orphans.images:
        _remove(list(orphans.unused(kept)), removed)
        write_record(kept.cache, kept.spec, replace(kept.record, unused=()))
    return removed, changed


def _remove(files: Iterable[tuple[Path, str]], removed: list[Path]) -> None:
    for path, digest in files:
        if path not in removed and digest_file(path) == digest:
            path.unlink()
            removed.append(path)


def _is_there(path: Path) -> bool:
    """Whether there may be such a file: what cannot be looked at has not gone."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True

"""Pages whose specs have gone, and images that no page shows, found by the build records.

Only what pagec wrote, and nobody changed or needs, is removed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from pagecompiler.files import real_path
from pagecompiler.folder import SUFFIXES
from pagecompiler.inputs import digest_file
from pagecompiler.mentions import SHOWING, unnamed
from pagecompiler.options import CACHE_NAME, is_project
from pagecompiler.record import PageRecord, list_records, remove_record


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
    """What may be left in the folder `output` of specs of the folder `specs`: `pages` of specs that have gone, and
    `images` (with their digests) that pagec put there and that their pages show no more. `needed` are the files that
    living specs were built from, and those that their pages show.
    """

    output: Path
    specs: Path
    pages: list[Kept] = field(default_factory=list)
    images: dict[Path, str] = field(default_factory=dict)
    needed: set[str] = field(default_factory=set)

    def unused(self) -> list[Path]:
        """Those images that are in the output as they were put there, and that nothing needs or names.

        A page may be of another folder or another cache, or written by hand: what it says counts, not who made it.
        Where something cannot be read, every image may be in it.
        """
        there = [path for path, digest in self.images.items() if self._is_as_put(path, digest)]
        try:
            return list(unnamed(there, [(self.output, SHOWING), (self.specs, SUFFIXES)])) if there else []
        except OSError:
            return []

    def _is_as_put(self, path: Path, digest: str) -> bool:
        inside = path.is_relative_to(self.output) and real_path(path) == path
        return inside and str(path) not in self.needed and digest_file(path) == digest != ""


def find_caches(folder: Path) -> set[Path]:
    """The caches that may know of pages of a folder: those of the projects around it, and those in it and below it."""
    top = real_path(folder)
    found = {place / CACHE_NAME for place in (top, *top.parents) if is_project(place)}
    for place, folders, _ in os.walk(folder):
        if CACHE_NAME in folders:
            found.add(Path(place) / CACHE_NAME)
        folders[:] = [name for name in folders if not name.startswith(".")]
    return {real_path(cache) for cache in found}


def find_orphans(folder: Path, output: Path, caches: Iterable[Path], pages: Collection[Path]) -> Orphans:
    """What is left in `output` of specs that were under `folder`, or of what they showed.

    `pages` are the resolved paths of the pages that are built now. What a living spec in one of the `caches` has made
    or needs is no orphan.
    """
    orphans = Orphans(real_path(output), real_path(folder))
    known = [Kept(spec, cache, record) for cache in caches for spec, record in list_records(cache)]
    living = [kept for kept in known if _is_there(Path(kept.spec))]
    theirs = {kept.page for kept in living} | set(pages)
    orphans.needed = {name for kept in living for name, _ in (*kept.record.inputs, *kept.record.copies)}
    for kept in known:
        if not kept.page.is_relative_to(orphans.output) or not Path(kept.spec).is_relative_to(orphans.specs):
            continue
        if not _is_there(Path(kept.spec)) and kept.page not in theirs and _is_there(kept.page):
            orphans.pages.append(kept)
        elif kept.page in theirs:
            orphans.images |= {Path(name): digest for name, digest in kept.record.put}
    return orphans


def prune(orphans: Orphans, say: Callable[[str], None]) -> None:
    """Remove the pages, and the images that are unused then; `say` is told what was removed, and what stays because
    somebody changed it. Raises OSError.
    """
    removed: set[Path] = set()
    for kept in orphans.pages:
        if kept.page not in removed and _is_there(kept.page):
            if digest_file(kept.page) != kept.record.digest:
                say(f"{kept.page} stays: it was changed by somebody else")
                continue
            _remove(kept.page, say)
            removed.add(kept.page)
        orphans.images |= {Path(name): digest for name, digest in kept.record.put}
        remove_record(kept.cache, kept.spec, kept.record.output)
    for path in orphans.unused():
        _remove(path, say)


def _remove(path: Path, say: Callable[[str], None]) -> None:
    path.unlink(missing_ok=True)
    say(f"removed {path}")


def _is_there(path: Path) -> bool:
    """Whether there may be such a file: what cannot be looked at has not gone."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True

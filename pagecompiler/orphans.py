"""Pages whose specs have gone, found by the build records; only what pagec wrote, and nobody changed, is removed."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from urllib.parse import quote

from pagecompiler.files import real_path
from pagecompiler.folder import SUFFIXES
from pagecompiler.inputs import digest_file
from pagecompiler.options import CACHE_NAME, project_cache
from pagecompiler.record import PageRecord, list_records, remove_record

_SHOWING = (".html", ".htm", ".css", ".js")


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
    """What is left in the folder `output` of specs of a folder: `pages` of specs that have gone, and `images` (with
    their digests) that pagec put there and that no page shows any more. `sources` are files of living specs.
    """

    output: Path
    specs: Path
    pages: list[Kept] = field(default_factory=list)
    images: dict[Path, str] = field(default_factory=dict)
    sources: set[str] = field(default_factory=set)


def find_caches(folder: Path) -> set[Path]:
    """The caches that may know of pages of a folder: that of its project, and those in it and below it."""
    project = project_cache(real_path(folder))
    found = set() if project is None else {project}
    for place, folders, _ in os.walk(folder):
        if CACHE_NAME in folders:
            found.add(Path(place) / CACHE_NAME)
        folders[:] = [name for name in folders if not name.startswith(".")]
    return {real_path(cache) for cache in found}


def find_orphans(folder: Path, output: Path, caches: Iterable[Path], pages: Collection[Path]) -> Orphans:
    """What is left in `output` of specs that were under `folder`, or of what they showed.

    `pages` are the resolved paths of the pages that are built now. Nothing is an orphan that another spec in one of
    the `caches` has made or needs, or that a page in `output` or a spec under `folder` names.
    """
    orphans = Orphans(real_path(output), real_path(folder))
    known = [Kept(spec, cache, record) for cache in caches for spec, record in list_records(cache)]
    living = [kept for kept in known if _is_there(Path(kept.spec))]
    theirs = {kept.page for kept in living} | set(pages)
    orphans.sources = {name for kept in living for name, _ in kept.record.inputs}
    for kept in known:
        if not kept.page.is_relative_to(orphans.output) or not Path(kept.spec).is_relative_to(orphans.specs):
            continue
        if not _is_there(Path(kept.spec)) and kept.page not in theirs and _is_there(kept.page):
            orphans.pages.append(kept)
        elif kept.page in theirs:
            shown = dict(kept.record.copies)
            orphans.images |= {Path(name): digest for name, digest in kept.record.put if name not in shown}
    orphans.images = dict(_unused(orphans))
    return orphans


def prune(orphans: Orphans, say: Callable[[str], None]) -> None:
    """Remove the pages, and the images that no other page shows; `say` is told what was removed, and what stays
    because somebody changed it. Raises OSError.
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
    for path, _ in list(_unused(orphans)):
        _remove(path, say)


def _unused(orphans: Orphans) -> Iterator[tuple[Path, str]]:
    """Those images that are in the output as they were put there, and that nothing names."""
    there = {
        path: digest
        for path, digest in orphans.images.items()
        if path.is_relative_to(orphans.output)
        and real_path(path) == path
        and str(path) not in orphans.sources
        and digest_file(path) == digest != ""
    }
    spellings = {path: _spellings(path.name) for path in there}
    # A page may be of another folder or another cache, or written by hand: what it says counts, not who made it.
    for text in itertools.chain(_texts(orphans.output, _SHOWING), _texts(orphans.specs, SUFFIXES)):
        if not spellings:
            break
        spellings = {path: names for path, names in spellings.items() if not any(name in text for name in names)}
    yield from ((path, there[path]) for path in spellings)


def _spellings(name: str) -> set[str]:
    address = quote(os.fsencode(name))
    return {name, address, escape(name), escape(address)}


def _texts(folder: Path, suffixes: Collection[str]) -> Iterator[str]:
    for place, _, names in os.walk(folder):
        for path in (Path(place, name) for name in names if Path(name).suffix.lower() in suffixes):
            with contextlib.suppress(OSError):
                yield path.read_text(encoding="utf-8", errors="replace")


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

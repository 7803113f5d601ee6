"""Rebuilds pages when what they are made of changes: one round at a time, and the latest save wins.

Events only wake it up; what to build is decided by contents. A page is built again when a file that it was made
of has another content, when a site file appears or goes, and when the templates change.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pagecompiler.batch import Batch, BatchState, Told
from pagecompiler.build import CompileOptions, EngineSource, PageResult
from pagecompiler.changes import Changes
from pagecompiler.folder import FolderSpec, find_specs
from pagecompiler.inputs import FileDigests, Inputs, settings_digest
from pagecompiler.options import PROJECT_MARKS, page_settings
from pagecompiler.outputs import OutputError
from pagecompiler.resources import template_dir
from pagecompiler.site import find_site
from pagecompiler.survey import PageFacts

_IMAGES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".svg", ".ico", ".bmp"})

_MAX_FILES = 20_000


@dataclass(frozen=True, slots=True)
class _Built:
    """What the last build of a page, good or not, was made of."""

    inputs: Inputs
    settings: str
    ok: bool
    images: str


class _SupersededError(Exception):
    """What is being built has changed meanwhile."""


class Watch:
    """Builds the pages of a spec or of a folder, and builds them again until `changes` is closed.

    `options.output` is the page of a spec, or the folder of all pages. `told` gets each page that was built;
    `say` hears in one line what else happens. The engine of `source` stays loaded.
    """

    def __init__(
        self,
        target: Path,
        source: EngineSource,
        options: CompileOptions,
        changes: Changes,
        *,
        told: Told = lambda result, sources: None,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._target = target
        self._folder = target if target.is_dir() else None
        self._source = source
        self._options = options
        self._changes = changes
        self._told = told
        self._say = say
        self._specs: list[FolderSpec] = []
        self._built: dict[Path, _Built] = {}
        self._digests = FileDigests()
        self._facts: dict[Path, PageFacts | None] = {}
        self._before: dict[Path, tuple[Inputs, str, str]] = {}
        self._waiting: set[Path] = set()
        self.good_pages = 0

    def run(self) -> None:
        """Build what is not current, then wait for the next change, and so on."""
        self._changes.watch(self._places())
        while True:
            self.update()
            self._changes.watch(self._places())
            if not self._changes.wait():
                return

    def update(self) -> None:
        """Build everything that is stale; when it changes meanwhile, begin anew."""
        while True:
            self._find_specs()
            stale = [spec for spec in self._specs if self._is_stale(spec)]
            if not stale:
                return
            self._before = {spec.path: self._look(spec) for spec in stale}
            self._waiting = set(self._before)
            batch = Batch(
                self._folder,
                stale,
                self._source,
                self._options,
                told=self._take,
                watched=self._check,
                facts=self._facts,
            )
            try:
                batch.survey()
                batch.run()
                return
            except _SupersededError:
                if not self._changes.wait():
                    return

    def _find_specs(self) -> None:
        if self._folder is None:
            self._specs = [FolderSpec(self._target, self._options.output or Path())]
            return
        try:
            found = find_specs(self._folder, self._options.output or Path())
        except OutputError as error:
            self._say(str(error))
            return
        paths = {spec.path for spec in found}
        for spec in self._specs:
            if spec.path not in paths and self._built.pop(spec.path, None) is not None:
                self._say(f"{spec.name} has gone; {spec.output} stays")
        self._specs = found

    def _is_stale(self, spec: FolderSpec) -> bool:
        built = self._built.get(spec.path)
        if built is None:
            return self._folder is not None or spec.path.exists()
        if built.settings != self._settings(spec) or any(self._digests(path) != was for path, was in built.inputs):
            return True
        # A spec that fails may be waiting for an image that nobody could look at yet.
        return not built.ok and built.images != self._images(spec)

    def _look(self, spec: FolderSpec) -> tuple[Inputs, str, str]:
        """What a spec is made of now, as far as one knows before it is loaded."""
        known = self._built.get(spec.path)
        site = self._site(spec)
        paths = [str(spec.path.resolve()), *([str(site.resolve())] if site is not None else [])]
        paths += [path for path, _ in known.inputs if path not in paths] if known is not None else []
        images = "" if known is not None and known.ok else self._images(spec)
        return tuple((path, self._digests(path)) for path in paths), self._settings(spec), images

    def _take(self, result: PageResult, sources: Mapping[str, str]) -> None:
        spec = next(spec for spec in self._specs if spec.name == result.spec)
        inputs, settings, images = self._before[spec.path]
        if not result.ok and not images:
            images = self._images(spec)
        self._waiting.discard(spec.path)
        self._built[spec.path] = _Built(result.inputs or inputs, settings, result.ok, images)
        self.good_pages += result.ok
        self._told(result, sources)

    def _check(self, state: BatchState) -> None:
        """Between two steps of a round: has what is being built been saved again?"""
        if self._changes.closed:
            raise _SupersededError
        if self._changes.due():
            by_path = {spec.path: spec for spec in self._specs}
            if any(self._look(by_path[path])[:2] != self._before[path][:2] for path in self._waiting):
                raise _SupersededError

    def _settings(self, spec: FolderSpec) -> str:
        return page_settings(self._source.model, self._options, self._site(spec))

    def _site(self, spec: FolderSpec) -> Path | None:
        return find_site(spec.path.parent, self._folder)

    def _images(self, spec: FolderSpec) -> str:
        """Stands for the images that a spec could use, or for some thousands of them."""
        found = itertools.islice(_files(self._folder or spec.path.parent), _MAX_FILES)
        stats = [(path, os.stat(path)) for path in found if os.path.splitext(path)[1].lower() in _IMAGES]
        return settings_digest(sorted((path, stat.st_size, stat.st_mtime_ns) for path, stat in stats))

    def _places(self) -> dict[Path, bool]:
        """The folders to watch, and whether with everything in them."""
        places = {template_dir(): True}
        if self._folder is not None:
            places[self._folder] = True
        for spec in self._specs or [FolderSpec(self._target, Path())]:
            built = self._built.get(spec.path)
            files = [Path(path) for path, _ in built.inputs] if built is not None else []
            for path in (*_up(spec.path.parent), *(file.parent for file in (*files, spec.path.resolve()))):
                inside = self._folder is not None and path.resolve().is_relative_to(self._folder.resolve())
                if not inside:
                    places.setdefault(path.resolve(), False)
        return places


def _up(folder: Path) -> Iterator[Path]:
    """A folder and those above it, up to that of the project."""
    above = [folder.resolve(), *folder.resolve().parents]
    for index, path in enumerate(above):
        if any((path / mark).exists() for mark in PROJECT_MARKS) or (path / ".git").exists():
            yield from above[: index + 1]
            return
    yield above[0]


def _files(folder: Path) -> Iterator[str]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (os.path.join(place, name) for name in sorted(names))


def output_places(target: Path, output: Path) -> list[Path]:
    """Where pages land; their whole folder, if no spec can be in it."""
    if target.is_dir():
        return [] if _holds(output, target) else [output]
    return [output] if _holds(output.parent, target.parent) else [output.parent]


def _holds(folder: Path, other: Path) -> bool:
    return other.resolve().is_relative_to(folder.resolve())

"""Rebuilds pages when what they are made of changes: one round at a time, and the latest save wins.

Events only wake it up; what to build is decided by contents. A page is built again when a file that it was made
of has another content, when a site file appears or goes, when the templates change, when the page is gone, when its
links begin or cease to lead somewhere, and after a failure when its spec is saved again.
What another pagec was building is built when that one is done.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pagecompiler.audience import Audience
from pagecompiler.batch import Batch, BatchState, Told
from pagecompiler.build import CompileOptions, EngineSource, PageResult
from pagecompiler.changes import Changes
from pagecompiler.files import real_path
from pagecompiler.folder import FolderSpec, find_specs
from pagecompiler.inputs import FileDigests, Inputs
from pagecompiler.lock import being_built
from pagecompiler.options import PROJECT_MARKS, page_settings
from pagecompiler.orders import Orders
from pagecompiler.outputs import OutputError
from pagecompiler.resources import template_dir
from pagecompiler.site import find_site
from pagecompiler.survey import Neighbours, PageFacts, normal

_BUSY = "E0804"
_BUSY_SECONDS = 0.5  # a lock that is given back tells nobody, when its process was killed


@dataclass(frozen=True, slots=True)
class _Built:
    """What the last build of a page, good or not, was made of.

    `dead` are its links that led nowhere, `saved` is when its spec was saved. `busy`: nothing was built, since another
    pagec was building the page.
    """

    inputs: Inputs
    settings: str
    ok: bool
    dead: frozenset[str]
    busy: bool
    saved: int


class _SupersededError(Exception):
    """What is being built has changed meanwhile."""


class Watch:
    """Builds the pages of a spec or of a folder, and builds them again until `changes` is closed.

    `options.output` is the page of a spec, or the folder of all pages. `told` gets each page that was built;
    `say` hears in one line what else happens; the `audience` hears of both and of more. The engine of `source` stays
    loaded until one of the `orders` asks for another way of decoding.
    """

    def __init__(
        self,
        target: Path,
        source: EngineSource,
        options: CompileOptions,
        changes: Changes,
        *,
        orders: Orders | None = None,
        audience: Audience | None = None,
        told: Told = lambda result, sources: None,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._target = target
        self._folder = target if os.path.isdir(target) else None
        self._source = source
        self._options = options
        self._changes = changes
        self._orders = orders or Orders()
        self._audience = audience or Audience()
        self._told = told
        self._tell = say
        self._specs: list[FolderSpec] = []
        self._built: dict[Path, _Built] = {}
        self._digests = FileDigests()
        self._facts: dict[Path, PageFacts | None] = {}
        self._around: dict[Path, tuple[Path | None, str]] = {}
        self._problem = ""
        self._before: dict[Path, tuple[Inputs, str]] = {}
        self._saved: dict[Path, int] = {}
        self._waiting: set[Path] = set()
        self._anew: set[Path] = set()
        self.good_pages = 0

    def run(self) -> None:
        """Build what is not current, then wait for the next change, and so on."""
        self._find_specs()
        if not self._specs and not self._problem:
            self._say(f"there is no spec under {self._target} yet")
        self._changes.watch(self._places())
        while True:
            self.update()
            busy = any(built.busy for built in self._built.values())
            if not self._changes.watch(self._places()) and not self._changes.wait(_BUSY_SECONDS if busy else None):
                return

    def update(self) -> None:
        """Build what is ordered, then everything that is stale; when it changes meanwhile, begin again."""
        seen: dict[Path, object] = {}
        while True:
            self._obey()
            self._find_specs()
            ordered = [spec for spec in self._specs if spec.path in self._anew]
            specs = ordered or [spec for spec in self._specs if self._is_stale(spec)]
            looks = {spec.path: (self._look(spec), self._dead(spec)) for spec in specs}
            # What looks as it did when it was built a moment ago waits for the next change, whatever the reason.
            specs = [spec for spec in specs if ordered or seen.get(spec.path) != looks[spec.path]]
            if not specs:
                return
            try:
                self._build(specs, replace(self._options, read_cache=False) if ordered else self._options)
                if self._changes.pending:
                    return
            except _SupersededError:
                if not self._changes.wait():
                    return
            finally:
                seen |= {path: look for path, look in looks.items() if path not in self._waiting}

    def _say(self, line: str) -> None:
        self._tell(line)
        self._audience.say(line)

    def _obey(self) -> None:
        anew, decoding = self._orders.take()
        self._anew |= anew
        if decoding is not None and decoding != self._options.decoding:
            self._options = replace(self._options, decoding=decoding)
            self._source.decode(decoding)

    def _build(self, specs: Sequence[FolderSpec], options: CompileOptions) -> None:
        self._before = {spec.path: self._look(spec) for spec in specs}
        self._saved = {spec.path: _saved(spec.path) for spec in specs}
        self._waiting = set(self._before)
        batch = Batch(
            self._folder,
            specs,
            self._source,
            options,
            began=self._audience.began,
            told=self._take,
            watched=self._check,
            facts=self._facts,
        )
        batch.survey()
        batch.run()

    def _find_specs(self) -> None:
        self._around.clear()
        if self._folder is None:
            self._specs = [FolderSpec(self._target, self._options.output or Path())]
            self._audience.found(self._specs)
            return
        try:
            found = find_specs(self._folder, self._options.output or Path())
        except OutputError as error:
            if self._problem != str(error):
                self._problem = str(error)
                self._say(self._problem)
            return
        self._problem = ""
        paths = {spec.path for spec in found}
        for spec in self._specs:
            if spec.path not in paths and self._built.pop(spec.path, None) is not None:
                self._facts.pop(normal(spec.output), None)
                self._say(f"{spec.name} has gone; {spec.output} stays")
        self._specs = found
        self._audience.found(found)

    def _is_stale(self, spec: FolderSpec) -> bool:
        built = self._built.get(spec.path)
        if built is None:
            return self._folder is not None or os.path.exists(spec.path)
        if built.settings != self._surroundings(spec)[1]:
            return True
        if str(real_path(spec.path)) not in dict(built.inputs):  # a link that has led elsewhere
            return True
        if any(self._digests(path) != was for path, was in built.inputs):
            return True
        if built.dead != self._dead(spec):
            return True
        if not built.ok and built.saved != _saved(spec.path):  # the disk may have room now
            return True
        if built.busy and not being_built(spec.output):
            return True
        return built.ok and not os.path.exists(spec.output)

    def _look(self, spec: FolderSpec) -> tuple[Inputs, str]:
        """What a spec is made of now, as far as one knows before it is loaded."""
        known = self._built.get(spec.path)
        site, settings = self._surroundings(spec)
        paths = [str(real_path(spec.path)), *([str(real_path(site))] if site is not None else [])]
        paths += [path for path, _ in known.inputs if path not in paths] if known is not None else []
        return tuple((path, self._digests(path)) for path in paths), settings

    def _take(self, result: PageResult, sources: Mapping[str, str]) -> None:
        spec = next(spec for spec in self._specs if spec.name == result.spec)
        inputs, settings = self._before[spec.path]
        if str(real_path(spec.path)) not in dict(result.inputs):  # it could not be loaded
            inputs = tuple((dict(inputs) | dict(result.inputs)).items())
        else:
            inputs = result.inputs
        codes = {finding.code for finding in result.diagnostics}
        self._waiting.discard(spec.path)
        self._anew.discard(spec.path)
        busy = _BUSY in codes
        self._built[spec.path] = _Built(inputs, settings, result.ok, self._dead(spec), busy, self._saved[spec.path])
        self.good_pages += result.ok
        self._audience.told(result, sources)
        self._told(result, sources)

    def _check(self, state: BatchState) -> None:
        """Between two steps of a round: has what is being built been saved again?"""
        if self._changes.closed:
            raise _SupersededError
        if self._changes.due():
            self._around.clear()
            by_path = {spec.path: spec for spec in self._specs}
            changed = any(self._look(by_path[path]) != self._before[path] for path in self._waiting)
            if changed or self._orders.waiting_for(self._waiting):
                raise _SupersededError

    def _surroundings(self, spec: FolderSpec) -> tuple[Path | None, str]:
        """The site file and the settings of a page, looked for once in a folder at each look."""
        folder = spec.path.parent
        if folder not in self._around:
            site = find_site(folder, self._folder)
            self._around[folder] = site, page_settings(self._source.model, self._options, site)
        return self._around[folder]

    def _dead(self, spec: FolderSpec) -> frozenset[str]:
        """The links of a page that lead nowhere, by what is known of the others now."""
        facts = self._facts.get(normal(spec.output))
        if facts is None or self._folder is None:
            return frozenset()
        return Neighbours(self._facts, normal(self._options.output or Path())).dead(spec, facts.links)

    def _places(self) -> dict[Path, bool]:
        """The folders to watch, and whether with everything in them."""
        folders = {place for folder in {spec.path.parent for spec in self._specs} for place in _up(folder)}
        for spec in self._specs:
            built = self._built.get(spec.path)
            folders.update(Path(os.path.dirname(path)) for path, _ in (built.inputs if built is not None else ()))
            folders.update((spec.output.parent, real_path(spec.path).parent))
        places = {real_path(folder) for folder in folders}
        deep = {template_dir()}
        if self._folder is not None:
            top = real_path(self._folder)
            places = {place for place in places if not place.is_relative_to(top)}
            deep.add(top)
        return dict.fromkeys(places, False) | dict.fromkeys(deep, True)


def _saved(spec: Path) -> int:
    """When a spec was saved; 0 if it cannot be told."""
    try:
        return spec.stat().st_mtime_ns
    except OSError:
        return 0


def _up(folder: Path) -> Iterator[Path]:
    """A folder and those above it, up to that of the project."""
    above = [real_path(folder), *real_path(folder).parents]
    for index, path in enumerate(above):
        if any((path / mark).exists() for mark in PROJECT_MARKS) or (path / ".git").exists():
            yield from above[: index + 1]
            return
    yield above[0]


def output_places(target: Path, output: Path) -> list[Path]:
    """Where pages land; their whole folder, if no spec can be in it."""
    if target.is_dir():
        return [] if _holds(output, target) else [output]
    return [output] if _holds(output.parent, target.parent) else [output.parent]


def _holds(folder: Path, other: Path) -> bool:
    return real_path(other).is_relative_to(real_path(folder))

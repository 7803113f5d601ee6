"""Many pages in one engine: the blocks of the next pages enter as lanes become free.

Only a few pages are in memory at a time. What a page has written is kept at once, and a page that is finished and
current is not built again: an interrupted batch goes on where it was.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pagecompiler.build import CompileOptions, EngineSource, PageResult
from pagecompiler.claims import Claims
from pagecompiler.diagnostics import CompileError, Diagnostic, diagnostic
from pagecompiler.engine.base import EngineError
from pagecompiler.estimate import Estimate
from pagecompiler.files import real_path, real_place
from pagecompiler.folder import FolderSpec
from pagecompiler.generate import Dispatcher, Listener, Progress, Task, demands
from pagecompiler.inputs import FileDigests, is_current, missed_images
from pagecompiler.options import default_cache_dir, page_settings
from pagecompiler.page_build import PageBuild
from pagecompiler.record import read_record
from pagecompiler.spec import LoadedSpec, SpecNotFound, load_spec
from pagecompiler.survey import Neighbours, PageFacts, check_links, normal, read_facts

DEFAULT_JOBS = 8
AHEAD = 2
"""Requests beyond the lanes: a lane takes one while the finished page before it is being linked."""

Told = Callable[[PageResult, Mapping[str, str]], None]
"""Takes a finished page and the sources of the files that its diagnostics point into."""

Began = Callable[[PageBuild], None]
"""Takes a page whose blocks are about to be written, or linked where nothing is missing."""


@dataclass(frozen=True, slots=True)
class BatchState:
    """How far a batch is. `seconds_left` is an estimate from what was written so far, None before there is any."""

    pages: int
    finished: int
    failed: int
    tokens: int
    seconds: float
    seconds_left: float | None


class Batch:
    """Builds the pages of a folder with at most `jobs` of them in flight.

    `options.output` is the folder of all pages. `began` gets each page that is planned, and `told` each one when it
    is finished, failed ones too; `listener` what happens to the blocks of all of them, and `watched` how far the batch
    is: it is called between any two steps, and may raise to give up what is not finished.
    `survey` must come before `run`; `facts` has what it found by page, and what is known of other pages, `gone` pages
    that will be removed. Without a `folder` each spec stands for itself.
    """

    def __init__(
        self,
        folder: Path | None,
        specs: Sequence[FolderSpec],
        source: EngineSource,
        options: CompileOptions,
        *,
        jobs: int = DEFAULT_JOBS,
        began: Began = lambda build: None,
        told: Told = lambda result, sources: None,
        listener: Listener = lambda progress: None,
        watched: Callable[[BatchState], None] = lambda state: None,
        facts: dict[Path, PageFacts | None] | None = None,
        gone: Iterable[Path] = (),
    ) -> None:
        self._folder = folder
        self._specs = specs
        self._source = source
        self._options = options
        self._jobs = jobs
        self._began = began
        self._told = told
        self._listener = listener
        self._watched = watched
        self._output = options.output or Path()
        self._claims = Claims()
        self._digests = FileDigests()
        self._dispatcher: Dispatcher | None = None
        self._broken: EngineError | None = None
        self._queue: deque[FolderSpec] = deque()
        self._active: dict[int, tuple[PageBuild, FolderSpec]] = {}
        self._started = time.perf_counter()
        self._finished = self._failed = self._tokens = 0
        self._estimate = Estimate()
        self._gone = {normal(path) for path in gone}
        self.facts = {} if facts is None else facts

    def survey(self) -> None:
        """Load every spec once, for what the pages must know of each other."""
        for spec in self._specs:
            facts = None
            try:
                loaded = self._load(spec)
                facts = read_facts(spec, loaded)
            except (CompileError, SpecNotFound):
                pass  # said when its turn comes
            self.facts[normal(spec.output)] = facts
            self._estimate.plan(spec.path, facts.expected_tokens if facts else 0)

    def run(self) -> None:
        """Build all pages. Whatever is wrong with one is in its result; the others go on."""
        self._queue.extend(self._specs)
        self._tell()
        try:
            while self._queue or self._active:
                self._fill()
                try:
                    self._decode()
                except EngineError as error:
                    self._lose(error)
        finally:
            for build, _ in self._active.values():
                build.close()

    def _decode(self) -> None:
        if self._dispatcher is None:
            return
        for task in self._dispatcher.finished():
            self._estimate.wrote(task.block.expected_tokens)
            build, _ = self._active[task.page]
            build.take(task)
            self._finish_ready()
            self._fill()

    def _fill(self) -> None:
        """Start pages until enough blocks wait for a lane."""
        while self._queue and len(self._active) < self._jobs:
            if self._dispatcher is not None and self._dispatcher.waiting >= self._options.lanes:
                return
            self._start(self._queue.popleft())
            self._finish_ready()

    def _start(self, spec: FolderSpec) -> None:
        try:
            loaded = self._load(spec)
            findings = list(self._check_links(spec, loaded))
        except SpecNotFound as error:
            self._end(spec, self._no_page(spec, (diagnostic("E0123", error.message, file=spec.name),)), {})
            return
        except CompileError as error:
            result = replace(self._no_page(spec, error.diagnostics), inputs=missed_images(error.images))
            self._end(spec, result, error.sources)
            return
        kept = self._kept(spec, loaded) if not findings else None
        if kept is not None:
            self._end(spec, kept, loaded.sources)
            return
        number = len(self._specs) - len(self._queue)
        loaded = replace(loaded, warnings=(*loaded.warnings, *findings))
        root = self._output if self._folder is not None else None
        options = replace(self._options, output=spec.output, output_root=root)
        build = PageBuild(loaded, self._source.model, options, claims=self._claims, page=number)
        self._active[number] = (build, spec)
        tasks = build.start()
        self._began(build)
        self._estimate.start(spec.path, sum(task.block.expected_tokens for task in tasks))
        if tasks:
            self._dispatch(tasks)

    def _dispatch(self, tasks: Sequence[Task]) -> None:
        try:
            if self._broken is not None:
                raise self._broken
            if self._dispatcher is None:
                self._dispatcher = Dispatcher(
                    self._source.get(demands(tasks)),
                    lanes=self._options.lanes,
                    attempts=self._options.attempts,
                    sampling=self._options.sampling,
                    listener=self._hear,
                    ahead=AHEAD,
                )
            self._dispatcher.add(tasks)
        except EngineError as error:
            self._lose(error)

    def _lose(self, error: EngineError) -> None:
        """The engine is gone: pages that wait for it fail, those that need none are still built."""
        self._broken, self._dispatcher = error, None
        for build, _ in self._active.values():
            if not build.ready:
                build.fail(error)
        self._finish_ready(lost=True)

    def _finish_ready(self, *, lost: bool = False) -> None:
        for number, (build, spec) in list(self._active.items()):
            if build.ready or lost:
                result = build.finish()
                del self._active[number]
                self._end(spec, result, build.loaded.sources)

    def _end(self, spec: FolderSpec, result: PageResult, sources: Mapping[str, str]) -> None:
        self._finished += 1
        self._failed += not result.ok
        self._estimate.start(spec.path, 0)
        self._told(result, sources)
        self._tell()

    def _check_links(self, spec: FolderSpec, loaded: LoadedSpec) -> Iterable[Diagnostic]:
        if self._folder is None:
            return ()
        return check_links(spec, loaded, Neighbours(self.facts, normal(self._output), self._gone))

    def _kept(self, spec: FolderSpec, loaded: LoadedSpec) -> PageResult | None:
        """The page as it is, if it was built from all this already."""
        if not self._options.read_cache or loaded.path is None:
            return None
        record = read_record(self._cache_dir(loaded), str(real_path(loaded.path)), str(real_place(spec.output)))
        settings = page_settings(self._source.model, self._options, loaded.site)
        if not is_current(record, settings, spec.output, self._digests):
            return None
        html = spec.output.read_text(encoding="utf-8")
        inputs = record.inputs if record is not None else ()
        return replace(self._no_page(spec, ()), html=html, output=spec.output, inputs=inputs)

    def _no_page(self, spec: FolderSpec, findings: tuple[Diagnostic, ...]) -> PageResult:
        return PageResult(spec.name, None, None, 0.0, self._source.model.name, None, (), findings)

    def _load(self, spec: FolderSpec) -> LoadedSpec:
        return load_spec(spec.path, root=self._folder)

    def _cache_dir(self, loaded: LoadedSpec) -> Path:
        return self._options.cache_dir or default_cache_dir(loaded)

    def _hear(self, progress: Progress) -> None:
        self._listener(progress)
        if progress.state != "writing":
            self._tokens += progress.tokens
        self._tell()

    def _tell(self) -> None:
        seconds = time.perf_counter() - self._started
        state = BatchState(
            len(self._specs), self._finished, self._failed, self._tokens, seconds, self._estimate.seconds_left(seconds)
        )
        self._watched(state)

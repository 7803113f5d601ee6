"""What browsers are shown: the stories of all pages, told by the watch and read by the server.

The watch never waits for a reader: it adds to the stories and wakes who listens. A reader that is slow, or gone,
costs nothing, since nothing is kept for it: it comes for what is new since it came last.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pagecompiler.audience import Audience
from pagecompiler.engine.base import Engine
from pagecompiler.engine.types import GenerationEvent, Request
from pagecompiler.folder import FolderSpec
from pagecompiler.page_build import PageBuild
from pagecompiler.results import PageResult
from pagecompiler.serve.observed import Listener, ObservedEngine
from pagecompiler.serve.story import PageStory

KEPT_STORIES = 24
"""Pages whose last build is remembered in full: every token of a large folder would fill the memory."""

_NOTES = 5


class Board(Audience):
    """The pages below `folder`, or of one spec. `lock` is held while a story is read; readers keep it short.

    `version` changes with what is said of all pages together.
    """

    def __init__(self, folder: Path | None, model: str, method: str) -> None:
        self.lock = threading.Lock()
        self.model = model
        self.method = method
        self.version = 0
        self.loading = False
        self.closed = False
        self.stories: dict[str, PageStory] = {}
        self.notes: deque[str] = deque(maxlen=_NOTES)
        self._folder = folder
        self._by_spec: dict[str, PageStory] = {}
        self._building: dict[int, PageStory] = {}
        self._recent: list[PageStory] = []
        self._viewed: Counter[str] = Counter()
        self._wakers: set[Callable[[], None]] = set()

    def found(self, specs: Sequence[FolderSpec]) -> None:
        """List their pages."""
        with self.lock:
            if [spec.name for spec in specs] != list(self._by_spec):
                known = self._by_spec
                stories = [known.get(spec.name) or PageStory(self._key(spec), spec) for spec in specs]
                self._by_spec = {story.spec.name: story for story in stories}
                self.stories = {story.key: story for story in stories}
                self.version += 1
        self._wake()

    def began(self, build: PageBuild) -> None:
        """Begin a story anew."""
        with self.lock:
            story = self._by_spec.get(build.loaded.name)
            if story is None:
                return
            story.begin(build, time.perf_counter())
            self._building[build.page] = story
            self._recent = [*(other for other in self._recent if other is not story), story]
            for old in self._recent[:-KEPT_STORIES]:
                old.forget()
            self._recent = self._recent[-KEPT_STORIES:]
            self.version += 1
        self._wake()

    def listen(self, request: Request) -> Listener | None:
        """The story of its page hears of a request; tokens are traced while somebody looks at the lanes."""
        with self.lock:
            story = self._building.get(request.page)
            if story is None:
                return None
            build, viewed = story.number, self._viewed[story.key] > 0

        def hear(event: GenerationEvent) -> None:
            with self.lock:
                # Of a build that was given up for the next one, the last events come late.
                if story.number == build:
                    story.hear(request, event)
            self._wake()

        return Listener(hear, viewed)

    def told(self, result: PageResult, sources: Mapping[str, str]) -> None:
        """End a story."""
        with self.lock:
            story = self._by_spec.get(result.spec)
            if story is not None:
                story.end(result, sources)
                self.version += 1
        self._wake()

    def say(self, line: str) -> None:
        """Keep a line for the browsers, too."""
        with self.lock:
            self.notes.append(line)
            self.version += 1
        self._wake()

    def choose(self, method: str) -> None:
        """The next build decodes by another method."""
        with self.lock:
            self.method = method
            self.version += 1
        self._wake()

    def observe(self, make: Callable[[], Engine]) -> Engine:
        """The engine that `make` makes, with the board as its observer."""
        self._load(True)
        try:
            return ObservedEngine(make(), self)
        finally:
            self._load(False)

    def head(self) -> dict[str, Any]:
        """What is said of all pages together; the lock must be held."""
        pages = [{"key": s.key, "spec": s.spec.name, "state": s.state} for s in self.stories.values()]
        return {
            "model": self.model,
            "method": self.method,
            "loading": self.loading,
            "notes": list(self.notes),
            "pages": pages,
        }

    def join(self, waker: Callable[[], None], viewed: str) -> None:
        """Call `waker` whenever something is new; `viewed` is the page whose lanes are looked at, or empty."""
        with self.lock:
            self._wakers.add(waker)
            if viewed:
                self._viewed[viewed] += 1

    def leave(self, waker: Callable[[], None], viewed: str) -> None:
        """Undo `join`."""
        with self.lock:
            self._wakers.discard(waker)
            if viewed:
                self._viewed[viewed] -= 1

    def close(self) -> None:
        """Nothing more will come: readers shall end."""
        self.closed = True
        self._wake()

    def _load(self, loading: bool) -> None:
        with self.lock:
            self.loading = loading
            self.version += 1
        self._wake()

    def _wake(self) -> None:
        with self.lock:
            wakers = list(self._wakers)
        for waker in wakers:
            waker()

    def _key(self, spec: FolderSpec) -> str:
        """The page's path below the folder of all pages, without its suffix."""
        path = spec.path.relative_to(self._folder) if self._folder is not None else Path(spec.output.name)
        return path.with_suffix("").as_posix()

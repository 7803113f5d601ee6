"""Wake-ups: something may have changed under some folders. What has, is for the contents to say.

Folders are watched and not files, since most editors write a new file and rename it. Where the system tells
nothing (network file systems, some containers), one looks again and again instead.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from watchdog.events import (
    EVENT_TYPE_CLOSED,
    EVENT_TYPE_CREATED,
    EVENT_TYPE_DELETED,
    EVENT_TYPE_MODIFIED,
    EVENT_TYPE_MOVED,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver, ObservedWatch

from pagecompiler.files import real_path

# It complains about a folder that has gone; what was in it is found out by looking.
logging.getLogger("watchdog").addHandler(logging.NullHandler())
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"watchdog\.")

POLL_SECONDS = 0.5
# Opening and reading are events, too; answering them by reading would never end.
_TOLD = frozenset({EVENT_TYPE_CREATED, EVENT_TYPE_MODIFIED, EVENT_TYPE_CLOSED, EVENT_TYPE_MOVED, EVENT_TYPE_DELETED})


class Changes:
    """Waits for changes under watched folders, but not in the `ignored` ones, of which those named `.…` are all.
    In the ignored ones that were named it counts only when something is deleted.

    `debounce_seconds` is how long it must be quiet after a change before it counts. With `poll`, or when the
    system cannot watch folders, or no more of them (`say` is told), it counts every half second that there may be
    one. When it has `ended`, it is as if it was closed.
    """

    def __init__(
        self,
        *,
        debounce_seconds: float,
        ignored: Collection[Path] = (),
        poll: bool = False,
        ended: Callable[[], bool] = lambda: False,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._debounce = debounce_seconds
        self._ignored = {real_path(path) for path in ignored}
        self._ended = ended
        self._say = say
        self._state = threading.Condition()
        self._changed: float | None = None
        self._count = self._counted = 0
        self._closed = False
        self._poll = poll
        self._looked = time.monotonic()
        self._watched: dict[Path, _Watched] = {}
        self._deleted: set[Path] = set()
        self._handler = _Handler(self._hear)
        self._observer = None if poll else self._start_observer()

    @property
    def closed(self) -> bool:
        """Whether there is nothing to wait for any more."""
        return self._closed or self._ended()

    @property
    def pending(self) -> bool:
        """Whether `wait` will return by itself."""
        return self._poll or self._changed is not None

    def watch(self, folders: Mapping[Path, bool]) -> bool:
        """Watch exactly these folders, or where one is missing the nearest above it; the value says whether with all
        folders in them. Gives whether there are new ones: what happened in them until now was not heard.
        """
        observer = self._observer
        if self._poll or observer is None:
            return False
        wanted: dict[Path, bool] = {}
        for folder, deep in folders.items():
            path = next(place for place in (real_path(folder), *real_path(folder).parents) if os.path.isdir(place))
            wanted[path] = wanted.get(path, False) or (deep and path == real_path(folder))
        with self._state:
            deleted, self._deleted = self._deleted, set()
        for path, watched in list(self._watched.items()):
            if wanted.get(path) is not watched.deep or path in deleted or _inode(path) != watched.inode:
                with contextlib.suppress(KeyError):  # watchdog itself forgets a folder that was deleted
                    observer.unschedule(self._watched.pop(path).watch)
        new = [path for path in wanted if path not in self._watched]
        for path in new:
            inode = _inode(path)
            try:
                watch = observer.schedule(self._handler, str(path), recursive=wanted[path])
            except FileNotFoundError:  # it went just now: the next call takes the folder around it
                continue
            except OSError as error:
                self._fall_back(error)
                break
            self._watched[path] = _Watched(wanted[path], inode, watch)
        return bool(new)

    def wait(self, longest: float | None = None) -> bool:
        """Wait for the next change, and until it is quiet after it, or until `longest` seconds have passed without
        one; false when closed.
        """
        end = None if longest is None else time.monotonic() + longest
        with self._state:
            while not self.closed:
                left = self._left()
                if left is None and end is not None:
                    left = end - time.monotonic()
                if left is not None and left <= 0:
                    self._changed, self._looked = None, time.monotonic()
                    return True
                self._state.wait(left)
        return False

    def due(self) -> bool:
        """Whether `wait` would return at once; true once for each change, so that one need not look at every step."""
        with self._state:
            left = self._left()
            if left is None or left > 0 or (self._counted == self._count and not self._poll):
                return False
            self._counted, self._looked = self._count, time.monotonic()
            return True

    def wake(self) -> None:
        """Something else than a file has changed: end a `wait` in another thread."""
        with self._state:
            self._changed = time.monotonic()
            self._count += 1
            self._state.notify_all()

    def close(self) -> None:
        """End a `wait` in another thread, too."""
        with self._state:
            self._closed = True
            self._state.notify_all()
        if self._observer is not None and self._observer.is_alive():
            self._observer.stop()
            self._observer.join()

    def _start_observer(self) -> BaseObserver | None:
        try:
            observer = Observer()
            observer.start()
        except OSError as error:
            self._fall_back(error)
            return None
        return observer

    def _fall_back(self, error: OSError) -> None:
        self._say(f"cannot watch folders ({error.strerror or error}); looking every {POLL_SECONDS} s instead")
        self._poll = True

    def _left(self) -> float | None:
        """Seconds until there is something to look at; None while nothing has changed."""
        if self._poll:
            return self._looked + POLL_SECONDS - time.monotonic()
        return None if self._changed is None else self._changed + self._debounce - time.monotonic()

    def _hear(self, event: FileSystemEvent) -> None:
        paths = [os.fsdecode(path) for path in (event.src_path, event.dest_path) if path]
        if event.event_type not in _TOLD or (event.is_directory and event.event_type == EVENT_TYPE_MODIFIED):
            return
        deleted = event.event_type == EVENT_TYPE_DELETED
        if all(self._is_ignored(Path(path), deleted=deleted) for path in paths):
            return
        with self._state:
            if deleted:
                self._deleted.update(path for path in map(Path, paths) if path in self._watched)
            self._changed = time.monotonic()
            self._count += 1
            self._state.notify_all()

    def _is_ignored(self, path: Path, *, deleted: bool) -> bool:
        if not deleted and not self._ignored.isdisjoint((path, *path.parents)):
            return True
        # An editor's own files, and the cache; what is renamed from one of them has another path as well.
        roots = [root for root in tuple(self._watched) if path.is_relative_to(root)]
        parts = path.relative_to(max(roots, key=lambda root: len(root.parts))).parts if roots else (path.name,)
        return any(part.startswith(".") or part.endswith("~") for part in parts)


@dataclass(frozen=True, slots=True)
class _Watched:
    """A folder that is watched, and not another one that has got its name since."""

    deep: bool
    inode: tuple[int, int] | None
    watch: ObservedWatch


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino


class _Handler(FileSystemEventHandler):
    def __init__(self, hear: Callable[[FileSystemEvent], None]) -> None:
        self._hear = hear

    def on_any_event(self, event: FileSystemEvent) -> None:
        self._hear(event)

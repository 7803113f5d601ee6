"""One build of a page at a time."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from pagecompiler.diagnostics import CompileError, diagnostic
from pagecompiler.files import real_path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


class PageLock:
    """Held while a page is built. The system gives it back when its process ends, however it ends.

    Raises CompileError (E0804) when another build holds it. Where no lock can be kept there is none.
    """

    def __init__(self, output: Path) -> None:
        self._handle: int | None = None
        self._path: Path | None = None
        if fcntl is None:
            return
        name = hashlib.sha256(os.fsencode(real_path(output))).hexdigest()[:32]
        try:
            self._take(_lock_folder() / name)
        except BlockingIOError as error:
            message = f"`{output}` is being built by another pagec"
            raise CompileError((diagnostic("E0804", message),)) from error
        except OSError:
            return

    def _take(self, path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        while True:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # Its last holder may have removed the file since it was opened.
                with suppress(FileNotFoundError):
                    if path.stat().st_ino == os.fstat(handle).st_ino:
                        self._handle, self._path = handle, path
                        return
            except BaseException:
                os.close(handle)
                raise
            os.close(handle)

    def release(self) -> None:
        """Give it back; calling it twice is allowed."""
        if self._handle is not None and self._path is not None:
            self._path.unlink(missing_ok=True)
            os.close(self._handle)
            self._handle = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def being_built(output: Path) -> bool:
    """Whether a build of a page is at work at this moment."""
    try:
        PageLock(output).release()
    except CompileError:
        return True
    return False


def _lock_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "pagec" / "locks"

"""Atomic writes: a reader sees the old file or the new one, never a part."""

from __future__ import annotations

import glob
import os
import tempfile
from pathlib import Path

_SUFFIX = ".tmp"
_RANDOM = 8 * "?"  # as tempfile makes names
LEFTOVER_SECONDS = 3600
"""A temporary file that is older was left behind by a build that was killed."""


def real_path(path: Path) -> Path:
    """Where links lead; a link that leads to itself stays, and whoever opens it is told."""
    return Path(os.path.realpath(path))


def real_place(path: Path) -> Path:
    """Where a file is, whatever links lead to its folder; a link in its own place would be replaced."""
    return real_path(path.parent) / path.name


def write_atomic(path: Path, data: bytes, *, durable: bool = True) -> bool:
    """Write a file through a temporary one in the same folder; equal content is left alone.

    Returns whether something was written. Raises OSError with the file's name; then the old file is still there and
    nothing is left over.
    `durable` waits until the bytes are on the disk before the new file takes the name.
    """
    try:
        if path.read_bytes() == data:
            return False
    except OSError:
        pass
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        _replace(path, data, durable=durable)
    except OSError as error:
        # Of the temporary file nobody has heard, and a full disk has no name at all.
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error
    return True


def temporary_names(path: Path) -> str:
    """A pattern for the temporary files through which a file is written."""
    return str(Path(glob.escape(str(path.parent))) / f"{glob.escape(_prefix(path))}{_RANDOM}{_SUFFIX}")


def _prefix(path: Path) -> str:
    return f".{path.name[:40]}."


def _replace(path: Path, data: bytes, *, durable: bool) -> None:
    handle, name = tempfile.mkstemp(prefix=_prefix(path), suffix=_SUFFIX, dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        temporary.chmod(_mode(path))
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _mode(path: Path) -> int:
    """The permissions of the file that is replaced, or what the umask gives to a new one."""
    try:
        return path.stat().st_mode & 0o777
    except OSError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask

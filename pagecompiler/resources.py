"""Where the packaged files are: the templates, and everything under `pagecompiler/data`.

An editable install has no `pagecompiler/templates`: there the folder of the repository is used.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from functools import cache
from pathlib import Path
from stat import S_ISREG

_PACKAGE = Path(__file__).resolve().parent
_CANDIDATES = (_PACKAGE / "templates", _PACKAGE.parent / "templates")


def template_dir() -> Path:
    """The folder that holds `page.html.j2`, `base.css` and `prompts/`."""
    for folder in _CANDIDATES:
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"pagec is not installed completely: no templates in {_CANDIDATES[0]}")


def data_path(name: str) -> Path:
    """A file of `pagecompiler/data`, by its name in there: `data_path("labels.toml")`.

    The file need not exist; the caller knows whether it may be missing.
    """
    return _PACKAGE / "data" / name


def fingerprint() -> str:
    """Stands for this pagec: another version, or other templates, have another one."""
    return hashlib.sha256(f"{_code()} {_marks(template_dir(), '*')}".encode()).hexdigest()


@cache
def _code() -> str:
    return _marks(_PACKAGE, "*.py") + _marks(_PACKAGE / "data", "*.toml")


def _marks(folder: Path, pattern: str) -> str:
    """Sizes and times of files: reading them all would take longer than relinking a page."""
    marks = []
    for path in sorted(folder.rglob(pattern)):
        with suppress(FileNotFoundError):  # an editor's file that is there for a moment only
            stat = path.stat()
            if S_ISREG(stat.st_mode):
                marks.append((str(path.relative_to(folder)), stat.st_size, stat.st_mtime_ns))
    return repr(marks)

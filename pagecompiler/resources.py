"""Where the packaged files are: the templates, and everything under `pagecompiler/data`.

An editable install has no `pagecompiler/templates`: there the folder of the repository is used.
"""

from __future__ import annotations

from pathlib import Path

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

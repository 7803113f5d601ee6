"""The templates in use. What is wrong with one is a finding like others: people edit them while pages are watched."""

from __future__ import annotations

import os
from pathlib import Path
from traceback import extract_tb
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateNotFound, TemplateSyntaxError

from pagecompiler.diagnostics import CompileError, Span, diagnostic


class Templates:
    """The templates of a folder, as they are at each use; `options` are those of Jinja's Environment.

    A name that is not defined is an error.
    """

    def __init__(self, folder: Path, **options: Any) -> None:
        self._folder = folder
        self._environment = Environment(loader=FileSystemLoader(folder), undefined=StrictUndefined, **options)

    def render(self, name: str, /, **values: object) -> str:
        """The text that a template makes of the values. Raises CompileError (E0806)."""
        try:
            return self._environment.get_template(name).render(values)
        except Exception as error:  # a template is a program, and may raise anything
            path, line = self._place(error, self._folder / name)
            raise template_error(path, _reason(error), line) from error

    def _place(self, error: Exception, path: Path) -> tuple[Path, int | None]:
        if isinstance(error, TemplateSyntaxError):
            return Path(error.filename or path), error.lineno
        # Jinja puts its templates into the traceback, as if they were Python.
        for frame in reversed(extract_tb(error.__traceback__)):
            if Path(frame.filename).is_relative_to(self._folder):
                return Path(frame.filename), frame.lineno
        return path, None


def read_template(path: Path) -> str:
    """The text of a file that is put into pages as it is. Raises CompileError (E0806)."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise template_error(path, _reason(error)) from error


def template_error(path: Path, reason: str, line: int | None = None) -> CompileError:
    """A file that makes pages cannot be used, and why."""
    here = path.is_relative_to(Path.cwd())
    file = os.path.relpath(path) if here else str(path)
    span = None if line is None else Span(line, 1, line, 1)
    return CompileError(
        (diagnostic("E0806", f"the template `{path.name}` cannot be used: {reason}", file=file, span=span),)
    )


def _reason(error: Exception) -> str:
    if isinstance(error, TemplateNotFound):
        return f"there is no file `{error.name}`"
    if isinstance(error, OSError):
        return error.strerror or str(error)
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    return str(getattr(error, "message", None) or error or type(error).__name__)

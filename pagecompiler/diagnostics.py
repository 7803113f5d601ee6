"""Diagnostics: where, what is wrong, what to do; and how they look in a terminal."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from pagecompiler.codes import CODES, Severity, severity


@dataclass(frozen=True, slots=True)
class Span:
    """A range of a source text; lines and columns count from 1, in characters; the end is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding. `file` is as the user named it; both `file` and `span` may be unknown."""

    code: str
    message: str
    file: str | None = None
    span: Span | None = None
    hint: str = ""
    severity: Severity = Severity.ERROR

    def to_json(self) -> dict[str, Any]:
        """The object D of the JSON output."""
        span = self.span
        return {
            "file": self.file,
            "line": span.line if span else None,
            "column": span.column if span else None,
            "end_line": span.end_line if span else None,
            "end_column": span.end_column if span else None,
            "severity": self.severity.value,
            "code": self.code,
            "message": self.message,
            "hint": self.hint,
        }

    def as_error(self) -> Diagnostic:
        """The same finding as an error (`--strict`)."""
        return replace(self, severity=Severity.ERROR)


def diagnostic(
    code: str, message: str, *, file: str | None = None, span: Span | None = None, hint: str = ""
) -> Diagnostic:
    """A finding with the severity of its code; the hint defaults to the code's fix.

    >>> diagnostic("E0101", "the file is not UTF-8").severity.value
    'error'
    """
    return Diagnostic(code, message, file, span, hint or CODES[code].fix, severity(code))


class CompileError(Exception):
    """The spec or the page is wrong; carries every finding. Exit code 1."""

    exit_code = 1

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__("; ".join(d.message for d in diagnostics))
        self.diagnostics = diagnostics

"""Diagnostics: where, what is wrong, what to do; and how they look in a terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
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
    """The spec or the page is wrong; carries every finding. Exit code 1.

    `sources` has the texts of the files that the findings point into, by name, as far as they are known; `images`
    are those that are missing or no images.
    """

    exit_code = 1

    def __init__(
        self,
        diagnostics: tuple[Diagnostic, ...],
        sources: Mapping[str, str] | None = None,
        images: Collection[Path] = (),
    ) -> None:
        super().__init__("; ".join(d.message for d in diagnostics))
        self.diagnostics = diagnostics
        self.sources = dict(sources or {})
        self.images = tuple(images)


_MAX_SHOWN = 100  # columns of a source line around the caret
_TAB = 4
_COLOURS = {Severity.ERROR: "31", Severity.WARNING: "33", Severity.NOTE: "36"}
_WIDE = ("W", "F")


def render(d: Diagnostic, source: str | None, *, color: bool) -> str:
    """The finding as compilers show it: place, message, the line of `source` with a caret range, the hint.

    Whatever the file name, the message and the source hold, no control character is printed.

    >>> print(render(Diagnostic("E0203", "unknown key", "a.yaml", Span(1, 1, 1, 5)), "titl: x", color=False))
    a.yaml:1:1: error[E0203]: unknown key
      1 | titl: x
        | ^^^^
    """
    place = "" if d.file is None else f"{printable(d.file)}:"
    if d.file is not None and d.span:
        place += f"{d.span.line}:{d.span.column}:"
    label = f"{d.severity.value}[{d.code}]:"
    message = printable(d.message)
    if color:
        label = f"\x1b[1;{_COLOURS[d.severity]}m{label}\x1b[0m"
        message = f"\x1b[1m{message}\x1b[0m"
    lines = [" ".join(part for part in (place, label, message) if part)]
    if d.span and source is not None:
        lines += _excerpt(d.span, source, _COLOURS[d.severity] if color else "")
    if d.hint:
        lines.append(f"  hint: {printable(d.hint)}")
    return "\n".join(lines)


def explain(code: str) -> str:
    """What a code means and what to do; KeyError if there is no such code.

    >>> explain("E0108").splitlines()[0]
    'error[E0108]: duplicate key'
    """
    entry = CODES[code]
    return f"{severity(code).value}[{code}]: {entry.title}\n\n{entry.meaning}\n\nfix: {entry.fix}"


def printable(text: str) -> str:
    """Text that changes nothing but its own place on the terminal: controls and bidi marks are shown by name.

    >>> printable("a\\x1b[2J")
    'a␛[2J'
    """
    return "".join(map(_shown, text))


def _shown(char: str) -> str:
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    category = unicodedata.category(char)
    # Joiners are parts of emoji and of words in some scripts, and harmless.
    if category in ("Cc", "Cs", "Cn", "Zl", "Zp") or (category == "Cf" and code not in (0x200C, 0x200D, 0xAD)):
        return f"<U+{code:04X}>"
    return char


def _width(text: str) -> int:
    """Columns on a terminal."""
    return sum(
        0
        if unicodedata.category(char) in ("Mn", "Me", "Cf")
        else 2
        if unicodedata.east_asian_width(char) in _WIDE
        else 1
        for char in text
    )


def _excerpt(span: Span, source: str, colour: str) -> list[str]:
    """The span's first line, cut around the caret if it is long, and the caret range under it."""
    lines = source.split("\n", span.line)
    if len(lines) < span.line:
        return []
    line = lines[span.line - 1]
    start = min(max(span.column - 1, 0), len(line))
    end = span.end_column - 1 if span.end_line == span.line else len(line.rstrip())
    end = min(max(end, start), len(line))
    first = max(0, start - _MAX_SHOWN // 2)
    last = first + _MAX_SHOWN
    before = "".join(_expanded(char) for char in line[first:start])
    marked = "".join(_expanded(char) for char in line[start : min(end, last)])
    after = "".join(_expanded(char) for char in line[min(end, last) : last])
    lead = "…" if first else ""
    number = str(span.line)
    carets = "^" * max(1, _width(marked))
    if colour:
        carets = f"\x1b[1;{colour}m{carets}\x1b[0m"
    tail = "…" if last < len(line) else ""
    return [
        f"  {number} | {lead}{before}{marked}{after}{tail}".rstrip(),
        f"  {' ' * len(number)} | {' ' * _width(lead + before)}{carets}",
    ]


def _expanded(char: str) -> str:
    return " " * _TAB if char == "\t" else _shown(char)

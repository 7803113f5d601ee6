"""Monitors end a request early: when its block has closed, or when nothing happens any more."""

from __future__ import annotations

import re

from pagecompiler.engine.types import Verdict

STUCK_TOKENS = 64
"""Pieces without progress after which a request is stuck."""

VOID_ELEMENTS = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"]
)

_TAG = re.compile(r"""<(/?)([a-zA-Z][a-zA-Z0-9]*)((?:[^<>"']|"[^"]*"|'[^']*')*)>""")
_PROGRESS = re.compile(r"\{\{\d+\}\}|</[a-zA-Z][a-zA-Z0-9]*\s*>")
_DECLARATION = re.compile(r"([^{};]+:[^{};]+);")


class BlockMonitor:
    """DONE when the outermost element closes; STUCK after 64 pieces that place no slot and close no element.

    >>> monitor = BlockMonitor()
    >>> monitor.feed("<p>{{1}}"), monitor.feed("</p>")
    (<Verdict.GO: 'go'>, <Verdict.DONE: 'done'>)
    """

    def __init__(self) -> None:
        self._text = ""
        self._depth = 0
        self._scanned = 0
        self._progress_scanned = 0
        self._idle = 0

    def feed(self, text: str) -> Verdict:
        self._text += text
        for tag in _TAG.finditer(self._text, self._scanned):
            self._scanned = tag.end()
            if tag[2].lower() in VOID_ELEMENTS:
                continue
            self._depth += -1 if tag[1] else 1
            if self._depth <= 0:
                return Verdict.DONE
        self._idle += 1
        for progress in _PROGRESS.finditer(self._text, self._progress_scanned):
            self._progress_scanned = progress.end()
            self._idle = 0
        return Verdict.STUCK if self._idle >= STUCK_TOKENS else Verdict.GO


class StyleMonitor:
    """STUCK after 64 pieces that finish no new declaration; a style ends at the model's end token."""

    def __init__(self) -> None:
        self._text = ""
        self._scanned = 0
        self._seen: set[str] = set()
        self._idle = 0

    def feed(self, text: str) -> Verdict:
        self._text += text
        self._idle += 1
        for declaration in _DECLARATION.finditer(self._text, self._scanned):
            self._scanned = declaration.end()
            content = declaration[1].strip()
            if content not in self._seen:
                self._seen.add(content)
                self._idle = 0
        return Verdict.STUCK if self._idle >= STUCK_TOKENS else Verdict.GO

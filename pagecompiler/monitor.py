"""Monitors end a request early: when its block has closed, or when nothing happens any more."""

from __future__ import annotations

import re
from collections.abc import Callable

from pagecompiler.engine.types import Monitor, Verdict
from pagecompiler.plan import STYLE, Block

STUCK_TOKENS = 64
"""Pieces without progress after which a request is stuck."""

VOID_ELEMENTS = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"]
)

GRAM = 4
"""Pieces in a row that, when they are new, are progress in an answer to a brief."""

_PASSED_OVER = frozenset({"think", "thinking", "head"})  # what stands in them belongs to no block
_AROUND = frozenset({"html", "body"})

_TAG = re.compile(r"""<(/?)([a-zA-Z][a-zA-Z0-9]*)((?:[^<>"']|"[^"]*"|'[^']*')*)>""")
_PROGRESS = re.compile(r"\{\{\d+\}\}|</[a-zA-Z][a-zA-Z0-9]*\s*>")
_DECLARATION = re.compile(r"([^{};]+:[^{};]+);")


class BlockMonitor:
    """DONE when the outermost element closes; STUCK after 64 pieces that place no slot and close no element.

    Thoughts before the block, and a whole document around it, are passed over: what was asked for is inside or behind.

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
        self._inside = ""  # of an element that is passed over

    def feed(self, text: str) -> Verdict:
        self._text += text
        for tag in _TAG.finditer(self._text, self._scanned):
            self._scanned = tag.end()
            if self._closes(tag[2].lower(), closer=bool(tag[1])):
                return Verdict.DONE
        self._idle += 1
        for progress in _PROGRESS.finditer(self._text, self._progress_scanned):
            self._progress_scanned = progress.end()
            self._idle = 0
        return Verdict.STUCK if self._idle >= STUCK_TOKENS else Verdict.GO

    def _closes(self, name: str, *, closer: bool) -> bool:
        """Follow a tag; whether it ends the block."""
        if name in _PASSED_OVER:
            # A closer alone ends thoughts whose opener is in the prompt: the block begins anew behind it.
            self._inside, self._depth = ("", 0) if closer else (name, self._depth)
            return False
        if self._inside or name in VOID_ELEMENTS:
            return False
        if name in _AROUND:
            return closer
        self._depth += -1 if closer else 1
        return self._depth <= 0


class BriefMonitor(BlockMonitor):
    """A BlockMonitor for an answer with words of the model's own: four pieces in a row that are new are progress, too.

    >>> monitor = BriefMonitor()
    >>> {monitor.feed(f" word{number}") for number in range(200)}
    {<Verdict.GO: 'go'>}
    """

    def __init__(self) -> None:
        super().__init__()
        self._last: tuple[str, ...] = ()
        self._grams: set[tuple[str, ...]] = set()

    def feed(self, text: str) -> Verdict:
        self._last = (*self._last, text)[-GRAM:]
        if self._last not in self._grams:
            self._grams.add(self._last)
            self._idle = 0
        return super().feed(text)


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


def monitor_for(block: Block) -> Callable[[], Monitor]:
    """What makes the monitor of a block's request; it can be pickled."""
    if block.kind == STYLE:
        return StyleMonitor
    return BlockMonitor if block.structure.brief is None else BriefMonitor

"""How long a batch will still take, by what it has written so far."""

from __future__ import annotations

from collections.abc import Hashable


class Estimate:
    """Counts expected tokens: of pages that have not been started, of blocks that must be written, of those that are.

    Pages to come are taken to need as much, of what they hold, as those so far did.

    >>> estimate = Estimate()
    >>> for page in "ab": estimate.plan(page, 100)
    >>> estimate.start("a", 50); estimate.wrote(25)
    >>> estimate.seconds_left(1.0)
    3.0
    """

    def __init__(self) -> None:
        self._to_come: dict[Hashable, int] = {}
        self._started = 0
        self._missing = 0
        self._written = 0

    def plan(self, page: Hashable, tokens: int) -> None:
        """A page will be built; all its blocks have so many tokens."""
        self._to_come[page] = tokens

    def start(self, page: Hashable, missing: int) -> None:
        """So many tokens of a page must be written; calling it again changes nothing."""
        if page in self._to_come:
            self._started += self._to_come.pop(page)
            self._missing += missing

    def wrote(self, tokens: int) -> None:
        """A block is finished that was expected to have so many tokens."""
        self._written += tokens

    def seconds_left(self, seconds: float) -> float | None:
        """The rest of a run that has taken `seconds`; None before anything is written."""
        if not self._written:
            return None
        share = self._missing / self._started if self._started else 1.0
        left = self._missing - self._written + share * sum(self._to_come.values())
        return max(0.0, left) * seconds / self._written

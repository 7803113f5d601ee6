"""What the pages of one run share: equal prompts are written once, by the first block that has them."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

from pagecompiler.cache import Fragment
from pagecompiler.generate import Task

KEPT_FRAGMENTS = 4096


class Claims:
    """Who writes which fragment, by its key; the last finished ones are kept, also where there is no cache.
    `places` says which image was put where.

    >>> claims = Claims()
    >>> claims.settle("k", Fragment("<p></p>"))
    >>> claims.fragment("k")
    Fragment(text='<p></p>', tokens=())
    """

    def __init__(self, kept: int = KEPT_FRAGMENTS) -> None:
        self._kept = kept
        self._writing: dict[str, Task] = {}
        self._fragments: OrderedDict[str, Fragment] = OrderedDict()
        self.places: dict[Path, Path] = {}

    def claim(self, key: str, task: Task) -> None:
        """The task writes the fragment of this key."""
        self._writing[key] = task

    def task(self, key: str) -> Task | None:
        """The task that is writing this fragment now."""
        return self._writing.get(key)

    def fragment(self, key: str) -> Fragment | None:
        """The fragment, if this run has written it already."""
        return self._fragments.get(key)

    def settle(self, key: str, fragment: Fragment | None) -> None:
        """The task is finished, with a fragment or without."""
        self._writing.pop(key, None)
        if fragment is not None:
            self._fragments[key] = fragment
            if len(self._fragments) > self._kept:
                self._fragments.popitem(last=False)

"""Who follows a watch while it builds, beside the terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pagecompiler.engine.base import Engine
from pagecompiler.folder import FolderSpec
from pagecompiler.page_build import PageBuild
from pagecompiler.results import PageResult


class Audience:
    """Nobody. Who wants to see more than results overrides these; they are called by the thread that builds."""

    def found(self, specs: Sequence[FolderSpec]) -> None:
        """These are the specs now; told whenever they were looked for."""

    def began(self, build: PageBuild) -> None:
        """A page is planned, and is being built now."""

    def told(self, result: PageResult, sources: Mapping[str, str]) -> None:
        """A page is finished, or has failed; `sources` has the files that its diagnostics point into."""

    def say(self, line: str) -> None:
        """What else happens, in one line."""

    def observe(self, make: Callable[[], Engine]) -> Engine:
        """The engine that `make` makes, or one around it."""
        return make()

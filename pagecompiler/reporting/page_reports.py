"""Reports of the pages of a batch, each written when its page is finished, so that few are in memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pagecompiler.files import write_atomic
from pagecompiler.folder import FolderSpec
from pagecompiler.generate import Progress
from pagecompiler.page_build import PageBuild
from pagecompiler.reporting.attempts import Attempts
from pagecompiler.reporting.build_report import build_report
from pagecompiler.results import PageResult


class PageReports:
    """Writes into `folder`, where the report of a page has the place that the page has in `output`.

    Pages that are current get none. Lanes are those of the engine, so a page shows only what it had of them.
    """

    def __init__(self, folder: Path, output: Path, specs: Sequence[FolderSpec]) -> None:
        self._places = {spec.name: folder / spec.output.relative_to(output) for spec in specs}
        self._attempts = Attempts()
        self._numbers: dict[str, int] = {}

    @property
    def places(self) -> list[Path]:
        """Where reports may be written."""
        return list(self._places.values())

    def began(self, build: PageBuild) -> None:
        """A page is planned."""
        self._numbers[build.loaded.name] = build.page

    def hear(self, progress: Progress) -> None:
        """Note what happens to a block."""
        self._attempts.hear(progress)

    def finish(self, result: PageResult) -> None:
        """Write the report of a page that was built or has failed. Raises OSError."""
        number = self._numbers.pop(result.spec, None)
        if number is None and result.ok:
            return
        attempts = [] if number is None else self._attempts.take_out(number)
        write_atomic(self._places[result.spec], build_report([(result, attempts)]).encode())

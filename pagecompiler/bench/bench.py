"""The whole bench: scenes, rounds, and what follows from them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import perf_counter

from pagecompiler.bench.arms import AUTO, PLAIN
from pagecompiler.bench.conclude import Conclusion, Measured, Settings
from pagecompiler.bench.differences import OpenExaminer
from pagecompiler.bench.edit import longest_group, one_item_more
from pagecompiler.bench.figures import (
    PREVIOUS,
    REFERENCE,
    Arm,
    BenchResult,
    MachineFigures,
    ModelFigures,
    TracedRun,
)
from pagecompiler.bench.recorder import Clock
from pagecompiler.bench.rounds import BenchError, Maker, Rounds, Scene, Taken
from pagecompiler.bench.run import Run, Workload
from pagecompiler.bench.summary import typical_run
from pagecompiler.engine.reference import ReferenceEngine
from pagecompiler.models import REFERENCE as REFERENCE_MODEL
from pagecompiler.models import resolve_model

__all__ = ["Bench", "BenchError", "Settings"]

REBUILD_LANES = 1


class Bench:
    """Measures; `make` makes engines, `examiner` opens what tells near ties from defects (it is needed only where
    texts differ), and `say` is told what runs now."""

    def __init__(
        self,
        settings: Settings,
        machine: MachineFigures,
        model: ModelFigures,
        make: Maker,
        examiner: OpenExaminer,
        *,
        clock: Clock = perf_counter,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._settings = settings
        self._machine = machine
        self._model = model
        self._examiner = examiner
        self._clock = clock
        self._rounds = Rounds(settings.model, make, clock, say)
        self._say = say
        self.measured = Measured(notes=list(settings.arms.notes))

    def run(self) -> BenchResult:
        """Measure and conclude. An interruption behind the first round ends it with what there is.

        Raises BenchError when plain decoding makes no valid page, and EngineError when it cannot run.
        """
        started = self._clock()
        with tempfile.TemporaryDirectory(prefix="pagec-bench-") as folder:
            self._prepare(Path(folder))
            try:
                self._measure()
            except KeyboardInterrupt:
                if not any(taken.rounds for _, taken in self.measured.loads):
                    raise
        conclusion = Conclusion(self._settings, self.measured, self._machine, self._model, self._examiner)
        return replace(conclusion.result(), seconds=self._clock() - started)

    def _prepare(self, folder: Path) -> None:
        """The scenes, and everything once: what is measured later has been done before."""
        settings = self._settings
        for lanes in sorted(set(settings.lanes)):
            group = longest_group(settings.loaded) if lanes == 1 else ""
            pages = 1 if group else settings.pages
            options = replace(settings.options, read_cache=False, write_cache=False, output=None)
            name = f"the group {group} alone" if group else _lanes(lanes)
            scene = Scene(name, Workload(settings.loaded, pages, group), lanes, settings.arms.page, options)
            self.measured.loads.append((scene, Taken()))
        scene, taken = self.measured.loads[-1]
        self._rounds.warm_up(scene, taken)
        for _, other in self.measured.loads[:-1]:
            other.problems.update(taken.problems)
        if settings.arms.page[0] == PLAIN:
            self._prepare_rebuild(folder)

    def _prepare_rebuild(self, folder: Path) -> None:
        """Build the page as it was before the edit; its fragments and its record are what a rebuild finds."""
        settings = self._settings
        edit = one_item_more(settings.loaded)
        if edit is None or settings.loaded.path is None:
            why = "the longest group has no list of items" if edit is None else "a spec from stdin has no last page"
            self.measured.notes.append(f"previous is left out: {why}")
            return
        before = replace(
            settings.options, cache_dir=folder / "cache", output=folder / "page" / "page.html", read_cache=False
        )
        scene = Scene("before the edit", Workload(settings.loaded), max(settings.lanes), (PLAIN,), before)
        self._rounds.warm_up(scene, Taken())
        after = replace(before, output=None, read_cache=True, write_cache=False)
        arms = (PLAIN, Arm(PREVIOUS))
        scene = Scene("after the edit", Workload(edit.loaded), REBUILD_LANES, arms, after)
        taken = Taken()
        try:
            self._rounds.warm_up(scene, taken)
        except BenchError as error:
            self.measured.notes.append(f"previous is left out: {error.diagnostics[0].message}")
            return
        self.measured.rebuild = (edit, scene, taken)

    def _measure(self) -> None:
        settings, measured = self._settings, self.measured
        for number in range(1, settings.runs + 1):
            for scene, taken in measured.loads:
                self._rounds.round(scene, taken, number, settings.runs)
            if measured.rebuild is not None:
                _, scene, taken = measured.rebuild
                self._rounds.round(scene, taken, number, settings.runs)
            if settings.model.format is not None and settings.arms.page[0] == PLAIN:
                measured.reference.append(self._by_rule())
        if settings.trace:
            measured.traced = self._trace()
        measured.complete = True

    def _by_rule(self) -> Run:
        """The page by the reference engine: what is there without a model."""
        scene, _ = self.measured.loads[-1]
        rules = Rounds(
            resolve_model(REFERENCE_MODEL, "bench"), lambda arm, lanes: lambda room: ReferenceEngine(), self._clock,
            self._say,
        )  # fmt: skip
        return rules.once(scene, Arm(REFERENCE))

    def _trace(self) -> TracedRun | None:
        """One more run with the most lanes, of the arm that was fastest there of those that guess."""
        scene, taken = self.measured.loads[-1]
        arms = [arm for arm in scene.arms if arm != AUTO and taken.runs(arm)]
        guessing = [arm for arm in arms if arm != scene.arms[0]]
        best = max(guessing or arms, key=lambda arm: typical_run(taken.runs(arm)).speed or 0.0)
        self._say(f"for the report: {best.name}, {scene.name}")
        return self._rounds.once(scene, best, trace=True).traced


def _lanes(lanes: int) -> str:
    return "one lane" if lanes == 1 else f"{lanes} lanes"

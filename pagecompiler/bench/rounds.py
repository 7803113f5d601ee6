"""The timed rounds: every arm once a round, under every load, plain at the beginning and at the end of each.

Arms change their order from round to round, so that a machine that warms up favours none. The first round is thrown
away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from pagecompiler.bench.arms import PLAIN
from pagecompiler.bench.figures import PREVIOUS, Arm
from pagecompiler.bench.recorder import Clock
from pagecompiler.bench.run import MakeEngine, Run, Workload, write_pages
from pagecompiler.diagnostics import Diagnostic
from pagecompiler.engine.base import EngineError
from pagecompiler.models import ModelChoice
from pagecompiler.options import CompileOptions

Maker = Callable[[Arm, int], MakeEngine]
"""What makes the engine of an arm with so many lanes."""


class BenchError(Exception):
    """Nothing can be measured: plain decoding makes no valid page. Exit code 1."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__("plain decoding makes no valid page")
        self.diagnostics = tuple(diagnostics)


@dataclass(frozen=True, slots=True)
class Scene:
    """One load, or the rebuild: what is written, with how many lanes, by which arms. The first arm is the base."""

    name: str
    workload: Workload
    lanes: int
    arms: tuple[Arm, ...]
    options: CompileOptions

    def __post_init__(self) -> None:
        if not self.arms:
            raise ValueError("a scene without arms")


@dataclass(slots=True)
class Taken:
    """What was measured in a scene: for each finished round the runs of its arms, two of the base.

    `problems` are arms that could not run at all, with the reason.
    """

    rounds: list[dict[Arm, list[Run]]] = field(default_factory=list)
    problems: dict[Arm, str] = field(default_factory=dict)

    def runs(self, arm: Arm) -> list[Run]:
        """All runs of an arm."""
        return [run for each in self.rounds for run in each.get(arm, ())]

    def ratios(self, arm: Arm, base: Arm) -> list[float]:
        """The speed of an arm in units of the base's, of each round in which both made valid pages."""
        ratios = []
        for each in self.rounds:
            own = [run.speed for run in each.get(arm, ())]
            bases = [run.speed for run in each.get(base, ())]
            speeds = [speed for speed in bases if speed is not None]
            if own and own[0] is not None and speeds:
                ratios.append(own[0] / (sum(speeds) / len(speeds)))
        return ratios

    def pairs(self, base: Arm) -> Iterator[tuple[float, float]]:
        """The speeds of the base at the beginning and at the end of each round."""
        for each in self.rounds:
            speeds = [run.speed for run in each.get(base, ())]
            if len(speeds) == 2 and speeds[0] is not None and speeds[1] is not None:
                yield speeds[0], speeds[1]


class Rounds:
    """Runs scenes of one model round by round; `say` is told what runs now."""

    def __init__(self, model: ModelChoice, make: Maker, clock: Clock, say: Callable[[str], None]) -> None:
        self._model = model
        self._make = make
        self._clock = clock
        self._say = say

    def warm_up(self, scene: Scene, taken: Taken) -> None:
        """Run every arm once; the times are thrown away, but an arm that cannot run is left out from now on.

        Raises BenchError when the base makes no valid page, and EngineError when it cannot run.
        """
        for arm in scene.arms:
            self._say(f"warm-up: {arm.name}, {scene.name}")
            try:
                run = self.once(scene, arm)
            except EngineError as error:
                if arm == scene.arms[0]:
                    raise
                taken.problems[arm] = error.message
                continue
            if arm == scene.arms[0] and not run.accepted:
                raise BenchError(run.diagnostics)

    def round(self, scene: Scene, taken: Taken, number: int, of: int) -> None:
        """Run every arm once more; an interrupted round leaves nothing behind."""
        base, *others = [arm for arm in scene.arms if arm not in taken.problems]
        order = others if number % 2 else others[::-1]
        twice = [base] if base == PLAIN else []
        found: dict[Arm, list[Run]] = {}
        for arm in [base, *order, *twice]:
            self._say(f"round {number} of {of}: {arm.name}, {scene.name}")
            try:
                found.setdefault(arm, []).append(self.once(scene, arm))
            except EngineError as error:
                if arm == base:
                    raise
                taken.problems[arm] = error.message
        taken.rounds.append(found)

    def once(self, scene: Scene, arm: Arm, *, trace: bool = False) -> Run:
        """Run an arm. Raises EngineError when its engine cannot be made."""
        decoding = replace(scene.options.decoding, previous=arm.method == PREVIOUS)
        options = replace(scene.options, lanes=scene.lanes, decoding=decoding)
        make = self._make(arm, scene.lanes)
        return write_pages(scene.workload, self._model, make, options, self._clock, trace=arm if trace else None)

"""From everything that was measured to the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from pagecompiler.bench.arms import PLAIN, Arms
from pagecompiler.bench.differences import Differences, OpenExaminer, Texts
from pagecompiler.bench.edit import Edit
from pagecompiler.bench.figures import (
    PREVIOUS,
    REFERENCE,
    Arm,
    ArmFigures,
    BenchResult,
    Judgement,
    Load,
    MachineFigures,
    ModelFigures,
    Rebuild,
    TracedRun,
)
from pagecompiler.bench.judge import judge, lead_of, noise_of, verdict_of
from pagecompiler.bench.predict import PassCosts, predict
from pagecompiler.bench.rounds import Scene, Taken
from pagecompiler.bench.run import Run
from pagecompiler.bench.summary import arm_figures, typical_run, with_kept
from pagecompiler.models import ModelChoice
from pagecompiler.options import CompileOptions
from pagecompiler.spec import LoadedSpec


@dataclass(frozen=True, slots=True)
class Settings:
    """What is measured. `lanes` are the loads; `trace` asks for one more run with the story of each token."""

    loaded: LoadedSpec
    model: ModelChoice
    arms: Arms
    lanes: tuple[int, ...]
    runs: int
    pages: int = 1
    options: CompileOptions = field(default_factory=CompileOptions)
    trace: bool = False
    command: str = "pagec bench"


@dataclass(slots=True)
class Measured:
    """Everything that was measured, by scene; loads are in order of their lanes."""

    loads: list[tuple[Scene, Taken]] = field(default_factory=list)
    rebuild: tuple[Edit, Scene, Taken] | None = None
    reference: list[Run] = field(default_factory=list)
    traced: TracedRun | None = None
    complete: bool = False
    notes: list[str] = field(default_factory=list)


class Conclusion:
    """Makes the result; a model is loaded once more where texts differ."""

    def __init__(
        self,
        settings: Settings,
        measured: Measured,
        machine: MachineFigures,
        model: ModelFigures,
        examiner: OpenExaminer,
    ) -> None:
        self._settings = settings
        self._measured = measured
        self._model = model
        self._machine = machine
        self._differences = Differences(examiner)

    def result(self) -> BenchResult:
        """Everything that the bench found out; without the time that it took."""
        settings, measured = self._settings, self._measured
        self._find_bandwidth()
        try:
            loads = [self._load(scene, taken) for scene, taken in measured.loads]
            rebuild = self._rebuild()
        finally:
            self._differences.close()
        loads = [with_kept(load, loads[0]) for load in loads]
        sampling = settings.options.sampling
        return BenchResult(
            spec=settings.loaded.name,
            date=datetime.now(UTC).date().isoformat(),
            command=settings.command,
            machine=self._machine,
            model=self._model,
            runs=settings.runs,
            seed=sampling.seed,
            temperature=sampling.temperature,
            loads=tuple(loads),
            reference=self._reference(),
            rebuild=rebuild,
            lead=lead_of(loads),
            complete=measured.complete,
            notes=tuple(measured.notes),
            traced=measured.traced,
        )

    def _find_bandwidth(self) -> None:
        """Nothing here can read the memory of a GPU: there, what plain decoding reaches is the measure."""
        scene, taken = self._measured.loads[0]
        runs = taken.runs(PLAIN)
        if self._machine.bandwidth is not None or not runs:
            return
        figures = self._figures(PLAIN, scene.lanes, runs)
        if figures.bytes_per_token is not None and figures.tokens_per_second is not None:
            reached = figures.bytes_per_token * figures.tokens_per_second.median
            self._machine = replace(self._machine, bandwidth=reached, bandwidth_from="plain decoding")

    def _load(self, scene: Scene, taken: Taken) -> Load:
        base = scene.arms[0]
        compared = base == PLAIN
        noise = noise_of(taken.pairs(base)) if compared else None
        arms = [self._arm(arm, scene, taken, noise, compared) for arm in scene.arms]
        if compared:
            arms = self._predicted(arms, taken)
        verdict = verdict_of(scene.lanes, arms, noise) if compared else None
        return Load(scene.lanes, scene.workload.pages, tuple(arms), scene.workload.group, noise, verdict)

    def _arm(self, arm: Arm, scene: Scene, taken: Taken, noise: float | None, compared: bool) -> ArmFigures:
        runs, base = taken.runs(arm), scene.arms[0]
        if not runs:
            return ArmFigures(arm, scene.lanes, 0, 0, Judgement.NONE, problem=taken.problems.get(arm, ""))
        if not compared:
            return self._figures(arm, scene.lanes, runs)
        ratios = taken.ratios(arm, base)
        found = Judgement.BASE if arm == base else judge(ratios, noise)
        figures = self._figures(arm, scene.lanes, runs, ratios, found)
        return replace(figures, differences=self._differences.of(Texts(taken.runs(base)), runs))

    def _predicted(self, arms: Sequence[ArmFigures], taken: Taken) -> list[ArmFigures]:
        plain, fixed = taken.runs(PLAIN), _fixed_share(taken.runs(PLAIN))
        return [
            replace(
                figures,
                prediction=predict(
                    figures.arm,
                    figures.acceptance_by_position,
                    PassCosts.of(typical_run(plain), typical_run(runs)),
                    self._model,
                    self._machine,
                    fixed_share=fixed,
                ),
            )
            if plain and (runs := taken.runs(figures.arm))
            else figures
            for figures in arms
        ]

    def _rebuild(self) -> Rebuild | None:
        if self._measured.rebuild is None:
            return None
        edit, scene, taken = self._measured.rebuild
        arm = Arm(PREVIOUS)
        anew, guessed = taken.runs(PLAIN), taken.runs(arm)
        if not anew or not guessed:
            self._measured.notes.append(f"previous is left out: {taken.problems.get(arm, 'it did not run')}")
            return None
        ratios = taken.ratios(arm, PLAIN)
        found = judge(ratios, noise_of(taken.pairs(PLAIN)))
        previous = self._figures(arm, scene.lanes, guessed, ratios, found)
        return Rebuild(
            block=edit.block,
            items=edit.items,
            anew=self._figures(PLAIN, scene.lanes, anew, (), Judgement.BASE),
            previous=replace(previous, differences=self._differences.of(Texts(anew), guessed)),
        )

    def _reference(self) -> ArmFigures | None:
        runs = self._measured.reference
        return self._figures(Arm(REFERENCE), max(self._settings.lanes), runs) if runs else None

    def _figures(
        self,
        arm: Arm,
        lanes: int,
        runs: Sequence[Run],
        ratios: Sequence[float] = (),
        judgement: Judgement = Judgement.NONE,
    ) -> ArmFigures:
        return arm_figures(arm, lanes, runs, ratios, judgement, machine=self._machine, model=self._model)


def _fixed_share(runs: Sequence[Run]) -> float:
    """The share of a plain run that no method makes faster: prompts, and whatever happens between two steps."""
    shares = sorted(1 - run.stats.verify_seconds / run.write_seconds for run in runs if run.write_seconds > 0)
    return min(1.0, max(0.0, shares[len(shares) // 2])) if shares else 0.0

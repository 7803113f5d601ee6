"""What a bench leaves behind for `auto`: its verdicts, and the costs of steps that they come from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median

from pagecompiler.bench.arms import PLAIN
from pagecompiler.bench.conclude import Measured as BenchMeasured
from pagecompiler.bench.figures import ArmFigures, BenchResult, Load, LoadVerdict, Outcome
from pagecompiler.bench.judge import verdict_of
from pagecompiler.bench.run import Run
from pagecompiler.engine.llama.depth import Measured
from pagecompiler.engine.llama.tuning import BenchVerdict, Tuning, verdict_key
from pagecompiler.engine.types import Method

DRAFTERS = (Method.MTP, Method.DRAFT)


def remember(result: BenchResult, measured: BenchMeasured, tuning: Tuning, model: Path, draft: Path | None) -> int:
    """Keep everything for the next builds; says for how many lane counts there is a verdict now.

    A verdict within the noise is none. What a draft model won counts where it is given; a build without it starts from
    the best of the rest.
    """
    kept = 0
    for load in result.loads:
        best = load.verdict
        if best is not None and draft is not None:
            _keep(tuning, verdict_key(model, draft), best, result.date)
            best = verdict_of(load.lanes, _without_draft(load), load.noise)
        if best is not None:
            kept += _keep(tuning, verdict_key(model), best, result.date)
    for key, costs in step_costs(measured):
        tuning.store(key, costs)
    return kept


def forget(tuning: Tuning, model: Path, draft: Path | None) -> int:
    """Drop the verdicts for a model; says how many there were."""
    keys = {verdict_key(model), verdict_key(model, draft)}
    return sum(tuning.forget(key) for key in keys)


def step_costs(measured: BenchMeasured) -> Iterable[tuple[str, Measured]]:
    """What steps cost, by the key under which `auto` looks for it: that of what drafts, and the number of the way.

    The first way has plain steps and those of what drafts, the second one those of matches alone.
    """
    runs: dict[Method, list[Run]] = {}
    for scene, taken in measured.loads:
        for arm in scene.arms:
            if arm.method in tuple(Method):
                runs.setdefault(Method(arm.method), []).extend(taken.runs(arm))
    plain, lookup = runs.get(Method.PLAIN, []), runs.get(Method.LOOKUP, [])
    if plain and lookup and lookup[0].tuning_key:
        yield f"{lookup[0].tuning_key}0", _together([*plain, *lookup], lookup)
    for method in DRAFTERS:
        own = runs.get(method, [])
        if own and own[0].tuning_key:
            yield f"{own[0].tuning_key}0", _together([*plain, *own], own)
            if lookup:
                yield f"{own[0].tuning_key}1", _together(lookup, lookup)


def _together(runs: Sequence[Run], guessing: Sequence[Run]) -> Measured:
    found: dict[tuple[int, int], list[float]] = {}
    for run in runs:
        for key, seconds in run.measured.steps.items() if run.measured is not None else ():
            found.setdefault(key, []).append(seconds)
    deepest = max((run.measured.acceptance for run in guessing if run.measured is not None), key=len, default=())
    return Measured({key: median(values) for key, values in found.items()}, deepest)


def _keep(tuning: Tuning, key: str, verdict: LoadVerdict, date: str) -> bool:
    if verdict.outcome is Outcome.NOISE:
        return False
    found = BenchVerdict(verdict.lanes, Method(verdict.arm.method), verdict.arm.depth or 0, verdict.ratio, date)
    return tuning.keep_verdict(key, found)


def _without_draft(load: Load) -> list[ArmFigures]:
    return [figures for figures in load.arms if figures.arm == PLAIN or figures.arm.method != Method.DRAFT]

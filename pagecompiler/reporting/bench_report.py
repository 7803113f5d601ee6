"""The report of a bench: the verdict, the figures behind it, and one run token by token."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pagecompiler.bench.figures import BenchResult, Load, TracedRun
from pagecompiler.reporting.amounts import number, seconds, share, times
from pagecompiler.reporting.attempts import Attempt, Attempts
from pagecompiler.reporting.bench_charts import (
    Chart,
    acceptance_chart,
    kept_chart,
    prediction_chart,
    speed_chart,
    time_chart,
)
from pagecompiler.reporting.bench_tables import (
    Table,
    all_figures,
    differences,
    group_figures,
    load_name,
    machine_facts,
    model_facts,
    predictions,
    problems,
)
from pagecompiler.reporting.build_report import Answer, answer_of, sources_of
from pagecompiler.reporting.document import render
from pagecompiler.reporting.lanes import LanePicture, lane_picture
from pagecompiler.reporting.tokens import TokenRoom


@dataclass(frozen=True, slots=True)
class _Traced:
    arm: str
    lanes: LanePicture | None
    group: str
    answers: tuple[Answer, ...]
    sources: tuple[str, ...]


def bench_report(result: BenchResult, *, room: TokenRoom | None = None) -> str:
    """The report of a bench as HTML. `room` bounds the tokens that are shown."""
    most = max(result.loads, key=lambda load: (load.lanes, load.pages), default=None)
    return render(
        "report_bench.html.j2",
        title=f"Bench of {result.spec}",
        result=result,
        warnings=_warnings(result),
        facts=_facts(result, most),
        speed=speed_chart(result),
        kept=kept_chart(most) if most is not None else None,
        time=time_chart(result),
        acceptance=acceptance_chart(most) if most is not None else None,
        prediction=_prediction(most),
        rebuild=_rebuild(result),
        most="" if most is None else load_name(most),
        tables=[
            table for load in reversed(result.loads) for table in (all_figures(load), group_figures(load)) if table
        ],
        differences=differences(result.loads),
        machine=machine_facts(result.machine),
        model=model_facts(result.model),
        traced=None if result.traced is None else _traced(result.traced, room or TokenRoom()),
    )


def traced_attempts(run: TracedRun) -> Attempts:
    """The attempts of a traced run; what was asked for once more had been refused."""
    found = Attempts()
    last: dict[tuple[int, str], int] = {}
    several = len({request.page for request in run.requests}) > 1
    heard = [(event, request) for request in run.requests for event in request.events]
    for event, request in sorted(heard, key=lambda each: each[0].at):
        if event.kind == "admitted":
            before = last.get((request.page, request.label))
            if before is not None and before != event.request:
                found.refuse(before)
            last[request.page, request.label] = event.request
        name = f"{request.label} (page {request.page + 1})" if several else request.label
        found.take(event, name, request.group)
    return found


def _traced(run: TracedRun, room: TokenRoom) -> _Traced:
    attempts = list(traced_attempts(run))
    longest = _longest_group(attempts)
    shown = [attempt for attempt in attempts if attempt.group == longest]
    return _Traced(
        arm=run.arm.name,
        lanes=lane_picture(attempts, zero=run.started_at),
        group=longest,
        answers=tuple(answer_of(attempt, room) for attempt in shown),
        sources=sources_of(shown),
    )


def _longest_group(attempts: Iterable[Attempt]) -> str:
    tokens: dict[str, int] = {}
    for attempt in attempts:
        tokens[attempt.group] = tokens.get(attempt.group, 0) + len(attempt.tokens)
    return max(tokens, key=lambda name: tokens[name], default="")


def _warnings(result: BenchResult) -> list[str]:
    found = [
        f"{figures.arm.name} writes something else than plain decoding approves: a defect"
        for figures in result.defective
    ]
    if not result.complete:
        found.append("The bench was interrupted: the figures are of the runs until then.")
    return [*found, *problems(result), *result.notes]


def _facts(result: BenchResult, most: Load | None) -> list[tuple[str, str]]:
    facts = [("Command", result.command), ("Date", result.date), ("Model", result.model.name)]
    facts.append(("Runs of each method", f"{result.runs}, in {result.seconds:.0f} s"))
    if result.temperature:
        facts.append(("Temperature, seed", f"{result.temperature:g}, {result.seed}"))
    for load in reversed(result.loads):
        verdict = load.verdict
        best = load.find(verdict.arm) if verdict is not None and not verdict.within_noise else None
        if best is not None and best.tokens_per_second is not None:
            speed = f"{best.arm.name}, {number(best.tokens_per_second.median)} tokens a second"
            facts.append((f"Best with {load_name(load)}", speed))
    if most is not None and most.noise is not None:
        facts.append(("Noise of this machine", f"± {100 * most.noise:.1f} %"))
    if result.reference is not None and result.reference.time_to_page is not None:
        facts.append(("The page by rule, without a model", seconds(result.reference.time_to_page.median)))
    return facts


@dataclass(frozen=True, slots=True)
class _Prediction:
    chart: Chart | None
    table: Table
    words: tuple[tuple[str, str], ...]


def _prediction(load: Load | None) -> _Prediction | None:
    table = predictions(load) if load is not None else None
    if load is None or table is None:
        return None
    words = ((f.arm.name, f.prediction.words) for f in load.arms if f.prediction is not None and f.prediction.words)
    return _Prediction(prediction_chart(load), table, tuple(words))


def _rebuild(result: BenchResult) -> str:
    """What a previous answer saves after an edit, in words."""
    rebuild = result.rebuild
    if rebuild is None:
        return ""
    anew, previous = rebuild.anew, rebuild.previous
    if previous.time_to_page is None or anew.time_to_page is None:
        return f"One item was added to {rebuild.block}, but not every way of building the page again worked."
    return (
        f"With one item more in {rebuild.block} (now {rebuild.items}) the page is there again after"
        f" {seconds(previous.time_to_page.median)} with its old fragment as the guess, and after"
        f" {seconds(anew.time_to_page.median)} without: {times(previous.ratio.median if previous.ratio else None)} the"
        f" speed of writing it anew, {share(previous.acceptance)} of the guessed tokens approved."
    )

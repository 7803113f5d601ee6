"""One run: the pages written once by one engine, through the same pipeline as a build."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from pagecompiler.bench.figures import Arm, TracedRun
from pagecompiler.bench.memory import forget_peak, peak_memory
from pagecompiler.bench.recorder import Clock, Recorded, Recorder
from pagecompiler.diagnostics import Diagnostic
from pagecompiler.engine.base import Engine, EngineError
from pagecompiler.engine.llama.depth import Measured
from pagecompiler.engine.room import Demand
from pagecompiler.engine.types import Completion, EngineStats, Request
from pagecompiler.generate import Task, demands, generate
from pagecompiler.models import ModelChoice
from pagecompiler.options import CompileOptions
from pagecompiler.page_build import PageBuild
from pagecompiler.spec import LoadedSpec

MakeEngine = Callable[[list[Demand]], Engine]


@dataclass(frozen=True, slots=True)
class Answer:
    """What was written for one block, in how many seconds of a lane; `accepted`: it links."""

    group: str
    request: Request
    completion: Completion
    seconds: float
    first_text: float | None
    accepted: bool

    @property
    def tokens(self) -> int:
        return len(self.completion.tokens)


@dataclass(frozen=True, slots=True)
class Run:
    """One run. `write_seconds` are from the first request to the last answer, `page_seconds` from the plan to the
    validated pages (of a group alone: to its last fragment). `accepted`: all that was asked for is valid.

    `diagnostics` say why not. `measured` are costs of steps and `tuning_key` what they hold for, where the engine
    tells them. `memory` is the peak in bytes, where the model runs in this process.
    """

    accepted: bool
    diagnostics: tuple[Diagnostic, ...]
    page_seconds: float
    write_seconds: float
    answers: tuple[Answer, ...]
    stats: EngineStats
    measured: Measured | None = None
    tuning_key: str = ""
    memory: int | None = None
    traced: TracedRun | None = None

    @property
    def tokens(self) -> int:
        """Accepted ones, of accepted pages only."""
        return sum(answer.tokens for answer in self.answers if answer.accepted) if self.accepted else 0

    @property
    def speed(self) -> float | None:
        """Accepted tokens a second; None for pages that are not valid and where nothing was decoded."""
        return self.tokens / self.write_seconds if self.tokens and self.write_seconds > 0 else None

    @property
    def first_text(self) -> float | None:
        """Seconds until a request's first characters, the median over requests."""
        known = [answer.first_text for answer in self.answers if answer.first_text is not None]
        return median(known) if known else None


@dataclass(frozen=True, slots=True)
class Workload:
    """What every arm writes: a spec `pages` times at once, or with a `group` only that group of it."""

    loaded: LoadedSpec
    pages: int = 1
    group: str = ""


def write_pages(
    workload: Workload,
    model: ModelChoice,
    make: MakeEngine,
    options: CompileOptions,
    clock: Clock,
    *,
    trace: Arm | None = None,
) -> Run:
    """Load the engine, then write everything; loading is not timed. Raises EngineError when it cannot be loaded.

    With `trace` the run is one for the report, of this arm.
    """
    builds = [PageBuild(workload.loaded, model, options, page=number) for number in range(workload.pages)]
    engine: Engine | None = None
    try:
        started = clock()
        owners = [(task, build) for build in builds for task in build.start()]
        if workload.group:
            owners = [(task, build) for task, build in owners if task.group == workload.group]
        planned = clock() - started
        tasks = [task for task, _ in owners]
        recorder: Recorder | None = None
        written = begun = clock()
        if tasks:
            forget_peak()
            engine = make(demands(tasks))
            recorder = Recorder(engine, clock, trace=trace is not None)
            begun = clock()
            _write(owners, recorder, options)
            written = clock()
        results = [] if workload.group else [build.finish() for build in builds]
        finished = clock()
        accepted = all(result.ok for result in results) and all(task.fragment is not None for task in tasks)
        problems = [finding for result in results for finding in result.diagnostics]
        measured = getattr(engine, "measured", None)
        traced = None
        if trace is not None and recorder is not None:
            traced = TracedRun(trace, options.lanes, begun - planned, finished, recorder.traced())
        return Run(
            accepted=accepted,
            diagnostics=tuple(problems or (finding for task in tasks for finding in task.diagnostics)),
            page_seconds=planned + finished - begun,
            write_seconds=written - begun,
            answers=_answers(owners, recorder),
            stats=EngineStats() if engine is None else engine.stats(),
            measured=measured() if measured is not None else None,
            tuning_key=getattr(engine, "tuning_key", ""),
            memory=None if model.servers else peak_memory(),
            traced=traced,
        )
    finally:
        for build in builds:
            build.close()
        if engine is not None:
            engine.close()


def _write(owners: list[tuple[Task, PageBuild]], engine: Engine, options: CompileOptions) -> None:
    builds = {id(task): build for task, build in owners}
    try:
        generate(
            [task for task, _ in owners],
            engine,
            lanes=options.lanes,
            attempts=options.attempts,
            sampling=options.sampling,
            done=lambda task: builds[id(task)].take(task),
        )
    except EngineError as error:
        for build in set(builds.values()):
            build.fail(error)


def _answers(owners: list[tuple[Task, PageBuild]], recorder: Recorder | None) -> tuple[Answer, ...]:
    if recorder is None:
        return ()
    accepted = {id(task.completions[-1]) for task, _ in owners if task.fragment is not None and task.completions}
    return tuple(
        Answer(
            group=each.request.group,
            request=each.request,
            completion=each.completion,
            seconds=each.seconds,
            first_text=_waited(each),
            accepted=id(each.completion) in accepted,
        )
        for each in recorder.requests.values()
        if each.completion is not None
    )


def _waited(recorded: Recorded) -> float | None:
    return None if recorded.first_text is None else recorded.first_text - recorded.submitted

"""A bench without a model: a clock that only the engine moves, and engines as fast as the test says."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from pagecompiler.bench.arms import PLAIN, Arms
from pagecompiler.bench.bench import Bench, Settings
from pagecompiler.bench.figures import Arm, MachineFigures, ModelFigures
from pagecompiler.engine.llama.depth import Measured
from pagecompiler.engine.reference import write
from pagecompiler.engine.types import Completion, EngineStats, FinishReason, GenerationEvent, Request
from pagecompiler.models import ModelChoice
from pagecompiler.options import CompileOptions
from pagecompiler.prompts import FORMAT
from pagecompiler.spec import LoadedSpec

MODEL = ModelChoice("scripted", Path("scripted.gguf"), "scripted", "test", FORMAT)
FIGURES = ModelFigures(
    name="scripted",
    file_bytes=1_100_000,
    target_bytes=1_000_000,
    head_bytes=300_000,
    mtp_bytes=50_000,
    mtp_head_bytes=100_000,
    mtp_vocabulary=250_000,
    layers=10,
    vocabulary=250_000,
    draft_name="small",
    draft_bytes=600_000,
    draft_layers=6,
)
MACHINE = MachineFigures("Test", "3", "0", "Test", 2, bandwidth=1e8, bandwidth_from="given")
TOKENS = 40
PREVIOUS_ARM = Arm("previous")


class Clock:
    """Stands still unless somebody moves it."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass(slots=True)
class Behaviour:
    """How an arm writes: tokens a second by the number of its run (the last one stays), and what is guessed.

    `acceptance` is by position. `tokens` changes the ids that are written, `text` the text. `act` runs before an
    answer.
    """

    speeds: Sequence[float]
    acceptance: Sequence[float] = ()
    tokens: Callable[[Request, tuple[int, ...]], tuple[int, ...]] = lambda request, tokens: tokens
    text: Callable[[Request, str], str] = lambda request, text: text
    act: Callable[[int], None] = lambda run: None
    runs: int = 0
    requests: list[Request] = field(default_factory=list)


class ClockedEngine:
    """Writes what the reference engine writes, 40 tokens a block, each in the time that its arm takes for them."""

    def __init__(self, behaviour: Behaviour, clock: Clock, lanes: int, depth: int) -> None:
        self.tuning_key = "key"
        self._behaviour = behaviour
        self._clock = clock
        self._lanes = lanes
        self._depth = depth
        self._waiting: deque[tuple[int, Request]] = deque()
        self._stats = EngineStats()
        self._run = behaviour.runs
        behaviour.runs += 1
        self._speed = behaviour.speeds[min(self._run, len(behaviour.speeds) - 1)]

    def submit(self, request: Request) -> int:
        self._behaviour.requests.append(request)
        self._waiting.append((len(self._behaviour.requests), request))
        return len(self._behaviour.requests)

    def events(self) -> Iterator[GenerationEvent]:
        while self._waiting:
            number, request = self._waiting.popleft()
            self._behaviour.act(self._run)
            yield GenerationEvent(number, "admitted")
            self._clock.now += TOKENS / self._speed
            completion = self._completion(request)
            yield GenerationEvent(number, "text", completion.text, TOKENS)
            yield GenerationEvent(number, "finished", completion=completion)

    def cancel(self, number: int) -> None:
        self._waiting.clear()

    def stats(self) -> EngineStats:
        return self._stats

    def measured(self) -> Measured:
        seconds = 0.01 * (1 + 0.1 * self._depth)
        return Measured({(self._lanes, self._depth): seconds}, tuple(self._behaviour.acceptance))

    def close(self) -> None:
        self._waiting.clear()

    def _completion(self, request: Request) -> Completion:
        behaviour = self._behaviour
        guesses = 10 if behaviour.acceptance else 0
        hits = tuple(round(guesses * share) for share in behaviour.acceptance)
        tokens = behaviour.tokens(request, tuple(range(TOKENS)))
        stats = self._stats
        stats.tokens += len(tokens)
        stats.target_passes += TOKENS - sum(hits)
        stats.verify_passes += TOKENS - sum(hits)
        stats.verify_rows += TOKENS + guesses * len(hits) - sum(hits)
        stats.verify_seconds += 0.9 * TOKENS / self._speed
        stats.target_seconds += TOKENS / self._speed
        stats.draft_passes += guesses * len(hits)
        stats.draft_seconds += 0.2 * TOKENS / self._speed if hits else 0.0
        return Completion(
            behaviour.text(request, write(request.messages[-1].content)),
            tokens,
            FinishReason.DONE,
            0.0,
            drafted=guesses * len(hits),
            accepted=sum(hits),
            accepted_by_position=hits,
            drafted_by_position=(guesses,) * len(hits),
        )


@dataclass(slots=True)
class FakeExaminer:
    """Says that all tokens of a text are so far from what the model would have written."""

    distances: float = 0.0
    below: float = 0.0
    opened: int = 0

    @contextmanager
    def __call__(self) -> Iterator[FakeExaminer]:
        self.opened += 1
        yield self

    def gap(self, requests: Sequence[Request], answers: Sequence[Sequence[int]]) -> float:
        return 0.02

    def missing(self, request: Request, answer: Sequence[int], *, ended: bool = False) -> list[float]:
        return [self.below] * len(answer)

    def distance(self, request: Request, prefix: Sequence[int], token: int, other: int) -> float:
        return self.distances


def make_bench(
    loaded: LoadedSpec,
    arms: Mapping[Arm, Behaviour],
    *,
    lanes: tuple[int, ...] = (1, 5),
    runs: int = 5,
    examiner: FakeExaminer | None = None,
    options: CompileOptions | None = None,
    **settings: object,
) -> Bench:
    """A bench of these arms; plain is among them. Those of the rebuild write like plain and `previous`."""
    clock = Clock()
    known = {PREVIOUS_ARM: Behaviour([300.0], (0.9,)), **arms}

    def make(arm: Arm, count: int) -> Callable[[object], ClockedEngine]:
        return lambda demands: ClockedEngine(known[arm], clock, count, arm.depth or 0)

    chosen = Arms((PLAIN, *(arm for arm in arms if arm not in (PLAIN, PREVIOUS_ARM))))
    asked = Settings(loaded, MODEL, chosen, lanes, runs, options=options or CompileOptions(attempts=1))
    return Bench(
        replace(asked, **settings),  # type: ignore[arg-type]
        MACHINE,
        FIGURES,
        make,
        examiner or FakeExaminer(),
        clock=clock,
    )

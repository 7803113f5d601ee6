"""The in-process engine: model, prompts and scheduler behind the Engine protocol."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from pagecompiler.engine.base import EngineError, ModelLoadError, PromptTooLongError
from pagecompiler.engine.llama.chat import ChatTemplate, PromptWriter
from pagecompiler.engine.llama.depth import Measured
from pagecompiler.engine.llama.kinds import choose_kind, is_small, kinds_of, pace_key
from pagecompiler.engine.llama.lane import Job
from pagecompiler.engine.llama.library import SUPPORTED_VERSION, Context, Model, native_support
from pagecompiler.engine.llama.methods import (
    Plan,
    deepest_guess,
    follow,
    longest_stride,
    make_guesses,
    plan_methods,
    without_rollback,
)
from pagecompiler.engine.llama.native_log import native_log
from pagecompiler.engine.llama.probe import rollback_problem
from pagecompiler.engine.llama.scheduler import KEEPERS, Scheduler
from pagecompiler.engine.llama.target import NEXTN
from pagecompiler.engine.llama.tuning import Tuning, tuning_key, verdict_key
from pagecompiler.engine.planner import ALL_LAYERS
from pagecompiler.engine.types import Decoding, EngineStats, GenerationEvent, Method, Request

DEFAULT_LANES = 5
DEFAULT_CONTEXT_TOKENS = 4096
CPU_CHUNK = 128  # a chunk cannot be interrupted; on a CPU this bounds the wait for a cancellation
GPU_CHUNK = 512
PROBE_TOKENS = 6
PLAIN = Decoding(method=Method.PLAIN)


class LlamaEngine:
    """Runs up to `lanes` requests at once in one model.

    `context_tokens` is the room of one lane, prompt and budget; lanes share it, so a request may need as much as all
    of them have. `kept_tokens` is the room of what prompts share, by default that of a lane. `decoding` says where
    guesses come from and how the model is laid onto the machine; `threads` and `gpu_layers` go before what its
    `hardware` says. `tuning` is a file that keeps what was measured; `deepest` bounds the guesses that memory is set
    aside for. Raises ModelLoadError. `notes` say in one line each what is switched off and why, `sources` what
    guesses. The thread that reads `events()` runs the model; `submit`, `cancel` and `close` may be called from any
    thread.

    >>> with LlamaEngine(Path("pagec-mini.gguf")) as engine:  # doctest: +SKIP
    ...     engine.submit(request)
    ...     for event in engine.events():
    ...         print(event.text, end="")
    """

    def __init__(
        self,
        path: Path,
        *,
        lanes: int = DEFAULT_LANES,
        context_tokens: int = DEFAULT_CONTEXT_TOKENS,
        threads: int | None = None,
        gpu_layers: int | None = None,
        decoding: Decoding = PLAIN,
        tuning: Path | None = None,
        deepest: int | None = None,
        kept_tokens: int | None = None,
    ) -> None:
        if lanes < 1:
            raise ValueError("lanes must be at least 1")
        hardware = decoding.hardware
        if gpu_layers is None:
            gpu_layers = ALL_LAYERS if hardware.gpu_layers is None else hardware.gpu_layers
        if not native_support().gpu:
            gpu_layers = 0
        self._chunk = hardware.ubatch or (GPU_CHUNK if gpu_layers else CPU_CHUNK)
        self._lanes = lanes
        self._draft_device = decoding.draft_device or ""
        self._deepest = deepest
        self._kept_tokens = kept_tokens
        self._hardware = hardware
        self._threads = threads or hardware.threads
        plan = plan_methods(path, decoding)
        self._tuning = Tuning(tuning) if tuning is not None and decoding.depth is None else None
        if self._tuning is not None and decoding.method is Method.AUTO:
            draft = decoding.draft_model if plan.main is Method.DRAFT else None
            plan = follow(plan, self._tuning.verdicts(verdict_key(path, draft)), lanes)
        build = f"{SUPPORTED_VERSION} {gpu_layers} {hardware}"
        self._free_choice = self._tuning is not None and decoding.method is Method.AUTO and not plan.opening
        kinds = kinds_of(plan) if self._free_choice else [plan]
        keys = [tuning_key(path, build=build, threads=self._threads or 0, method=drafts(kind)) for kind in kinds]
        kind = 0
        if self._tuning is not None and len(kinds) > 1:
            kind = choose_kind(self._tuning, keys, lanes, small=is_small(path, plan))
        plan, self._tuning_key = kinds[kind], keys[kind]
        self._model = Model(
            path,
            gpu_layers=gpu_layers,
            load_mtp=plan.main is Method.MTP and not decoding.draft_model,
            split_mode=hardware.split_mode,
        )
        self._draft_model: Model | None = None
        try:
            self._prompts = PromptWriter(self._model, model_template(self._model))
            self.context_tokens = min(context_tokens, self._model.trained_context)
            self._scheduler = self._schedule(plan)
        except EngineError:
            self._model.close()
            raise
        self._numbers = itertools.count(1)
        self._events: deque[GenerationEvent] = deque()
        self._running = threading.Lock()  # held during a step
        self._writing = threading.Lock()  # held while a prompt is written: submitting never waits for a step
        self._closed = False

    def _schedule(self, plan: Plan) -> Scheduler:
        """Make the contexts and what runs them."""
        known = [self._tuning.load(self._tuning_key + str(way)) if self._tuning else None for way in range(plan.ways)]
        deepest = deepest_guess(plan, known)
        if self._deepest is not None:
            deepest = min(deepest, self._deepest)
        outputs = max(self._lanes * (1 + deepest), 1 + longest_stride(plan, self._model.size))
        rows = max(self._chunk, outputs)
        room, kept = self._lanes * self.context_tokens, self._kept_tokens or self.context_tokens
        tokens = room + kept + self._lanes * deepest  # guesses may reach over the end of an answer

        def make_context() -> Context:
            return Context(
                self._model,
                tokens=tokens,
                sequences=self._lanes + KEEPERS,
                rows=rows,
                outputs=outputs,
                threads=self._threads,
                rollback=deepest if self._model.recurrent else 0,
                taps=(NEXTN,) if plan.main is Method.MTP else (),
                hardware=self._hardware,
            )

        self._context = make_context()
        problem = ""
        if plan.guesses:
            some = range(max(0, self._model.size - PROBE_TOKENS), self._model.size)
            problem = rollback_problem(self._context, tuple(some), deepest)
        if problem:
            plan, deepest = without_rollback(plan, problem), 0
            self._free_choice = False
            self._context.close()
            self._context = make_context()
        self.notes, self.sources = tuple(plan.notes), plan.sources
        try:
            self._guesses, self._draft_model = make_guesses(
                plan, self._model, known=known[: plan.ways], deepest=deepest, rollback=self._context.rollback,
                rows=outputs, tokens=tokens, sequences=self._lanes + KEEPERS, threads=self._threads, chunk=self._chunk,
            )  # fmt: skip
        except EngineError:
            self._context.close()
            raise
        return Scheduler(
            self._context,
            self._model,
            lanes=self._lanes,
            chunk=self._chunk,
            keeper_room=kept,
            room=room,
            guesses=self._guesses,
            prefer=plan.decoding.prefer,
        )

    def submit(self, request: Request) -> int:
        """Queue a request and return its number. Raises PromptTooLongError when it cannot fit."""
        if request.max_tokens < 1 or not request.messages:
            raise ValueError("a request needs messages and a budget of at least one token")
        with self._writing:
            if self._closed:
                raise EngineError("the engine is closed")
            prompt = self._prompts.write(request.messages)
            previous = request.previous
            if isinstance(previous, str):
                previous = tuple(self._model.tokenize(previous, parse_special=False))
        job = Job(next(self._numbers), request, prompt, previous)
        room, trained = self._lanes * self.context_tokens, self._model.trained_context
        if job.needed > min(room, trained):
            raise PromptTooLongError(
                f"{request.label}: a prompt of {len(prompt.tokens)} tokens"
                f" with a budget of {request.max_tokens} does not fit into {min(room, trained)} tokens",
                hint="shorten the texts, or use more lanes: they share their room"
                if room < trained
                else "shorten the texts, or take a model that was trained for longer ones",
            )
        self._scheduler.submit(job)
        return job.number

    def events(self) -> Iterator[GenerationEvent]:
        """Run until every submitted request has finished; ends at once when the engine is closed."""
        while True:
            with self._running:
                if not self._events and not self._closed and not self._scheduler.idle:
                    self._events.extend(self._scheduler.step())
                    continue
                if not self._events:
                    return
                event = self._events.popleft()
            yield event

    def cancel(self, number: int) -> None:
        """End a request at the next step; unknown numbers are ignored."""
        self._scheduler.cancel(number)

    def stats(self) -> EngineStats:
        """Totals since the engine was made."""
        self._scheduler.stats.native_log = list(native_log.lines)
        self._scheduler.stats.draft_device = self._draft_device
        return self._scheduler.stats

    def measured(self) -> Measured:
        """What steps cost and how many guesses were approved, so far; of `auto` its first way."""
        return self._guesses.ways.measured()[0]

    @property
    def tuning_key(self) -> str:
        """Under this, with the number of a way behind it, `auto` looks for what was measured of this kind of engine."""
        return self._tuning_key

    def close(self) -> None:
        """Free the model, after the step that is running; unfinished requests end without an event."""
        self._closed = True
        with self._running, self._writing:
            self._events.clear()
            if self._tuning and self._guesses.ways.deepest:
                for way, measured in enumerate(self._guesses.ways.measured()):
                    self._tuning.store(self._tuning_key + str(way), measured)
            if self._tuning and self._free_choice:
                self._tuning.keep_pace(pace_key(self._tuning_key, self._lanes), self._guesses.pace)
            self._tuning = None
            self._guesses.close()
            self._context.close()
            if self._draft_model is not None:
                self._draft_model.close()
            self._model.close()

    def __enter__(self) -> LlamaEngine:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def drafts(plan: Plan) -> str:
    """What guesses, with the file that drafts: another one may be faster."""
    if plan.decoding.draft_model is None or plan.main is Method.PLAIN:
        return plan.kind
    return f"{plan.kind} {plan.decoding.draft_model.resolve()} {plan.decoding.draft_model.stat().st_mtime_ns}"


def model_template(model: Model) -> ChatTemplate:
    """The chat template of a model. Raises ModelLoadError when there is none or it cannot be read."""
    source = model.chat_template()
    if not source:
        raise ModelLoadError(f"{model.path} has no chat template", hint="use a chat (instruct) model")
    return ChatTemplate(
        source,
        begin_text=model.token_text(model.begin_token),
        end_text=model.token_text(model.end_token),
    )

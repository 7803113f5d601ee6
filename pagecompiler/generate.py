"""Generation: sends what must be written to an engine, group by group, and takes only what links.

One request a lane is in flight. A lane goes on with its own group; a lane whose group is done takes a block of the
group with the most left to write. A refused answer is asked for again, other blocks go on meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from pagecompiler.cache import Fragment
from pagecompiler.diagnostics import Diagnostic, diagnostic
from pagecompiler.engine.base import Engine, EngineError
from pagecompiler.engine.types import (
    Completion,
    FinishReason,
    GenerationEvent,
    Message,
    Request,
    Sampling,
)
from pagecompiler.fragment import clean_fragment, clean_style
from pagecompiler.monitor import BlockMonitor, StyleMonitor
from pagecompiler.plan import STYLE, Block
from pagecompiler.prompts import repair_message

RETRY_TEMPERATURE = 0.4
MAX_REPAIR_PROBLEMS = 6
_BUDGET_FACTOR = 1.75
_BUDGET_BASE = 128

Check = Callable[[str], tuple[Diagnostic, ...]]
"""Takes a cleaned fragment; no diagnostics means that it is accepted."""


@dataclass(slots=True)
class Task:
    """One fragment to write: its first prompt, the group it counts for, and what decides on an answer.

    `previous` is a guess at the first answer.

    With `repair` a further attempt is shown the refused answer and what was wrong with it.
    """

    block: Block
    group: str
    messages: tuple[Message, ...]
    check: Check
    completions: list[Completion] = field(default_factory=list)
    fragment: Fragment | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    rejected: list[str] = field(default_factory=list)
    repair: bool = False
    previous: str = ""

    @property
    def attempts(self) -> int:
        return len(self.completions)


@dataclass(frozen=True, slots=True)
class Progress:
    """A change worth showing: the counts are those of the task's current attempt."""

    group: str
    block: str
    state: Literal["waiting", "writing", "refused", "done", "failed"]
    attempt: int
    tokens: int
    drafted: int = 0
    accepted: int = 0


Listener = Callable[[Progress], None]


def generate(
    tasks: Sequence[Task],
    engine: Engine,
    *,
    lanes: int,
    attempts: int,
    sampling: Sampling,
    listener: Listener = lambda progress: None,
) -> None:
    """Write all tasks; afterwards each has a fragment, or diagnostics that say why not.

    Raises EngineError when the engine as a whole cannot go on.
    """
    _Dispatcher(tasks, engine, lanes, attempts, sampling, listener).run()


class _Dispatcher:
    def __init__(
        self,
        tasks: Sequence[Task],
        engine: Engine,
        lanes: int,
        attempts: int,
        sampling: Sampling,
        listener: Listener,
    ) -> None:
        self._engine = engine
        self._lanes = lanes
        self._attempts = attempts
        self._sampling = sampling
        self._listener = listener
        self._waiting: dict[str, list[Task]] = {}
        for task in tasks:
            self._waiting.setdefault(task.group, []).append(task)
        self._running: dict[int, Task] = {}

    def run(self) -> None:
        # One lane for each group first, then lanes that are left over help the longest groups.
        for group in list(self._waiting):
            self._start_next(group)
        while len(self._running) < self._lanes and self._start_next(None):
            pass
        try:
            while self._running:
                for event in self._engine.events():
                    self._handle(event)
        finally:
            for number in self._running:
                self._engine.cancel(number)

    def _start_next(self, group: str | None) -> bool:
        """Start a waiting task, of this group if it has one; false when nothing waits or all lanes are taken."""
        while len(self._running) < self._lanes:
            queue = self._waiting.get(group or "") or max(self._waiting.values(), key=_remaining, default=[])
            if not queue:
                return False
            if self._submit(queue.pop(0)):
                return True
        return False

    def _submit(self, task: Task) -> bool:
        sampling = self._sampling
        if task.attempts:
            sampling = replace(
                sampling,
                temperature=max(RETRY_TEMPERATURE, sampling.temperature),
                seed=sampling.seed + task.attempts,
            )
        request = Request(
            messages=_messages(task),
            max_tokens=int(_BUDGET_BASE + _BUDGET_FACTOR * task.block.expected_tokens),
            label=task.block.name,
            group=task.group,
            sampling=sampling,
            slots=frozenset(slot.number for slot in task.block.structure.slots),
            monitor=StyleMonitor if task.block.kind == STYLE else BlockMonitor,
            previous="" if task.attempts else task.previous,
        )
        try:
            number = self._engine.submit(request)
        except EngineError as error:
            task.diagnostics = (engine_diagnostic(error, task.block.name),)
            self._tell(task, "failed")
            return False
        self._running[number] = task
        return True

    def _handle(self, event: GenerationEvent) -> None:
        task = self._running.get(event.request)
        if task is None:
            return
        if event.completion is None:
            self._tell(task, "writing", event)
            return
        del self._running[event.request]
        task.completions.append(event.completion)
        self._judge(task, event.completion)
        refused = task.fragment is None
        fatal = event.completion.reason in (FinishReason.FAILED, FinishReason.CANCELLED)
        if refused and not fatal and task.attempts < self._attempts and self._submit(task):
            self._tell(task, "refused", event)
            return
        self._tell(task, "failed" if refused else "done", event)
        self._start_next(task.group)

    def _judge(self, task: Task, completion: Completion) -> None:
        name = task.block.name
        if completion.reason in (FinishReason.FAILED, FinishReason.CANCELLED):
            error = completion.error
            if not isinstance(error, EngineError):
                error = EngineError(str(error or "the request was cancelled"))
            task.diagnostics = (engine_diagnostic(error, name),)
            return
        clean = clean_style if task.block.kind == STYLE else clean_fragment
        text = clean(completion.text)
        cut = _cut_reason(completion)
        problems = task.check(text)
        if not problems:
            task.fragment = Fragment(text, completion.tokens)
            task.diagnostics = ()
            return
        task.rejected.append(completion.text)
        if cut:
            note = diagnostic("E0417", f"block `{name}`: {cut}", file=problems[0].file, span=problems[0].span)
            problems = (note, *problems)
        task.diagnostics = problems

    def _tell(
        self,
        task: Task,
        state: Literal["writing", "refused", "done", "failed"],
        event: GenerationEvent | None = None,
    ) -> None:
        attempt = max(1, task.attempts)
        counts = (event.tokens, event.drafted, event.accepted) if event is not None else (0, 0, 0)
        self._listener(Progress(task.group, task.block.name, state, attempt, *counts))


def _messages(task: Task) -> tuple[Message, ...]:
    if not (task.repair and task.rejected):
        return task.messages
    problems = tuple(dict.fromkeys(finding.message for finding in task.diagnostics))[:MAX_REPAIR_PROBLEMS]
    answer = Message("assistant", task.rejected[-1])
    return (*task.messages, answer, Message("user", repair_message(problems)))


def _cut_reason(completion: Completion) -> str:
    if completion.reason is FinishReason.LENGTH:
        return f"the model was cut after its budget of {len(completion.tokens)} tokens"
    if completion.reason is FinishReason.STUCK:
        return f"the model made no progress and was stopped after {len(completion.tokens)} tokens"
    return ""


def engine_diagnostic(error: EngineError, block: str = "") -> Diagnostic:
    """An engine's error as a finding."""
    where = f"block `{block}`: " if block else ""
    return diagnostic("E0703", f"{where}{error.message}", hint=error.hint)


def _remaining(queue: list[Task]) -> int:
    return sum(task.block.expected_tokens for task in queue)

"""Generation: sends what must be written to an engine, group by group, and takes only what links.

A lane goes on with its own group; a lane whose group is done takes a block of the group with the most left to write,
of the earliest page that has one. A refused answer is asked for again, other blocks go on meanwhile.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from pagecompiler.cache import Fragment
from pagecompiler.diagnostics import CompileError, Diagnostic, diagnostic
from pagecompiler.engine.base import Engine, EngineError
from pagecompiler.engine.room import Demand
from pagecompiler.engine.types import (
    Completion,
    FinishReason,
    GenerationEvent,
    Message,
    Request,
    Sampling,
)
from pagecompiler.fragment import clean_closed, clean_fragment, clean_style
from pagecompiler.monitor import monitor_for
from pagecompiler.plan import STYLE, Block
from pagecompiler.prompts import repair_message

RETRY_TEMPERATURE = 0.4
MAX_PROBLEMS = 4
_BUDGET_FACTOR = 1.75
_BUDGET_BASE = 128

Check = Callable[[str], tuple[Diagnostic, ...]]
"""Takes a cleaned fragment; no diagnostics means that it is accepted."""


@dataclass(slots=True)
class Task:
    """One fragment to write: its first prompt, the group it counts for, and what decides on an answer.

    `previous` is a guess at the first answer. Pages with lower numbers are written first. With `trace` the engine
    tells the story of every token.

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
    page: int = 0
    trace: bool = False
    finished: bool = False

    @property
    def attempts(self) -> int:
        return len(self.completions)


@dataclass(frozen=True, slots=True)
class Progress:
    """A change worth showing: the counts are those of the task's current attempt, `event` is what the engine said,
    `page` the page's number in its run.
    """

    group: str
    block: str
    state: Literal["waiting", "writing", "refused", "done", "failed"]
    attempt: int
    tokens: int
    drafted: int = 0
    accepted: int = 0
    event: GenerationEvent | None = None
    page: int = 0


Listener = Callable[[Progress], None]
_Queue = tuple[int, str]


def _queue(task: Task) -> _Queue:
    """A page and a group of it: what one lane writes one after the other."""
    return task.page, task.group


def generate(
    tasks: Sequence[Task],
    engine: Engine,
    *,
    lanes: int,
    attempts: int,
    sampling: Sampling,
    listener: Listener = lambda progress: None,
    done: Callable[[Task], None] = lambda task: None,
) -> None:
    """Write all tasks; afterwards each has a fragment, or diagnostics that say why not.

    `done` is told of each task as soon as it is finished. Raises EngineError when the engine as a whole cannot
    go on.
    """
    dispatcher = Dispatcher(engine, lanes=lanes, attempts=attempts, sampling=sampling, listener=listener)
    dispatcher.add(tasks)
    for task in dispatcher.finished():
        done(task)


class Dispatcher:
    """Keeps the lanes of an engine full with tasks of one page, or of many that come one after the other.

    `ahead` is how many requests more than lanes are sent to the engine, so that none of its lanes waits while the
    caller is busy with a finished page.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        lanes: int,
        attempts: int,
        sampling: Sampling,
        listener: Listener = lambda progress: None,
        ahead: int = 0,
    ) -> None:
        self._engine = engine
        self._room = lanes + ahead
        self._attempts = attempts
        self._sampling = sampling
        self._listener = listener
        self._waiting: dict[_Queue, list[Task]] = {}
        self._running: dict[int, Task] = {}
        self._finished: deque[Task] = deque()

    @property
    def waiting(self) -> int:
        """How many tasks have not been sent to the engine yet."""
        return sum(map(len, self._waiting.values()))

    def add(self, tasks: Sequence[Task]) -> None:
        """Take more tasks; those that fit are sent to the engine at once."""
        new = list(dict.fromkeys(_queue(task) for task in tasks))
        for task in tasks:
            self._waiting.setdefault(_queue(task), []).append(task)
        # One lane for each group first, then lanes that are left over help the longest groups.
        for queue in new:
            self._start_next(queue)
        while self._start_next(None):
            pass

    def finished(self) -> Iterator[Task]:
        """Run until nothing is left, yielding each task when it is finished; more may be added meanwhile.

        Raises EngineError when the engine as a whole cannot go on. What runs is cancelled when the iterator is
        closed.
        """
        try:
            while self._running or self._finished:
                while self._finished:
                    yield self._finished.popleft()
                for event in self._engine.events():
                    self._handle(event)
                    while self._finished:
                        yield self._finished.popleft()
        finally:
            for number in self._running:
                self._engine.cancel(number)

    def _start_next(self, queue: _Queue | None) -> bool:
        """Start a waiting task, of this queue if it has one; false when nothing waits or all lanes are taken."""
        while len(self._running) < self._room and self._waiting:
            if queue not in self._waiting:
                first = min(page for page, _ in self._waiting)
                queue = max((name for name in self._waiting if name[0] == first), key=self._remaining)
            tasks = self._waiting[queue]
            task = tasks.pop(0)
            if not tasks:
                del self._waiting[queue]
            if self._submit(task):
                return True
        return False

    def _remaining(self, queue: _Queue) -> int:
        return sum(task.block.expected_tokens for task in self._waiting[queue])

    def _submit(self, task: Task) -> bool:
        sampling = self._sampling
        if task.attempts:
            sampling = replace(
                sampling,
                temperature=max(RETRY_TEMPERATURE, sampling.temperature),
                seed=sampling.seed + task.attempts,
            )
        try:
            messages = _messages(task)
        except CompileError as error:  # somebody edits the template
            task.diagnostics = error.diagnostics
            self._end(task, "failed")
            return False
        request = Request(
            messages=messages,
            max_tokens=token_budget(task.block),
            label=task.block.name,
            group=task.group,
            sampling=sampling,
            slots=frozenset(slot.number for slot in task.block.structure.slots),
            monitor=monitor_for(task.block),
            previous="" if task.attempts else task.previous,
            page=task.page,
            trace=task.trace,
        )
        try:
            number = self._engine.submit(request)
        except EngineError as error:
            task.diagnostics = (engine_diagnostic(error, task.block.name),)
            self._end(task, "failed")
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
        if refused and not fatal and task.attempts < self._attempts:
            if self._submit(task):
                self._tell(task, "refused", event)
            else:
                self._start_next(_queue(task))
            return
        self._end(task, "failed" if refused else "done", event)
        self._start_next(_queue(task))

    def _end(self, task: Task, state: Literal["done", "failed"], event: GenerationEvent | None = None) -> None:
        task.finished = True
        self._finished.append(task)
        self._tell(task, state, event)

    def _judge(self, task: Task, completion: Completion) -> None:
        name = task.block.name
        if completion.reason in (FinishReason.FAILED, FinishReason.CANCELLED):
            error = completion.error
            if not isinstance(error, EngineError):
                error = EngineError(str(error or "the request was cancelled"))
            task.diagnostics = (engine_diagnostic(error, name),)
            return
        text = _cleaned(task.block, completion)
        cut = _cut_reason(completion)
        problems = _first(task.check(text))
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
        self._listener(Progress(task.group, task.block.name, state, attempt, *counts, event=event, page=task.page))


def token_budget(block: Block) -> int:
    """The most tokens that an answer may have."""
    return int(_BUDGET_BASE + _BUDGET_FACTOR * block.expected_tokens)


def demands(tasks: Iterable[Task]) -> list[Demand]:
    """What an engine must have room for to write these tasks."""
    return [Demand(task.messages, token_budget(task.block)) for task in tasks]


def _messages(task: Task) -> tuple[Message, ...]:
    if not (task.repair and task.rejected):
        return task.messages
    problems = tuple(dict.fromkeys(finding.message for finding in task.diagnostics))
    answer = Message("assistant", task.rejected[-1])
    return (*task.messages, answer, Message("user", repair_message(problems)))


def _first(problems: tuple[Diagnostic, ...]) -> tuple[Diagnostic, ...]:
    """The first faults of an answer: one slip of a model makes many, and none of them is the user's to mend."""
    rest = len(problems) - MAX_PROBLEMS
    if rest <= 0:
        return problems
    *first, last = problems[:MAX_PROBLEMS]
    return (*first, replace(last, message=f"{last.message} (and {rest} more)"))


def _cleaned(block: Block, completion: Completion) -> str:
    if block.kind == STYLE:
        return clean_style(completion.text)
    return (clean_closed if completion.reason is FinishReason.DONE else clean_fragment)(completion.text)


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

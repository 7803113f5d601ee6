"""The loop: admit → fill → decode → pick → emit, one small step at a time.

Requests wait for a lane; a lane is filled (the shared beginning copied from a keeper, the rest in chunks of
its own decodes); then all filled lanes are decoded in one batch, one pass over the weights a step. Between
two steps anything can be submitted or cancelled. Filling comes before decoding, so that lanes run together.
"""

from __future__ import annotations

import threading
from collections import deque
from time import perf_counter

from pagecompiler.engine.base import DecodeError
from pagecompiler.engine.llama.keepers import Keeper, Keepers
from pagecompiler.engine.llama.lane import Job, Lane
from pagecompiler.engine.llama.slotmask import SlotIndex, SlotMask
from pagecompiler.engine.llama.target import Batch, Logits, LostStateError, Target, Vocabulary
from pagecompiler.engine.types import Completion, EngineStats, FinishReason, GenerationEvent

KEEPERS = 2


class Scheduler:
    """Runs jobs in `lanes` sequences of a target; keepers take the two sequences behind them.

    `chunk` is the most prompt tokens of one decode, `keeper_room` bounds the tokens in keepers. `submit` and
    `cancel` may be called from any thread, `step` from one at a time.
    """

    def __init__(self, target: Target, vocabulary: Vocabulary, *, lanes: int, chunk: int, keeper_room: int) -> None:
        self.stats = EngineStats()
        self._target = target
        self._vocabulary = vocabulary
        self._chunk = chunk
        self._free = list(range(lanes))
        self._lanes: list[Lane] = []  # in order of admission
        self._keepers = Keepers(range(lanes, lanes + KEEPERS), keeper_room)
        self._slot_index: SlotIndex | None = None
        self._lock = threading.Lock()
        self._waiting: deque[Job] = deque()
        self._cancelled: set[int] = set()

    def submit(self, job: Job) -> None:
        """Queue a job."""
        with self._lock:
            self._waiting.append(job)

    def cancel(self, number: int) -> None:
        """End a job at the next step, if it is still there."""
        with self._lock:
            self._cancelled.add(number)

    @property
    def idle(self) -> bool:
        """Whether there is nothing to do."""
        with self._lock:
            return not self._waiting and not self._lanes

    def step(self) -> list[GenerationEvent]:
        """Do the next thing: admit a job, fill a lane by one chunk, or decode a token for each lane."""
        started, native = perf_counter(), self.stats.target_seconds
        events = self._end_cancelled()
        filling = next((lane for lane in self._lanes if not lane.filled), None)
        if self._admit(events):
            pass
        elif filling is not None:
            self._fill(filling, events)
        elif self._lanes:
            self._decode(events)
        self.stats.python_seconds += perf_counter() - started - (self.stats.target_seconds - native)
        return events

    def _end_cancelled(self) -> list[GenerationEvent]:
        with self._lock:
            numbers, self._cancelled = self._cancelled, set()
            waiting = [job for job in self._waiting if job.number in numbers]
            for job in waiting:
                self._waiting.remove(job)
        events: list[GenerationEvent] = []
        for job in waiting:
            _refuse(job, FinishReason.CANCELLED, events)
        for lane in [lane for lane in self._lanes if lane.job.number in numbers]:
            self._finish(lane, FinishReason.CANCELLED, events)
        return events

    def _admit(self, events: list[GenerationEvent]) -> bool:
        """Give a free lane to the next job."""
        with self._lock:
            if not self._free or not self._waiting:
                return False
            job = self._waiting.popleft()
        try:
            lane = Lane(job, self._free[0], self._mask(job))
        except Exception as error:  # the monitor's factory is the caller's code
            _refuse(job, FinishReason.FAILED, events, error)
            return True
        self._free.remove(lane.sequence)
        self._lanes.append(lane)
        self.stats.prompt_tokens += len(job.prompt.tokens)
        events.append(GenerationEvent(job.number, "admitted"))
        return True

    def _mask(self, job: Job) -> SlotMask | None:
        if not job.request.slots:
            return None
        if self._slot_index is None:
            self._slot_index = SlotIndex(map(self._vocabulary.piece, range(self._vocabulary.size)))
        return SlotMask(self._slot_index, job.request.slots)

    def _fill(self, lane: Lane, events: list[GenerationEvent]) -> None:
        """Bring one chunk of the lane's prompt, or of its keeper, into the model's memory."""
        batch = Batch()
        keeper: Keeper | None = None
        if lane.passes == 0:
            keeper = self._keepers.find(lane.job.prefix, self._prefixes())
        try:
            if keeper is not None and not keeper.ready:
                self._fill_keeper(keeper, batch)
                return
            if keeper is not None:
                # The decode right below ends the sharing of the keeper's cell.
                self._target.copy(keeper.sequence, lane.sequence)
                lane.position = lane.reused = len(keeper.tokens)
                self.stats.prompt_reused += lane.reused
            tokens = lane.job.prompt.tokens
            chunk = tokens[lane.position : lane.position + self._chunk]
            last = lane.position + len(chunk) == len(tokens)
            batch.add(lane.sequence, chunk, lane.position, wanted=1 if last else 0)
            logits = self._evaluate(batch)
        except DecodeError as error:
            if keeper is not None:
                self._target.remove(keeper.sequence)
                self._keepers.forget(keeper)
            self._fail([lane], error, events)
            return
        lane.passes += 1
        lane.position += len(chunk)
        if last:
            self._emit(lane, logits[0], events)

    def _fill_keeper(self, keeper: Keeper, batch: Batch) -> None:
        if keeper.decoded == 0:
            self._target.remove(keeper.sequence)
        chunk = keeper.tokens[keeper.decoded : keeper.decoded + self._chunk]
        batch.add(keeper.sequence, chunk, keeper.decoded, wanted=0)
        self._evaluate(batch)
        keeper.decoded += len(chunk)

    def _prefixes(self) -> list[tuple[int, ...]]:
        """The beginnings of all jobs that have nothing in the model's memory yet."""
        with self._lock:
            jobs = [*self._waiting, *(lane.job for lane in self._lanes if lane.passes == 0)]
        return [job.prefix for job in jobs]

    def _decode(self, events: list[GenerationEvent]) -> None:
        """One token for each lane, all in one batch with as many rows a lane."""
        lanes = list(self._lanes)
        batch = Batch()
        rows = [batch.add(lane.sequence, (lane.pending,), lane.position, wanted=1) for lane in lanes]
        try:
            logits = self._evaluate(batch)
        except DecodeError as error:
            self._fail(lanes, error, events)
            return
        for lane, where in zip(lanes, rows, strict=True):
            lane.passes += 1
            lane.position += 1
            self._emit(lane, logits[where.start], events)

    def _evaluate(self, batch: Batch) -> Logits:
        started = perf_counter()
        try:
            return self._target.decode(batch)
        finally:
            self.stats.target_seconds += perf_counter() - started
            self.stats.target_passes += 1
            self.stats.rows += len(batch)

    def _emit(self, lane: Lane, row: Logits, events: list[GenerationEvent]) -> None:
        """Pick the next token of a lane and write it, or end the lane."""
        try:
            token = lane.pick(row)
            if self._vocabulary.is_end(token):
                self._finish(lane, FinishReason.END, events)
                return
            text, reason = lane.take(token, self._vocabulary.piece(token))
        except Exception as error:  # a monitor is the caller's code; the other lanes must go on
            self._finish(lane, FinishReason.FAILED, events, error)
            return
        self.stats.tokens += 1
        if text:
            number = lane.job.number
            events.append(GenerationEvent(number, "text", text=text, tokens=len(lane.emitted)))
        if reason is not None:
            self._finish(lane, reason, events)

    def _fail(self, lanes: list[Lane], error: DecodeError, events: list[GenerationEvent]) -> None:
        """The lanes of a failed decode are lost; after a lost state all lanes and the keepers are."""
        if isinstance(error, LostStateError):
            self._target.clear()
            self._keepers.forget()
            lanes = list(self._lanes)
        for lane in lanes:
            self._finish(lane, FinishReason.FAILED, events, error)

    def _finish(
        self, lane: Lane, reason: FinishReason, events: list[GenerationEvent], error: Exception | None = None
    ) -> None:
        self._target.remove(lane.sequence)
        self._lanes.remove(lane)
        self._free.append(lane.sequence)
        self._free.sort()
        ended = lane.completion(reason, error)
        number = lane.job.number
        events.append(GenerationEvent(number, "finished", tokens=len(lane.emitted), completion=ended))


def _refuse(job: Job, reason: FinishReason, events: list[GenerationEvent], error: Exception | None = None) -> None:
    """End a job that never had a lane."""
    ended = Completion("", (), reason, 0.0, prompt_tokens=len(job.prompt.tokens), error=error)
    events.append(GenerationEvent(job.number, "finished", completion=ended))

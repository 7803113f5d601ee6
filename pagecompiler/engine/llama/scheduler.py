"""The loop: admit → fill → guess → verify → emit → roll back, one small step at a time.

Requests wait for a lane; a lane is filled (the shared beginning copied from a keeper, the rest in chunks of
its own decodes); then all filled lanes are verified in one batch, one pass over the weights a step: each
lane's pending token and what was guessed to follow it. Without guesses this is plain decoding. Between two
steps anything can be submitted or cancelled. Filling comes before verifying, so that lanes run together.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from time import perf_counter

from pagecompiler.engine.base import DecodeError
from pagecompiler.engine.llama.drafting.base import Drafter, Guess
from pagecompiler.engine.llama.drafting.combined import Guesses, Step
from pagecompiler.engine.llama.keepers import Keeper, Keepers
from pagecompiler.engine.llama.lane import Ending, Job, Lane
from pagecompiler.engine.llama.lane_count import LaneCount
from pagecompiler.engine.llama.slotmask import SlotIndex, SlotMask
from pagecompiler.engine.llama.step_clock import StepClock
from pagecompiler.engine.llama.target import Batch, Logits, LostStateError, Rows, SavedState, Target, Vocabulary
from pagecompiler.engine.llama.trace import Trace
from pagecompiler.engine.types import Completion, EngineStats, FinishReason, GenerationEvent, Prefer

KEEPERS = 2


class Scheduler:
    """Runs jobs in `lanes` sequences of a target; keepers take the two sequences behind them.

    `chunk` is the most prompt tokens of one decode, `keeper_room` bounds the tokens in keepers, `room` those of all
    lanes together; no job may need more. `guesses` are the sources of guesses (none: plain decoding). `submit` and
    `cancel` may be called from any thread, `step` from one at a time.
    """

    def __init__(
        self,
        target: Target,
        vocabulary: Vocabulary,
        *,
        lanes: int,
        chunk: int,
        keeper_room: int,
        room: int | None = None,
        guesses: Guesses | None = None,
        prefer: Prefer = Prefer.LATENCY,
    ) -> None:
        self.stats = EngineStats()
        self._target = target
        self._vocabulary = vocabulary
        self._guesses = guesses or Guesses(rows=lanes, equal=False)
        self._lane_count = LaneCount(self._guesses.ways, lanes) if prefer is Prefer.THROUGHPUT else None
        self._chunk = chunk
        self._room = room
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
        """Do the next thing: admit a job, fill a lane by one chunk, or verify the guesses of lanes."""
        clock = StepClock(self.stats, self._guesses)
        events = self._end_cancelled()
        filling = next((lane for lane in self._lanes if not lane.filled), None)
        shares: Sequence[tuple[Lane, int]] = ()
        if self._admit(events):
            pass
        elif filling is not None:
            started = perf_counter()
            shares = self._fill(filling, events)
            self._guesses.read(sum(rows for _, rows in shares), perf_counter() - started)
        elif self._lanes:
            shares = self._verify(events)
        if shares:
            clock.divide(shares)
            for lane, _ in shares:
                if lane.ending is not None:
                    self._finish(lane, lane.ending, events)
        clock.stop()
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
            self._finish(lane, Ending(FinishReason.CANCELLED), events)
        return events

    def _admit(self, events: list[GenerationEvent]) -> bool:
        """Give a free lane to the next job."""
        with self._lock:
            if not self._free or not self._waiting or not self._fits(self._waiting[0]):
                return False
            if self._lane_count is not None and len(self._lanes) >= self._lane_count.choose():
                return False
            job = self._waiting.popleft()
        try:
            trace = Trace(self._vocabulary) if job.request.trace else None
            lane = Lane(job, self._free[0], self._mask(job), trace)
        except Exception as error:  # the monitor's factory is the caller's code
            _refuse(job, FinishReason.FAILED, events, error)
            return True
        self._free.remove(lane.sequence)
        self._lanes.append(lane)
        self._guesses.admitted(lane)
        self.stats.prompt_tokens += len(job.prompt.tokens)
        events.append(GenerationEvent(job.number, "admitted"))
        return True

    def _fits(self, job: Job) -> bool:
        """Whether there is room for a job beside the lanes; jobs behind it wait with it, so that it gets its turn."""
        return self._room is None or sum(lane.job.needed for lane in self._lanes) + job.needed <= self._room

    def _mask(self, job: Job) -> SlotMask | None:
        if not job.request.slots:
            return None
        if self._slot_index is None:
            self._slot_index = SlotIndex(map(self._vocabulary.piece, range(self._vocabulary.size)))
        return SlotMask(self._slot_index, job.request.slots)

    def _fill(self, lane: Lane, events: list[GenerationEvent]) -> list[tuple[Lane, int]]:
        """Bring one chunk of the lane's prompt, or of its keeper, into the model's memory.

        Returns the lane with the rows of the decode, or nothing if it failed.
        """
        batch = Batch()
        keeper: Keeper | None = None
        if lane.passes == 0:
            keeper = self._keepers.find(lane.job.prefix, self._prefixes())
        try:
            if keeper is not None and not keeper.ready:
                self._fill_keeper(keeper, batch)
                events.append(lane.event("prompt"))
                return [(lane, len(batch))]
            if keeper is not None:
                # The decode right below ends the sharing of the keeper's cell.
                self._target.copy(keeper.sequence, lane.sequence)
                self._guesses.copied(keeper.sequence, lane.sequence)
                lane.position = lane.reused = len(keeper.tokens)
                self.stats.prompt_reused += lane.reused
            tokens = lane.job.prompt.tokens
            chunk = tokens[lane.position : lane.position + self._chunk]
            last = lane.position + len(chunk) == len(tokens)
            batch.add(lane.sequence, chunk, lane.position, wanted=1 if last else 0)
            logits = self._evaluate(batch)
        except DecodeError as error:
            if keeper is not None:
                self._remove(keeper.sequence)
                self._keepers.forget(keeper)
            self._fail([lane], error, events)
            return []
        lane.passes += 1
        self._tell(batch, lane.sequence, chunk)
        lane.position += len(chunk)
        if last:
            self._approve(lane, (), logits, logits.argmax(axis=1).tolist(), events)
        else:
            events.append(lane.event("prompt"))
        return [(lane, len(batch))]

    def _fill_keeper(self, keeper: Keeper, batch: Batch) -> None:
        if keeper.decoded == 0:
            self._remove(keeper.sequence)
        chunk = keeper.tokens[keeper.decoded : keeper.decoded + self._chunk]
        batch.add(keeper.sequence, chunk, keeper.decoded, wanted=0)
        self._evaluate(batch)
        self._tell(batch, keeper.sequence, chunk)
        keeper.decoded += len(chunk)

    def _prefixes(self) -> list[tuple[int, ...]]:
        """The beginnings of all jobs that have nothing in the model's memory yet."""
        with self._lock:
            jobs = [*self._waiting, *(lane.job for lane in self._lanes if lane.passes == 0)]
        return [job.prefix for job in jobs]

    def _verify(self, events: list[GenerationEvent]) -> list[tuple[Lane, int]]:
        """One pass for the lanes of a step; each gets its approved tokens and one more.

        Returns the lanes with their rows, or nothing if the decode failed.
        """
        started, written = perf_counter(), self.stats.tokens
        step = self._guesses.next_step(self._lanes)
        batch, saved = Batch(), dict[int, SavedState]()
        rollback = self._target.rollback
        wanted: list[slice] = []
        try:
            for lane, guess, padding in zip(step.lanes, step.guesses, step.padding, strict=True):
                if rollback is not None and len(guess) + padding > rollback:
                    state = self._target.save(lane.sequence)
                    if state is not None:
                        saved[lane.sequence] = state
                tokens = [*lane.owed, lane.pending, *guess]
                wanted.append(batch.add(lane.sequence, tokens, lane.position, wanted=1 + len(guess), padding=padding))
            logits = self._evaluate(batch)
            self.stats.verify_passes += 1
            self.stats.verify_rows += len(batch)
            best: list[int] = logits.argmax(axis=1).tolist()
            hidden = {tap: self._target.hidden(tap) for tap in self._guesses.taps}
            shares: list[tuple[Lane, int]] = []
            for index, (lane, where) in enumerate(zip(step.lanes, wanted, strict=True)):
                rows = batch.spans[lane.sequence][1]
                shares.append((lane, rows))
                lane.passes += 1
                lane.verify_passes += 1
                lane.verify_rows += rows
                guess = step.guesses[index]
                accepted = self._approve(lane, guess, logits[where], best[where], events, step.sources[index])
                self._settle(step, index, accepted, hidden, saved.get(lane.sequence), batch)
        except DecodeError as error:
            self._fail(step.lanes, error, events)
            return []
        seconds = perf_counter() - started
        self.stats.verify_seconds += seconds
        self._guesses.timed(step, self.stats.tokens - written, seconds)
        if self._lane_count is not None and step.depth is not None:
            self._lane_count.observed(len(step.lanes))
        return shares

    def _evaluate(self, batch: Batch) -> Logits:
        started = perf_counter()
        try:
            return self._target.decode(batch)
        finally:
            self.stats.target_seconds += perf_counter() - started
            self.stats.target_passes += 1
            self.stats.rows += len(batch)

    def _approve(
        self, lane: Lane, guess: Guess, rows: Logits, best: Sequence[int], events: list[GenerationEvent],
        source: Drafter | None = None,
    ) -> int:  # fmt: skip
        """Write what the target picks at each row, as long as it was guessed; then one token more.

        `best` are the arg-maxima of the rows. Returns how many tokens of the guess were approved. The lane may have
        ended: then its `ending` says so.
        """
        accepted, texts = 0, []
        reason: FinishReason | None = None
        problem: Exception | None = None
        try:
            while reason is None:
                token = lane.pick(rows[accepted], best[accepted])
                if self._vocabulary.is_end(token):
                    reason = FinishReason.END
                    break
                if lane.trace is not None:
                    lane.trace.note(rows[accepted], token, guess[accepted : accepted + 1], source)
                text, reason = lane.take(token, self._vocabulary.piece(token))
                self.stats.tokens += 1
                texts.append(text)
                if accepted == len(guess) or guess[accepted] != token:
                    break
                accepted += 1
        except Exception as error:  # a monitor is the caller's code; the other lanes must go on
            reason, problem = FinishReason.FAILED, error
        lane.count(len(guess), accepted)
        self.stats.drafted += len(guess)
        self.stats.accepted += accepted
        if any(texts) or lane.trace:
            events.append(lane.event("text", text="".join(texts)))
        if reason is not None:
            lane.ending = Ending(reason, problem)
        return accepted

    def _settle(
        self, step: Step, index: int, accepted: int, hidden: Mapping[int, Rows], saved: SavedState | None, batch: Batch
    ) -> None:
        """Take back what was not approved, and tell the drafters what stays."""
        lane = step.lanes[index]
        if lane.ending is not None:
            self._guesses.verified(step, index, accepted, ended=True)
            return
        position, count = batch.spans[lane.sequence]
        first = batch.starts[lane.sequence]
        owed, kept = len(lane.owed), len(lane.owed) + 1 + accepted
        tokens = batch.tokens[first : first + kept]
        rows = slice(first + owed, first + kept)
        told = {tap: table[rows] for tap, table in hidden.items()}
        self._guesses.decoded(lane.sequence, position + owed, tokens[owed:], told)
        rollback = self._target.rollback
        if saved is None or rollback is None or count - kept <= rollback:
            if kept < count:
                self._target.remove(lane.sequence, position + kept)
            lane.position, lane.owed = position + kept, []
        else:
            self._target.restore(lane.sequence, saved)
            lane.owed = tokens
        self._guesses.verified(step, index, accepted, ended=False)

    def _tell(self, batch: Batch, sequence: int, tokens: Sequence[int]) -> None:
        """The drafters follow prompts and keepers too."""
        position, count = batch.spans[sequence]
        hidden = {tap: self._target.hidden(tap)[:count] for tap in self._guesses.taps}
        self._guesses.decoded(sequence, position, tokens, hidden)

    def _fail(self, lanes: Sequence[Lane], error: DecodeError, events: list[GenerationEvent]) -> None:
        """The lanes of a failed step are lost, after a lost state all lanes and the keepers; but not who had ended."""
        if isinstance(error, LostStateError):
            self._target.clear()
            self._guesses.cleared()
            self._keepers.forget()
            lanes = list(self._lanes)
        for lane in lanes:
            self._finish(lane, lane.ending or Ending(FinishReason.FAILED, error), events)

    def _finish(self, lane: Lane, ending: Ending, events: list[GenerationEvent]) -> None:
        self._remove(lane.sequence)
        self._lanes.remove(lane)
        self._free.append(lane.sequence)
        self._free.sort()
        positions = zip_longest(self.stats.accepted_by_position, lane.accepted_by_position, fillvalue=0)
        self.stats.accepted_by_position = tuple(map(sum, positions))
        events.append(lane.event("finished", completion=lane.completion(ending)))

    def _remove(self, sequence: int) -> None:
        self._target.remove(sequence)
        self._guesses.finished(sequence)


def _refuse(job: Job, reason: FinishReason, events: list[GenerationEvent], error: Exception | None = None) -> None:
    """End a job that never had a lane."""
    ended = Completion("", (), reason, 0.0, prompt_tokens=len(job.prompt.tokens), error=error)
    events.append(GenerationEvent(job.number, "finished", completion=ended))

"""A model that follows the target: what `mtp` and `draft` have in common.

The follower has a context of its own with the same sequences. What the target keeps is first only noted; the
rows that are missing are decoded together with the first row of a draft. With hidden rows, the row of token
x(p) at position p carries the target's hidden row h(p - 1), as the block was trained (research: DeepSeek-V3,
arXiv 2412.19437, section 2.2). A failing follower has no guesses; it never fails a request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Protocol

import numpy as np

from pagecompiler.engine.base import DecodeError
from pagecompiler.engine.llama.drafting.base import Decoded, Drafter, Guess
from pagecompiler.engine.llama.target import NEXTN, Batch, LostStateError, Rows, SavedState

if TYPE_CHECKING:
    from pagecompiler.engine.llama.lane import Lane

CHUNK_ROWS = 64  # so many rows at once are of a prompt and are decoded right away
NOTED_ROWS = 512  # a lane that is not drafted for does not collect hidden rows without end


class DraftContext(Protocol):
    """A context of the model that drafts."""

    def best(self, batch: Batch, hidden: Rows | None = None) -> list[int]: ...

    def hidden(self, tap: int) -> Rows: ...

    def save(self, sequence: int) -> SavedState | None: ...

    def restore(self, sequence: int, state: SavedState) -> None: ...

    def remove(self, sequence: int, start: int = 0) -> None: ...

    def copy(self, source: int, destination: int) -> None: ...

    def clear(self) -> None: ...

    def close(self) -> None: ...


@dataclass(slots=True)
class _Trail:
    """How far one sequence is followed: `known` tokens are in the follower's memory, `tokens` come next.

    `hidden` holds in some pieces a row for each of `tokens`, `last` the one for the token after them. `drafted` are
    tokens of a guess that are in the memory behind the known ones until the guess is judged. `shared` is set between a
    copy and the next decode.
    """

    known: int = 0
    tokens: list[int] = field(default_factory=list)
    hidden: list[Rows] = field(default_factory=list)
    last: Rows | None = None
    drafted: list[int] = field(default_factory=list)
    shared: bool = False
    lost: bool = False

    def copy(self) -> _Trail:
        return _Trail(self.known, list(self.tokens), list(self.hidden), self.last, shared=True, lost=self.lost)


class Follower(Drafter):
    """Drafts with a context that follows the target; `rows` is the most rows of one of its decodes."""

    def __init__(self, context: DraftContext, *, rows: int, width: int | None = None) -> None:
        """`width` is the size of a hidden row; None: the model drafts from tokens alone."""
        super().__init__()
        self._context = context
        self._rows = rows
        self._width = width
        self._trails: dict[int, _Trail] = {}

    def behind(self, sequence: int) -> int:
        """How many tokens of the target's memory are only noted."""
        return len(self._trails[sequence].tokens) if sequence in self._trails else 0

    def decoded(self, rows: Decoded) -> None:
        trail = self._trails.get(rows.sequence)
        if trail is None:
            trail = self._trails[rows.sequence] = _Trail()
        if trail.lost:
            return
        skip = trail.known + len(trail.tokens) - rows.position
        try:
            skip += self._keep(rows.sequence, trail, rows.tokens[skip:])
        except DecodeError as error:
            self._lose([rows.sequence], error)
            return
        trail.tokens += rows.tokens[skip:]
        if self._width is not None:
            own = rows.hidden[NEXTN].copy()
            if skip == 0:
                trail.hidden.append(np.zeros((1, self._width), np.float32) if trail.last is None else trail.last)
            if len(own) > max(skip, 1):
                trail.hidden.append(own[max(skip, 1) - 1 : -1])
            trail.last = own[-1:]
        if len(trail.tokens) >= NOTED_ROWS or (self.wanted and len(rows.tokens) >= CHUNK_ROWS):
            self._flush(rows.sequence, trail)
        elif trail.shared:
            self._flush(rows.sequence, trail, len(trail.tokens) if self.wanted else 1)

    def _keep(self, sequence: int, trail: _Trail, tokens: Sequence[int] = ()) -> int:
        """Keep what was drafted and is now in the target's memory, and take the rest back; says how many were kept."""
        kept = 0
        while kept < min(len(trail.drafted), len(tokens)) and trail.drafted[kept] == tokens[kept]:
            kept += 1
        trail.known += kept
        if kept < len(trail.drafted):
            self._context.remove(sequence, trail.known)
        trail.drafted = []
        return kept

    def copied(self, source: int, destination: int) -> None:
        trail = self._trails.get(source, _Trail(lost=True))
        self._flush(source, trail)
        if not trail.lost:
            self._context.copy(source, destination)
        self._trails[destination] = trail.copy()

    def finished(self, sequence: int) -> None:
        if self._trails.pop(sequence, None) is not None:
            self._context.remove(sequence)

    def cleared(self) -> None:
        self._trails.clear()
        self._context.clear()

    def close(self) -> None:
        self._context.close()

    def propose(self, lanes: Sequence[Lane], depth: int) -> list[Guess]:
        live = [lane for lane in lanes if not self._trail(lane).lost]
        while live and sum(len(self._trail(lane).tokens) + 1 for lane in live) > self._rows:
            longest = max(live, key=lambda lane: len(self._trail(lane).tokens))
            self._flush(longest.sequence, self._trail(longest))
            live = [lane for lane in live if not self._trail(lane).lost]
        drafts: dict[int, list[int]] = {lane.sequence: [] for lane in live}
        try:
            if live:
                self._draft(live, depth, drafts)
        except DecodeError as error:
            self._lose([lane.sequence for lane in live], error)
            drafts = {}
        return [drafts.get(lane.sequence, []) for lane in lanes]

    def _trail(self, lane: Lane) -> _Trail:
        return self._trails.setdefault(lane.sequence, _Trail(lost=lane.position > 0))

    def _draft(self, lanes: Sequence[Lane], depth: int, drafts: dict[int, list[int]]) -> None:
        """Catch up and draft the first tokens in one decode, then the others one by one, then go back."""
        batch = Batch()
        carried: list[Rows] = []
        places: list[int] = []  # where drafted tokens begin
        for lane in lanes:
            trail = self._trails[lane.sequence]
            self._keep(lane.sequence, trail)
            batch.add(lane.sequence, [*trail.tokens, lane.pending], trail.known, wanted=1)
            places.append(trail.known + len(trail.tokens) + 1)
            if self._width is not None:
                assert trail.last is not None
                carried += [*trail.hidden, trail.last]
        picked, hidden = self._decode(batch, carried)
        if hidden is not None:
            last_rows = [batch.starts[lane.sequence] + batch.spans[lane.sequence][1] - 1 for lane in lanes]
            hidden = hidden[last_rows]
        for lane, place in zip(lanes, places, strict=True):
            trail = self._trails[lane.sequence]
            trail.known, trail.shared = place, False
            trail.tokens, trail.hidden = [], []
            lane.draft_passes += depth
        saved = [self._context.save(lane.sequence) for lane in lanes] if depth > 1 else []
        for done in range(depth):
            for lane, token in zip(lanes, picked, strict=True):
                drafts[lane.sequence].append(token)
            if done + 1 == depth:
                break
            batch = Batch()
            for lane, token, place in zip(lanes, picked, places, strict=True):
                batch.add(lane.sequence, (token,), place + done, wanted=1)
            picked, hidden = self._decode(batch, [] if hidden is None else [hidden])
        for lane, place, state in zip(lanes, places, saved, strict=False):
            if state is not None:
                self._context.restore(lane.sequence, state)
            elif self._width is None:
                self._trails[lane.sequence].drafted = drafts[lane.sequence][:-1]
            else:  # these rows had hidden rows of the follower's own; those of the target are better
                self._context.remove(lane.sequence, place)

    def _decode(self, batch: Batch, carried: Sequence[Rows]) -> tuple[list[int], Rows | None]:
        """The arg-max of each wanted row, and the hidden rows of all rows: a view until the next decode."""
        hidden = None if not carried else carried[0] if len(carried) == 1 else np.concatenate(carried)
        started = perf_counter()
        try:
            picked = self._context.best(batch, hidden)
        finally:
            self.passes += 1
            self.seconds += perf_counter() - started
        return picked, None if self._width is None else self._context.hidden(NEXTN)

    def _flush(self, sequence: int, trail: _Trail, most: int | None = None) -> None:
        """Decode what is only noted, or the first `most` tokens of it."""
        self._keep(sequence, trail)
        hidden = np.concatenate(trail.hidden) if trail.hidden else None
        count = len(trail.tokens) if most is None else min(most, len(trail.tokens))
        try:
            for start in range(0, count, self._rows):
                chunk = trail.tokens[start : min(count, start + self._rows)]
                batch = Batch()
                batch.add(sequence, chunk, trail.known, wanted=0)
                self._decode(batch, [] if hidden is None else [hidden[start : start + len(chunk)]])
                trail.known += len(chunk)
                trail.shared = False
        except DecodeError as error:
            self._lose([sequence], error)
            return
        trail.tokens = trail.tokens[count:]
        trail.hidden = [hidden[count:]] if hidden is not None and trail.tokens else []

    def _lose(self, sequences: Sequence[int], error: DecodeError) -> None:
        """These sequences can no longer be followed; after a lost state none can."""
        if isinstance(error, LostStateError):
            self._context.clear()
            sequences = list(self._trails)
        for sequence in sequences:
            self._context.remove(sequence)
            self._trails[sequence] = _Trail(lost=True)

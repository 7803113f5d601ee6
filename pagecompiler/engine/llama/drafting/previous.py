"""`previous`: the old answer as the guess for the new one, verified in strides that grow.

After predicted outputs and EfficientEdit (arXiv 2506.02780): the old text is the draft, a first mismatch marks
an edit, and behind it the old text is joined again where the last tokens occur in it.

A stride is longer than the snapshots of a recurrent state, so on a hybrid model the scheduler goes through
these steps; each pass over the target counts:

1. Save the lane's partial state (it may have a rollback pending: the state as it will be is saved). The verify
   pass comes after that, never before.
2. Verify: the pending token and the stride in one pass.
3. All approved: the saved state is dropped, the next stride is longer. The rest does not apply.
4. A mismatch within the snapshots of this pass: an ordinary rollback.
5. Else restore the partial state. That resets the snapshots and touches the recurrent part only.
6. Cut the attention part to the same length. A follower keeps what was approved; it was never ahead.
7. The approved tokens are owed: they are decoded again in front of the lane's next pending token and guess, in
   that one pass, which the lane takes alone. Their logits are not wanted.
8. Go on with the usual method until the old text is joined again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pagecompiler.engine.llama.drafting.base import Drafter, Guess

if TYPE_CHECKING:
    from pagecompiler.engine.llama.lane import Lane

GROWTH = 4
JOINED_TOKENS = 3  # so many last tokens must occur in the old text
WINDOW = 64  # so far from the expected place


class _Old:
    """The old answer of one lane: `at` is its next token, None while the lane has left the old text."""

    def __init__(self, tokens: Sequence[int], stride: int) -> None:
        self.tokens = tokens
        self.at: int | None = 0
        self.stride = stride
        self._first = stride
        self._seen = 0
        self._expected = 0  # where the old text would go on if nothing had been added or left out

    def follow(self, emitted: Sequence[int]) -> None:
        """Take what the lane has written since the last call."""
        for index in range(self._seen, len(emitted)):
            self._expected += 1
            if self.at is not None and self.at < len(self.tokens) and self.tokens[self.at] == emitted[index]:
                self.at += 1
                continue
            if self.at is not None:
                self._expected = self.at + 1
                self.stride = self._first
            self.at = self._join(emitted[: index + 1])
        self._seen = len(emitted)

    def _join(self, emitted: Sequence[int]) -> int | None:
        """The place nearest to the expected one behind the last tokens."""
        last = list(emitted[-JOINED_TOKENS:])
        if len(last) < JOINED_TOKENS:
            return None
        first = max(JOINED_TOKENS, self._expected - WINDOW)
        places = [
            end
            for end in range(first, min(len(self.tokens), self._expected + WINDOW) + 1)
            if list(self.tokens[end - JOINED_TOKENS : end]) == last
        ]
        return min(places, key=lambda end: abs(end - self._expected), default=None)


class Previous(Drafter):
    """Guesses from the previous answer that a request brings; nothing for requests without one.

    `first` is the first stride, `longest` the longest one: the scheduler's room bounds it.
    """

    name = "previous"

    def __init__(self, *, first: int, longest: int) -> None:
        super().__init__()
        self._first = first
        self._longest = longest
        self._old: dict[int, _Old] = {}

    @property
    def useful(self) -> bool:
        """Whether any lane has a previous answer."""
        return bool(self._old)

    def admitted(self, lane: Lane) -> None:
        if lane.job.previous:
            self._old[lane.sequence] = _Old(lane.job.previous, self._first)

    def propose(self, lanes: Sequence[Lane], depth: int) -> list[Guess]:
        return [self._stride(lane, depth) for lane in lanes]

    def verified(self, lane: Lane, drafted: int, accepted: int) -> None:
        old = self._old.get(lane.sequence)
        if old is not None and drafted == accepted:
            old.stride = min(old.stride * GROWTH, self._longest)

    def finished(self, sequence: int) -> None:
        self._old.pop(sequence, None)

    def cleared(self) -> None:
        self._old.clear()

    def _stride(self, lane: Lane, depth: int) -> Guess:
        old = self._old.get(lane.sequence)
        if old is None:
            return ()
        old.follow(lane.emitted)
        return () if old.at is None else old.tokens[old.at : old.at + min(old.stride, depth)]

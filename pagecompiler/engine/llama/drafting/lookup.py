"""`lookup`: what followed the last tokens when they stood somewhere before.

Markup repeats: the prompt, the page so far and the other lanes are searched for the longest match of the last
tokens, and what followed it is the guess. After prompt lookup decoding (Saxena 2023,
github.com/apoorvumang/prompt-lookup-decoding).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pagecompiler.engine.llama.drafting.base import Drafter, Guess

if TYPE_CHECKING:
    from pagecompiler.engine.llama.lane import Lane

SHORTEST_MATCH = 3
LONGEST_MATCH = 24
KEPT_STREAMS = 64
KEPT_PLACES = 8

_Key = tuple[int, ...]


class _Stream:
    """Tokens in the order of one lane: its prompt and what it has written; the first `indexed` can be found."""

    def __init__(self, tokens: Sequence[int]) -> None:
        self.tokens = list(tokens)
        self.written = 0
        self.indexed = 0


class Lookup(Drafter):
    """Guesses from text in view. No guess where nothing matches."""

    name = "lookup"

    def __init__(self) -> None:
        super().__init__()
        self._lanes: dict[int, _Stream] = {}
        self._order: deque[_Stream] = deque()
        self._places: dict[_Key, deque[tuple[_Stream, int]]] = {}

    def admitted(self, lane: Lane) -> None:
        stream = _Stream(lane.job.prompt.tokens)
        self._lanes[lane.sequence] = stream
        self._order.append(stream)
        if len(self._order) > KEPT_STREAMS:
            self._forget(self._order.popleft())

    def finished(self, sequence: int) -> None:
        self._lanes.pop(sequence, None)

    def cleared(self) -> None:
        self._lanes.clear()

    def propose(self, lanes: Sequence[Lane], depth: int) -> list[Guess]:
        asking = {lane.sequence: lane for lane in lanes}
        for sequence, stream in self._lanes.items():
            lane = asking.get(sequence)
            if lane is not None:
                stream.tokens += lane.emitted[stream.written :]
                stream.written = len(lane.emitted)
            self._index(stream)
        return [self._guess(self._lanes[lane.sequence], depth) for lane in lanes]

    def _guess(self, stream: _Stream, depth: int) -> Guess:
        tokens = stream.tokens
        best, found = 0, (stream, 0)
        for place in reversed(self._places.get(tuple(tokens[-SHORTEST_MATCH:]), ())):
            other, end = place
            if end >= len(other.tokens):
                continue
            length = _match(tokens, other.tokens, end)
            if length > best:  # of equals the last one seen
                best, found = length, place
                if best == LONGEST_MATCH:
                    break
        other, end = found
        return other.tokens[end : end + depth] if best else []

    def _index(self, stream: _Stream) -> None:
        tokens = stream.tokens
        for end in range(max(stream.indexed, SHORTEST_MATCH - 1) + 1, len(tokens) + 1):
            key = tuple(tokens[end - SHORTEST_MATCH : end])
            places = self._places.get(key)
            if places is None:
                places = self._places[key] = deque(maxlen=KEPT_PLACES)
            places.append((stream, end))
        stream.indexed = len(tokens)

    def _forget(self, stream: _Stream) -> None:
        for key in {tuple(stream.tokens[i : i + SHORTEST_MATCH]) for i in range(len(stream.tokens))}:
            places = self._places.get(key)
            if places is None:
                continue
            kept = [place for place in places if place[0] is not stream]
            if kept:
                self._places[key] = deque(kept, maxlen=KEPT_PLACES)
            else:
                del self._places[key]


def _match(tokens: Sequence[int], other: Sequence[int], end: int) -> int:
    """How many tokens before `end` in `other` are also the last ones of `tokens`; the shortest match is known to be."""
    bound = min(LONGEST_MATCH, len(tokens), end)
    length = SHORTEST_MATCH
    while length < bound and tokens[-1 - length] == other[end - 1 - length]:
        length += 1
    return length

"""All sources of guesses together: which lanes step next, with which guesses.

`previous` goes before `lookup`, `lookup` before a model that drafts. A lane with a guess from its previous
answer, or with tokens to decode again, steps alone or with lanes of the same stride; all other lanes share one
step of equal lengths, because unequal ones split a batch of a hybrid model into several passes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pagecompiler.engine.llama.depth import Acceptance, Depth
from pagecompiler.engine.llama.drafting.base import Decoded, Drafter, Guess
from pagecompiler.engine.llama.drafting.lookup import Lookup
from pagecompiler.engine.llama.drafting.previous import Previous
from pagecompiler.engine.llama.lane import Lane
from pagecompiler.engine.llama.pace import READING, Pace
from pagecompiler.engine.llama.target import Rows
from pagecompiler.engine.llama.ways import Ways

LOOKUP_ALONE = 1
JUDGED_STEPS = 8  # matches that are not used are looked for in one of so many steps, to know whether they should be


@dataclass(slots=True)
class Step:
    """Lanes that are verified in one pass; `guesses`, their `sources` and `padding` are in the same order.

    `depth` is the one that was chosen for a common step, None for a step that says nothing about depths; `way` says
    who guessed: 0 all drafters, 1 matches in the text alone. `matches` are these where a model drafts as well, used
    or not, and `written` counts what the lanes had written.
    """

    lanes: list[Lane]
    guesses: list[Guess]
    sources: list[Drafter | None]
    padding: list[int]
    depth: int | None = None
    way: int = 0
    matches: list[Guess] = field(default_factory=list)
    written: list[int] = field(default_factory=list)


class Guesses:
    """The drafters of an engine behind one face.

    `rows` is the most rows of a step. `equal` asks for equal lengths in a step. The main drafter is a model. With
    `lookup_depth` steps in which only matches guess are tried as well; `opening` is that of `Ways`.
    """

    def __init__(
        self,
        *,
        previous: Previous | None = None,
        lookup: Lookup | None = None,
        main: Drafter | None = None,
        depth: Depth | None = None,
        lookup_depth: Depth | None = None,
        opening: Mapping[int, tuple[int, int]] | None = None,
        rows: int,
        equal: bool,
    ) -> None:
        self._previous = previous
        self._lookup = lookup
        self._main = main
        depths = [depth or Depth(deepest=0), *([lookup_depth] if lookup_depth is not None else [])]
        self.ways = Ways(depths, opening)
        self._rows = rows
        self._equal = equal
        self._drafters: list[Drafter] = [each for each in (previous, lookup, main) if each is not None]
        self.taps = sorted({tap for drafter in self._drafters for tap in drafter.taps})
        self._shares: dict[Drafter | None, Acceptance] = {}
        if lookup is not None and main is not None:
            self._shares = {lookup: Acceptance([1.0]), main: Acceptance([1.0])}
        self._turn = 0
        self.pace = Pace()
        expected = self.ways.expected()
        if expected is not None:
            self._note_choice(*expected)

    @property
    def passes(self) -> int:
        """Decodes of models that draft."""
        return sum(drafter.passes for drafter in self._drafters)

    @property
    def seconds(self) -> float:
        """The time of these decodes."""
        return sum(drafter.seconds for drafter in self._drafters)

    def next_step(self, lanes: Sequence[Lane]) -> Step:
        """Who steps next: the lanes that have waited longest, of these the ones with most left to write."""
        strides = self._strides(lanes)
        first = min(lanes, key=lambda lane: (lane.turn, -lane.remaining))
        self._turn += 1
        if first.owed:
            step = self._owing_step(first, strides.get(first.sequence, ()))
        elif first.sequence in strides:
            step = self._stride_step(first, lanes, strides)
        else:
            step = self._common_step([lane for lane in lanes if not lane.owed and lane.sequence not in strides])
        for lane in step.lanes:
            lane.turn = self._turn
        return step

    def _strides(self, lanes: Sequence[Lane]) -> Mapping[int, Guess]:
        """The guesses from previous answers, by sequence."""
        if self._previous is None or not self._previous.useful:
            return {}
        guesses: dict[int, Guess] = {}
        for lane in lanes:
            room = min(lane.remaining, self._rows - 1 - len(lane.owed))
            (guess,) = self._previous.propose([lane], room)
            if guess:
                guesses[lane.sequence] = guess
        return guesses

    def _owing_step(self, lane: Lane, stride: Guess) -> Step:
        if stride:
            return Step([lane], [stride], [self._previous], [0])
        step = self._common_step([lane])
        step.depth = None
        return step

    def _stride_step(self, first: Lane, lanes: Sequence[Lane], strides: Mapping[int, Guess]) -> Step:
        length = len(strides[first.sequence])
        equal = [lane for lane in lanes if not lane.owed and len(strides.get(lane.sequence, ())) == length]
        equal.remove(first)
        chosen = [first, *equal[: self._rows // (1 + length) - 1]]
        guesses = [strides[lane.sequence] for lane in chosen]
        return Step(chosen, guesses, [self._previous] * len(chosen), [0] * len(chosen))

    def _common_step(self, lanes: list[Lane]) -> Step:
        way, depth = self.ways.choose(len(lanes))
        self._note_choice(way, depth)
        alone = way == LOOKUP_ALONE
        guesses: list[Guess] = [()] * len(lanes)
        sources: list[Drafter | None] = [None] * len(lanes)
        matches: list[Guess] = []
        used = depth and self._lookup is not None and (alone or self._trusts_lookup())
        if used or (self._shares and self._turn % JUDGED_STEPS == 0):
            assert self._lookup is not None
            matches = self._lookup.propose(lanes, self.ways.deepest)
        if used:
            for index, guess in enumerate(matches):
                if guess:
                    guesses[index], sources[index] = guess[:depth], self._lookup
        if depth and self._main is not None and not alone:
            others = [index for index, guess in enumerate(guesses) if not guess]
            proposed = self._main.propose([lanes[index] for index in others], depth) if others else []
            for index, guess in zip(others, proposed, strict=True):
                if guess:
                    guesses[index], sources[index] = guess, self._main
        length = max(map(len, guesses))
        padding = [length - len(guess) if self._equal else 0 for guess in guesses]
        step = Step(lanes, guesses, sources, padding, depth, way)
        if matches and self._shares and not alone:
            step.matches, step.written = matches, [len(lane.emitted) for lane in lanes]
        return step

    def _note_choice(self, way: int, depth: int) -> None:
        if self._main is not None:
            self._main.wanted = depth > 0 and way != LOOKUP_ALONE

    def _trusts_lookup(self) -> bool:
        """Whether a match was as good a guess as the model's own, of late."""
        if not self._shares:
            return True
        return self._shares[self._lookup].share(0) >= self._shares[self._main].share(0)

    def verified(self, step: Step, index: int, accepted: int, *, ended: bool) -> None:
        """The first `accepted` tokens of the guess of the step's lane at `index` were approved.

        The rest was rejected, or with `ended` never judged, because the lane ended before.
        """
        lane, source, drafted = step.lanes[index], step.sources[index], len(step.guesses[index])
        if source is not None:
            if source is self._main and self._shares:
                self._shares[source].add(accepted if ended else drafted, accepted)
            source.verified(lane, drafted, accepted)
        if step.matches:
            self._judge_match(step.matches[index], lane.emitted[step.written[index] :])
        if step.depth:
            self.ways.depths[step.way].acceptance.add(accepted if ended else step.depth, accepted)

    def _judge_match(self, match: Guess, written: Sequence[int]) -> None:
        """Compare what a match would have guessed with what was written: so both ways are known all the time."""
        right = 0
        while right < min(len(match), len(written)) and match[right] == written[right]:
            right += 1
        # Beyond what was written nothing is known.
        tried = right if right == len(written) else min(right + 1, self.ways.deepest)
        if match:
            assert self._lookup is not None
            self._shares[self._lookup].add(min(tried, len(match)), right)
        if len(self.ways.depths) > LOOKUP_ALONE:
            self.ways.depths[LOOKUP_ALONE].acceptance.add(tried, right)

    def timed(self, step: Step, tokens: int, seconds: float) -> None:
        """The step wrote so many tokens in `seconds`, drafting included."""
        if step.depth is not None:
            self.ways.observed(len(step.lanes), step.way, step.depth, seconds)
            self.pace.add(len(step.lanes), tokens, seconds)

    def read(self, tokens: int, seconds: float) -> None:
        """So many tokens of prompts were decoded, and followed, in `seconds`."""
        self.pace.add(READING, tokens, seconds)

    def admitted(self, lane: Lane) -> None:
        """A request got the lane."""
        for drafter in self._drafters:
            drafter.admitted(lane)

    def copied(self, source: int, destination: int) -> None:
        """The target copied a sequence."""
        for drafter in self._drafters:
            drafter.copied(source, destination)

    def decoded(self, sequence: int, position: int, tokens: Sequence[int], hidden: Mapping[int, Rows]) -> None:
        """The target has decoded these rows and keeps them."""
        if self._drafters:
            rows = Decoded(sequence, position, tokens, hidden)
            for drafter in self._drafters:
                drafter.decoded(rows)

    def finished(self, sequence: int) -> None:
        """A sequence is empty again."""
        for drafter in self._drafters:
            drafter.finished(sequence)

    def cleared(self) -> None:
        """All sequences are empty again."""
        for drafter in self._drafters:
            drafter.cleared()

    def close(self) -> None:
        """Free the contexts of models that draft."""
        for drafter in self._drafters:
            drafter.close()

"""Sources of guesses that know the answers, and err where they are told to."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pagecompiler.engine.llama.drafting.base import Decoded, Drafter, Guess
from pagecompiler.engine.llama.lane import Job, Lane

Errs = Callable[[int, int], bool]


class Oracle(Drafter):
    """Proposes the known answer of a job, with another token wherever `errs(job number, place)` says so.

    It also checks what it is told: a sequence's rows come without gaps, and no row twice.
    """

    def __init__(self, answers: dict[int, Sequence[int]], errs: Errs, wrong: int) -> None:
        super().__init__()
        self._answers = answers
        self._errs = errs
        self._wrong = wrong
        self._held: dict[int, list[int]] = {}

    def propose(self, lanes: Sequence[Lane], depth: int) -> list[Guess]:
        return [self._guess(lane, depth) for lane in lanes]

    def _guess(self, lane: Lane, depth: int) -> Guess:
        held = self._held[lane.sequence]
        assert held == [*lane.job.prompt.tokens, *lane.emitted[:-1]]
        at, number = len(lane.emitted), lane.job.number
        answer = self._answers[number][at : at + depth]
        return [self._wrong if self._errs(number, at + i) else token for i, token in enumerate(answer)]

    def decoded(self, rows: Decoded) -> None:
        held = self._held.setdefault(rows.sequence, [])
        assert rows.position == len(held)
        held += rows.tokens

    def copied(self, source: int, destination: int) -> None:
        assert not self._held.get(destination)
        self._held[destination] = list(self._held[source])

    def finished(self, sequence: int) -> None:
        self._held.pop(sequence, None)

    def cleared(self) -> None:
        self._held.clear()


def with_previous(job: Job, previous: Sequence[int]) -> Job:
    return Job(job.number, job.request, job.prompt, tuple(previous))

"""Texts of an arm that are not plain's, and what each such difference is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from pagecompiler.bench.figures import Difference
from pagecompiler.bench.run import Answer, Run
from pagecompiler.engine.types import Request

END = -1


@dataclass(frozen=True, slots=True)
class Parting:
    """Two answers to one request, and the first place (from 0) at which they are not the same."""

    block: str
    request: Request
    plain: tuple[int, ...]
    other: tuple[int, ...]
    token: int


class Examiner(Protocol):
    """Evaluates a model anew; see `engine.llama.referee.Referee`."""

    def gap(self, requests: Sequence[Request], answers: Sequence[Sequence[int]]) -> float: ...

    def missing(self, request: Request, answer: Sequence[int]) -> Sequence[float]: ...

    def distance(self, request: Request, prefix: Sequence[int], token: int, other: int) -> float: ...


class Texts:
    """What plain decoding wrote for each block: the text that all arms must write."""

    def __init__(self, runs: Iterable[Run]) -> None:
        self._answers: dict[str, Answer] = {}
        for run in runs:
            for answer in run.answers:
                self._answers.setdefault(answer.request.label, answer)

    def partings(self, runs: Iterable[Run]) -> list[Parting]:
        """Every way in which runs of an arm differ from it, each one once."""
        found: dict[tuple[str, tuple[int, ...]], Parting] = {}
        for run in runs:
            for answer in run.answers:
                own = answer.completion.tokens
                known = self._answers.get(answer.request.label)
                if known is None or known.request.sampling != answer.request.sampling or not own:
                    continue
                plain = known.completion.tokens
                if own != plain:
                    label = answer.request.label
                    found[label, own] = Parting(label, known.request, plain, own, _first_difference(plain, own))
        return list(found.values())

    def sample(self) -> tuple[list[Request], list[tuple[int, ...]]]:
        """Requests with their answers, to measure what rounding does."""
        answers = [answer for answer in self._answers.values() if answer.completion.tokens]
        return [answer.request for answer in answers], [answer.completion.tokens for answer in answers]


def classify(parting: Parting, examiner: Examiner, allowed: float) -> Difference:
    """A near tie, when the tokens at which the answers part, and all that the arm chose behind them, are within what
    is `allowed`; else a defect, told at its first wrong token. Nothing can be said of a text that was drawn."""
    if parting.request.sampling.temperature > 0:
        return Difference(parting.block, "sampled", parting.token, 0.0, 0.0)
    place = parting.token
    tokens = [answer[place] if place < len(answer) else END for answer in (parting.plain, parting.other)]
    gap = examiner.distance(parting.request, parting.plain[:place], tokens[0], tokens[1])
    if gap > allowed:
        return Difference(parting.block, "defect", place, gap, allowed)
    for index, missing in enumerate(examiner.missing(parting.request, parting.other)):
        if missing > allowed:
            return Difference(parting.block, "defect", index, float(missing), allowed)
    return Difference(parting.block, "near tie", place, gap, allowed)


def _first_difference(one: Sequence[int], other: Sequence[int]) -> int:
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
